package sandbox

import (
	"context"
	"errors"
	"time"

	"github.com/alineo-labs/alineo-host/host/credential"
)

const (
	// leaseLeast is the shortest time after which a value with an end is taken anew.
	leaseLeast = time.Second
	// leaseTry bounds taking one anew.
	leaseTry = time.Minute
)

// lease lets a value that ends be taken from its source again when two thirds of its time are over, as
// long as the handle is open. Without an end it does nothing.
func (h *Handle) lease(state *bindings, name string, resolved credential.Resolved) {
	if resolved.Expires.IsZero() {
		return
	}
	const part, of = 2, 3
	wait := max(time.Until(resolved.Expires)*part/of, leaseLeast)
	state.mu.Lock()
	defer state.mu.Unlock()
	if state.ended {
		return
	}
	if before := state.leases[name]; before != nil {
		before.Stop()
	}
	if state.leases == nil {
		state.leases = make(map[string]*time.Timer)
	}
	state.leases[name] = time.AfterFunc(wait, func() { h.renewLease(name, resolved) })
}

// renewLease takes a value anew, and tries again as long as the old one is good.
func (h *Handle) renewLease(name string, old credential.Resolved) {
	ctx, cancel := context.WithTimeout(context.Background(), leaseTry)
	defer cancel()
	defer context.AfterFunc(h.c.quit, cancel)()
	err := h.Credentials().Refresh(ctx, name, nil)
	switch {
	case err == nil, errors.Is(err, ErrClosed), errors.Is(err, credential.ErrNotFound) && !errors.Is(err, credential.ErrUnresolved):
	case time.Until(old.Expires) > leaseLeast:
		h.log.Warn("a credential's value that ends soon could not be taken anew; it is tried again", "credential", name, "ends", old.Expires, "err", err)
		h.lease(h.bound, name, old)
	default:
		h.log.Error("a credential's value has ended and could not be taken anew", "credential", name, "err", err)
	}
}
