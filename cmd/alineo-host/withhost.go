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
