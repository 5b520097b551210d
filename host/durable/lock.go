package durable

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/alineo-labs/alineo-host/host/store"
)

// errBusy: somebody else holds the lock.
var errBusy = errors.New("the lock is held")

// lease is a lock that is held and renewed.
type lease struct {
	ctx   context.Context //nolint:containedctx // ends when the lock may be another's
	fence uint64
	now   int64 // the store's clock when it was acquired, Unix milliseconds

	stop context.CancelCauseFunc
	done chan struct{} // the renewing has stopped and the lock is given back
}

// release gives the lock back and waits for that, some seconds at most.
func (l *lease) release() {
	l.stop(context.Canceled)
	<-l.done
}

func driverLock(runID string) string { return "run-driver:" + runID }

func sandboxLock(key string) string { return "sandbox:" + key }

// tryLock takes a lock, or returns errBusy. What it returns has a context that ends with the lock, or
// with ctx.
func (r *Runs) tryLock(ctx context.Context, key string) (*lease, error) {
	asked := time.Now()
	got, err := r.locks.TryAcquire(ctx, key, r.opts.Owner, r.opts.Lease)
	if err != nil {
		return nil, fmt.Errorf("locking %q: %w", key, err)
	}
	if !got.Acquired {
		return nil, fmt.Errorf("locking %q: %w by %s", key, errBusy, got.Owner)
	}
	l := &lease{fence: got.Fence, now: got.Now, done: make(chan struct{})}
	l.ctx, l.stop = context.WithCancelCause(ctx)
	go r.renew(l, key, got.Token, asked)
	return l, nil
}

// lock waits for a lock until ctx ends.
func (r *Runs) lock(ctx context.Context, key string) (*lease, error) {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		l, err := r.tryLock(ctx, key)
		if !errors.Is(err, errBusy) {
			return l, err
		}
		if err := pause(ctx, wait/2+jitter(wait/2)); err != nil {
			return nil, fmt.Errorf("waiting for the lock %q: %w", key, err)
		}
	}
}

// renew keeps a lease until it is given back or lost. Its end is reckoned from before the store was asked, on
// this process's own clock, so that it is never held too long, also by a process that was stopped.
func (r *Runs) renew(l *lease, key, token string, asked time.Time) {
	defer close(l.done)
	every := r.opts.Lease / 3
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case <-l.ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), r.opts.Lease)
			if _, err := r.locks.Release(ctx, key, token); err != nil {
				r.log.Debug("a lock was not given back, its lease will end", "key", key, "err", err)
			}
			cancel()
			return
		case <-timer.C:
		}
		left := r.opts.Lease - time.Since(asked)
		if left <= 0 {
			l.stop(errLease)
			continue
		}
		now := time.Now()
		ctx, cancel := context.WithTimeout(l.ctx, left)
		held, err := r.locks.Renew(ctx, key, token, r.opts.Lease)
		cancel()
		switch {
		case err == nil && held:
			asked = now
			timer.Reset(every)
		case err == nil:
			l.stop(errLease)
		default:
			timer.Reset(every / 4) // asked again until the lease is over
		}
	}
}

// jitter is a part of a time, so that many don't do the same at once.
func jitter(d time.Duration) time.Duration {
	return rand.N(d) //nolint:gosec // no secret is made of it
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ownLocks are locks within this process, for stores that have none.
type ownLocks struct {
	mu   sync.Mutex
	held map[string]string // token by key
	next uint64
}

func (l *ownLocks) TryAcquire(_ context.Context, key, owner string, ttl time.Duration) (store.LockResult, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now().UnixMilli()
	if l.held[key] != "" {
		return store.LockResult{Owner: owner, Left: ttl, Now: now}, nil
	}
	l.next++
	token := strconv.FormatUint(l.next, 10)
	l.held[key] = token
	return store.LockResult{Acquired: true, Token: token, Fence: l.next, Owner: owner, Left: ttl, Now: now}, nil
}

func (l *ownLocks) Renew(_ context.Context, key, token string, _ time.Duration) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[key] == token, nil
}

func (l *ownLocks) Release(_ context.Context, key, token string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[key] != token {
		return false, nil
	}
	delete(l.held, key)
	return true, nil
}
