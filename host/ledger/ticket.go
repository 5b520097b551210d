package ledger

import (
	"context"
	"fmt"
)

// Ticket is the receipt for an entry that was accepted but not yet written.
type Ticket struct {
	settled chan struct{} // holds one token once err is final
	err     error
}

func newTicket() *Ticket { return &Ticket{settled: make(chan struct{}, 1)} }

// Wait waits until the entry is durable (nil) or known to be refused, or until ctx ends; the entry
// is then written all the same. It may be called several times, and at once by several callers.
//
// The error wraps store.ErrInvalid when the store refuses this entry; store.ErrConflict when another
// driver has taken the sandbox over; store.ErrUnavailable when it was not written; and
// store.ErrUnknownOutcome when that couldn't be found out in time. It is one of them only.
func (t *Ticket) Wait(ctx context.Context) error {
	settled, err := t.take(ctx)
	if settled {
		t.settled <- struct{}{}
	}
	return err
}

// take is Wait without putting the token back.
func (t *Ticket) take(ctx context.Context) (settled bool, err error) {
	select {
	case <-t.settled:
		return true, t.err
	default:
	}
	select {
	case <-t.settled:
		return true, t.err
	case <-ctx.Done():
		return false, fmt.Errorf("waiting for the ledger: %w", context.Cause(ctx))
	}
}

// settle is called once, by the committer.
func (t *Ticket) settle(err error) {
	t.err = err
	t.settled <- struct{}{}
}
