package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
)

// closeWithin bounds the draining at the end of a command, also after Ctrl-C.
const closeWithin = 15 * time.Second

// withHost opens the host, runs f and closes the host, whatever f did.
func (a *app) withHost(ctx context.Context, f func(context.Context, *host.Host) error) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	return openHost(ctx, cfg, f, host.WithCredentialResolver(a.askCredential))
}

// patience is how long a call may take that looks at much of a ledger. Whoever operates one waits for it, and
// can end it; what serves a sandbox can't.
const patience = config.Duration(2 * time.Minute)

// operate is withHost for what looks at a whole ledger.
func (a *app) operate(ctx context.Context, f func(context.Context, *host.Host) error) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	return openHost(ctx, patient(cfg), f)
}

// patient lets calls of the ledger's plugin take longer, unless the configuration says how long.
func patient(cfg *config.Config) *config.Config {
	if p, ok := cfg.Plugins[cfg.Ledger.Plugin]; ok && p.Limits.Deadline == config.DefaultLimits().Deadline {
		p.Limits.Deadline = patience
		cfg.Plugins[cfg.Ledger.Plugin] = p
	}
	return cfg
}

// openHost is withHost for a configuration that is there already.
func openHost(ctx context.Context, cfg *config.Config, f func(context.Context, *host.Host) error, opts ...host.Option) error {
	h, err := host.Open(ctx, cfg, opts...)
	if err != nil {
		return err
	}
	if err = h.CheckLedger(ctx); err == nil {
		err = f(ctx, h)
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	if closeErr := h.Close(closing); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("closing: %w", closeErr))
	}
	return err
}
