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

// nextTry is how long to wait when so much is left.
func nextTry(left time.Duration) time.Duration {
	const part, of = 2, 3
	return max(left*part/of, leaseLeast)
}

// lease lets a value that ends be taken from its source again when two thirds of its time are over, as
// long as the handle is open. Without an end it does nothing.
func (h *Handle) lease(state *bindings, name string, resolved credential.Resolved) {
	if resolved.Expires.IsZero() {
		return
	}
	wait := nextTry(time.Until(resolved.Expires))
	state.mu.Lock()
	defer state.mu.Unlock()
	if state.ended {
		return
	}
	if before := state.leases[name]; before != nil {
		before.timer.Stop()
	}
	if state.leases == nil {
		state.leases = make(map[string]*lease)
	}
	l := &lease{name: name, resolved: resolved}
	state.leases[name] = l
	l.timer = time.AfterFunc(wait, func() { h.renewLease(l) })
}

// lease is the end of a credential's value.
type lease struct {
	name     string
	resolved credential.Resolved
	timer    *time.Timer
}

// holds tells whether the value that a lease is of is still the credential's.
func (b *bindings) holds(l *lease) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.leases[l.name] == l
}

// again lets a lease be renewed later, unless another value has come.
func (b *bindings) again(l *lease, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.leases[l.name] == l && !b.ended {
		l.timer.Reset(wait)
	}
}

// errReplaced tells that a lease is of a value which isn't there any more.
var errReplaced = errors.New("another value has come")

// renewLease takes a value anew, and tries again as long as the old one is good.
func (h *Handle) renewLease(l *lease) {
	ctx, cancel := context.WithTimeout(context.Background(), leaseTry)
	defer cancel()
	defer context.AfterFunc(h.c.quit, cancel)()
	err := h.Credentials().refresh(ctx, l.name, nil, func(state *bindings) error {
		if !state.holds(l) {
			return errReplaced
		}
		return nil
	})
	left := time.Until(l.resolved.Expires)
	switch {
	case err == nil, errors.Is(err, errReplaced), errors.Is(err, ErrClosed), errors.Is(err, credential.ErrNotFound) && !errors.Is(err, credential.ErrUnresolved):
	case left > leaseLeast:
		h.log.Warn("a credential's value that ends soon could not be taken anew; it is tried again", "credential", l.name, "ends", l.resolved.Expires, "err", err)
		h.bound.again(l, nextTry(left))
	default:
		h.log.Error("a credential's value has ended and could not be taken anew", "credential", l.name, "err", err)
	}
}
