package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/engine"
)

// EngineOptions are the options of the embedded engine that cfg describes. A nil log is silence.
func EngineOptions(cfg *config.Config, log hclog.Logger) engine.Options {
	opts := engine.Options{
		DataDir: cfg.Engine.Data, AllowReduced: cfg.Engine.AllowReduced,
		Isolation: cfg.Engine.Isolation, Images: cfg.Engine.Images, InitPath: cfg.Engine.Init,
		APIKey: cfg.Engine.APIKey.Reveal(), HostPaths: cfg.Engine.HostPaths,
		Nameserver: cfg.Engine.Nameserver, Roots: cfg.Engine.CA,
		MaxDisk: orNoLimit(int64(cfg.Engine.MaxDisk)), MaxFiles: orNoLimit(int64(cfg.Engine.MaxFiles)),
	}
	if log != nil {
		opts.Logger = log.Named("engine")
	}
	return opts
}

// orNoLimit is a limit of the file's, where 0 is none, as one of the engine's, where 0 is its own.
func orNoLimit(n int64) int64 {
	if n == 0 {
		return -1
	}
	return n
}

// closeEngineWithin bounds what an engine that stops serving waits for.
const closeEngineWithin = 15 * time.Second

// ServeEngine serves the embedded engine alone, without a ledger, until ctx ends. Sandboxes go on
// after it.
func ServeEngine(ctx context.Context, cfg *config.Config, listen engine.ListenOptions) error {
	e, err := engine.Open(ctx, EngineOptions(cfg, newLogger(cfg.Log)))
	if err != nil {
		return err // it says already what was opened
	}
	err = e.Listen(ctx, listen)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeEngineWithin)
	defer cancel()
	if closeErr := e.Close(closing); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("stopping: %w", closeErr))
	}
	return err
}
