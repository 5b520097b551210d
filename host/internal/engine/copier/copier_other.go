//go:build !linux

package copier

import (
	"context"
	"os"

	"github.com/alineo-labs/alineo-host/host/internal/engine/layer"
	"github.com/alineo-labs/alineo-host/host/internal/engine/reexec"
)

// Apply is layer.Apply: there are no user namespaces here.
func Apply(ctx context.Context, _ *reexec.Image, dst, src string) error {
	return layer.Apply(ctx, dst, src)
}

// Main has nothing to do here.
func Main() { os.Exit(1) }
