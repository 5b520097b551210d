package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// KeepAlive renews the sandbox's life, to lifetime from now each time, until ctx ends or the handle
// is closed; it returns nil then. It returns at once for a sandbox that never expires, and with an
// error when the server refuses, or can't be reached for as long as the sandbox had to live.
//
//	go h.KeepAlive(ctx, 10*time.Minute)
func (h *Handle) KeepAlive(ctx context.Context, lifetime time.Duration) error {
	const op, perLifetime = "keeping alive", 3
	if lifetime < time.Minute {
		return h.fail(op, fmt.Errorf("%w: a lifetime of %s is shorter than %s", ErrInvalid, lifetime, time.Minute))
	}
	until := time.Now().Add(lifetime)
	ticker := time.NewTicker(lifetime / perLifetime)
	defer ticker.Stop()
	for {
		next := time.Now().Add(lifetime)
		_, err := h.c.wire.RenewExpiration(ctx, h.id, next)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, opensandbox.ErrConflict):
			h.log.Debug("the sandbox's life needs no renewing", "err", err)
			return nil
		case err == nil:
			until = next
		case errors.Is(err, opensandbox.ErrNotFound) || time.Now().After(until):
			return h.fail(op, err)
		default:
			h.log.Warn("the sandbox's life could not be renewed; it is tried again", "err", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		case <-h.quit:
			return nil
		}
	}
}

// working says that an exec begins; the caller calls what it returns at its end. While there are any,
// the sandbox's life is renewed, where Options.KeepAlive asks for it. h.mu is held.
func (h *Handle) working() (ended func()) {
	if !h.c.opts.KeepAlive || h.lifetime == 0 {
		return func() {}
	}
	if h.works++; h.works == 1 {
		ctx, cancel := context.WithCancel(context.Background())
		h.stopKeeping = cancel
		h.keeping.Go(func() {
			if err := h.KeepAlive(ctx, h.lifetime); err != nil {
				h.log.Error("the sandbox may end while it is at work", "err", err)
			}
		})
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.works--; h.works == 0 {
			h.stopKeeping()
		}
	}
}
