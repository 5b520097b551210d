package durable

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/alineo-labs/alineo-host/host/internal/journal"
	"github.com/alineo-labs/alineo-host/host/store"
)

// secretBytes is how long a run's secret is.
const secretBytes = 16

func newSecret() store.RunSecret {
	secret := make(store.RunSecret, secretBytes)
	_, _ = rand.Read(secret) // it never fails
	return secret
}

// nonce returns what a run's sentinel is known by.
func (r *Runs) nonce(ctx context.Context, runID string) (journal.Nonce, error) {
	if !r.stores.Runs.Features().Secret {
		// Every host must come to the same one, so it is made of what all of them know; and so does the command.
		sum := sha256.Sum256([]byte("alineo-host/journal-sentinel/v1:" + runID))
		return journal.NewNonce(sum[:])
	}
	secret, found, err := r.stores.Runs.Secret(ctx, runID)
	if err != nil {
		return "", fmt.Errorf("asking for the secret of run %q: %w", runID, err)
	}
	if !found {
		return "", fmt.Errorf("run %q has no secret: %w", runID, store.ErrNotFound)
	}
	return journal.NewNonce(secret)
}

// claim makes this host a run's driver and returns its epoch. On a store that isn't fenced it is a read and
// a write, which only the lock keeps apart from another host's.
func (r *Runs) claim(ctx context.Context, runID string) (uint64, store.Run, error) {
	if r.fenced {
		got, err := r.stores.Runs.Claim(ctx, runID)
		switch {
		case err != nil:
			return 0, store.Run{}, fmt.Errorf("claiming run %q: %w", runID, err)
		case got.Outcome == store.ClaimUnknown:
			return 0, store.Run{}, fmt.Errorf("claiming run %q: %w", runID, store.ErrNotFound)
		case got.Outcome != store.Claimed:
			return 0, got.Run, fmt.Errorf("claiming run %q: %w", runID, ErrEnded)
		}
		return got.Epoch, got.Run, nil
	}
	run, err := r.Get(ctx, runID)
	if err != nil {
		return 0, store.Run{}, err
	}
	if !drivable(run.Status) {
		return 0, run, fmt.Errorf("claiming run %q: %w", runID, ErrEnded)
	}
	epoch := epochOf(run) + 1
	if _, err := r.stores.Runs.Patch(ctx, runID, store.RunPatch{Set: store.RunFields{DriverEpoch: &epoch}}); err != nil {
		return 0, run, fmt.Errorf("claiming run %q: %w", runID, err)
	}
	run.DriverEpoch = &epoch
	return epoch, run, nil
}

func drivable(s store.RunStatus) bool { return s == store.RunRunning || s == store.RunInterrupted }

// TakeOver makes this host drive a run that no live host drives. With force, it is taken from a host that
// does, which can't write to it from then on. A run that is driven is ErrDriven, one that has ended ErrEnded.
// What it returns at once is that the run is claimed; the rest goes on by itself.
func (r *Runs) TakeOver(ctx context.Context, runID string, force bool) error {
	if err := r.takeOver(ctx, runID, force); err != nil {
		return fmt.Errorf("taking over run %q: %w", runID, err)
	}
	return nil
}

func (r *Runs) takeOver(ctx context.Context, runID string, force bool) error {
	if !r.fenced && !r.opts.AllowUnfenced {
		return ErrUnfenced
	}
	r.mu.Lock()
	p := r.local[runID]
	here := p != nil && p.driver != nil
	r.mu.Unlock()
	if here {
		return nil
	}
	lock, err := r.driverLease(ctx, runID, force)
	if err != nil {
		return err
	}
	epoch, run, err := r.claim(lock.ctx, runID)
	if err != nil {
		lock.release()
		return err
	}
	d := r.newDriver(run, epoch, lock)
	if isTrue(run.CancelRequested) {
		d.cancel(errCanceled)
	}
	if err := r.begin(d, func(ctx context.Context) { d.takeOver(ctx) }); !errors.Is(err, drivenHere{}) {
		return err
	}
	return nil // this host's other attempt was first; its epoch is lower, and it will notice
}

// driverLease takes the lock of a run's driver, for as long as this host is open. With force it is done
// without when it is held: the claim alone keeps the other one from writing.
func (r *Runs) driverLease(ctx context.Context, runID string, force bool) (*lease, error) {
	lock, err := r.tryLock(r.ctx, driverLock(runID))
	switch {
	case err == nil:
		return lock, nil
	case !errors.Is(err, errBusy):
		return nil, err
	case !force:
		return nil, fmt.Errorf("%w: %w", ErrDriven, err)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	lock = &lease{done: make(chan struct{})}
	lock.ctx, lock.stop = context.WithCancelCause(r.ctx)
	close(lock.done)
	return lock, nil
}

// drivenHere is ErrDriven when it is this host that drives the run.
type drivenHere struct{}

func (drivenHere) Error() string { return "this host drives the run" }

func (drivenHere) Is(target error) bool { return target == ErrDriven } //nolint:errorlint // that is what Is is for

// begin lets a driver go to work. One that can't gives its lease back, and is never done.
func (r *Runs) begin(d *driver, work func(context.Context)) error {
	r.mu.Lock()
	p := r.at(d.run.ID)
	if r.closed || p.driver != nil {
		closed := r.closed
		r.drop(d.run.ID)
		r.mu.Unlock()
		d.cancel(context.Canceled)
		d.lock.release()
		if closed {
			return ErrClosed
		}
		return drivenHere{}
	}
	p.driver = d
	r.busy.Go(func() {
		defer d.lock.release()
		work(d.ctx)
		r.mu.Lock()
		p := r.at(d.run.ID)
		if p.driver == d {
			p.driver = nil
		}
		r.drop(d.run.ID)
		r.mu.Unlock()
		close(d.done)
		r.wake(d.run.ID)
	})
	r.mu.Unlock()
	return nil
}

// quiesce waits until a log stands still, where a superseded driver could still write to it.
func (r *Runs) quiesce(ctx context.Context, runID string) error {
	if r.fenced {
		return nil // the empty append of the new epoch has shut it out
	}
	const probes = 6
	last := ^uint64(0)
	for range probes {
		page, err := r.stores.Log.Read(ctx, runID, store.LogReadOptions{Limit: 1})
		if err != nil {
			return fmt.Errorf("waiting for the log of run %q to stand still: %w", runID, err)
		}
		if page.Tail == last {
			return nil
		}
		last = page.Tail
		if err := pause(ctx, r.opts.Quiet); err != nil {
			return err
		}
	}
	return fmt.Errorf("the log of run %q goes on growing: %w", runID, ErrDriven)
}

func isTrue(b *bool) bool { return b != nil && *b }
