package store

import (
	"context"
	"time"
)

// LockResult is the answer to an attempt at a lock.
type LockResult struct {
	Acquired bool
	Token    string // of this acquisition, when it was acquired: what Renew and Release want
	Fence    uint64 // when it was acquired: higher than any that the key ever had
	// Owner is who holds it, and Left for how long if it is not renewed: the caller when it was acquired.
	Owner string
	Left  time.Duration
	Now   int64 // the store's clock, Unix milliseconds
}

// Locks are leases on keys. Time is that of the store's clock: whoever dies leaves its keys free when its
// lease is over. Implementations are safe for concurrent use, also of different processes.
type Locks interface {
	// TryAcquire takes a key if it is free, and does not wait. Owner is shown to those who find it busy; an
	// owner who holds a key is refused it like others. The ttl is at least a millisecond.
	TryAcquire(ctx context.Context, key, owner string, ttl time.Duration) (LockResult, error)
	// Renew lets the lease end ttl from now, and returns false, changing nothing, when the token does not
	// hold the key any more.
	Renew(ctx context.Context, key, token string, ttl time.Duration) (bool, error)
	// Release frees the key, and returns false, changing nothing, when the token does not hold it any more.
	Release(ctx context.Context, key, token string) (bool, error)
}
