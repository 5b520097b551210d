package plugintest

import (
	"context"
	"fmt"
	"os"
	"slices"
)

// temporary is a keeper for what is no case of the suite.
type temporary struct {
	ctx      context.Context //nolint:containedctx // of one check
	dir      string
	cleanups []func()
	errors   []string
}

func (t *temporary) Context() context.Context { return t.ctx }
func (t *temporary) Cleanup(f func())         { t.cleanups = append(t.cleanups, f) }

func (t *temporary) Errorf(format string, args ...any) {
	t.errors = append(t.errors, fmt.Sprintf(format, args...))
}

func (t *temporary) TempDir() string {
	dir, err := os.MkdirTemp(t.dir, "check-")
	if err != nil {
		t.Errorf("making a temporary directory: %v", err)
		return t.dir
	}
	return dir // taken away with t.dir
}

// cleanUp runs what was left, last first.
func (t *temporary) cleanUp() {
	for _, f := range slices.Backward(t.cleanups) {
		f()
	}
	t.cleanups = nil
}
