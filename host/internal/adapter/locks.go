package adapter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Locks is a guest as a store of leases. It is safe for concurrent use.
type Locks struct{ asker }

var _ store.Locks = (*Locks)(nil)

// checkLease refuses what is no time to hold something for.
func checkLease(ttl time.Duration) error {
	if ttl < time.Millisecond {
		return fmt.Errorf("%w: a lease of %s is shorter than a millisecond", store.ErrInvalid, ttl)
	}
	return nil
}

// TryAcquire takes a key if it is free.
func (s *Locks) TryAcquire(ctx context.Context, key, owner string, ttl time.Duration) (store.LockResult, error) {
	const op = abi.OpLocksTryAcquire
	err := errors.Join(checkKey("the key", key), checkKey("the owner's name", owner), checkLease(ttl))
	var reply abi.LockReply
	if err == nil {
		err = s.guest.Call(ctx, op, &abi.LockRequest{Key: key, Owner: owner, TTLMS: uint64(ttl.Milliseconds())}, nil, &reply)
	}
	switch {
	case err != nil:
	case reply.Acquired && (reply.Token == "" || reply.Fence == 0 || reply.Owner != owner || reply.LeftMS > uint64(ttl.Milliseconds())):
		err = s.brokenf(op, "the plugin answered that the lock is %q's for %d ms, with %d bytes of token and fence %d", reply.Owner, reply.LeftMS, len(reply.Token), reply.Fence)
	case !reply.Acquired && (reply.Token != "" || reply.Fence != 0):
		err = s.brokenf(op, "the plugin answered with a token or fence of somebody else's lock")
	}
	if err != nil {
		return store.LockResult{}, wrote("taking lock", key, err)
	}
	return store.LockResult{
		Acquired: reply.Acquired, Token: reply.Token, Fence: reply.Fence, Owner: reply.Owner,
		Left: time.Duration(min(reply.LeftMS, math.MaxInt64/uint64(time.Millisecond))) * time.Millisecond, Now: reply.Now,
	}, nil
}

// Renew lets a lease end later.
func (s *Locks) Renew(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
	err := errors.Join(checkKey("the key", key), checkKey("the token", token), checkLease(ttl))
	applied := false
	if err == nil {
		applied, err = s.applied(ctx, abi.OpLocksRenew, &abi.LeaseRequest{Key: key, Token: token, TTLMS: uint64(ttl.Milliseconds())})
	}
	return applied, wrote("renewing lock", key, err)
}

// Release frees a key.
func (s *Locks) Release(ctx context.Context, key, token string) (bool, error) {
	err := errors.Join(checkKey("the key", key), checkKey("the token", token))
	applied := false
	if err == nil {
		applied, err = s.applied(ctx, abi.OpLocksRelease, &abi.LeaseRequest{Key: key, Token: token})
	}
	return applied, wrote("releasing lock", key, err)
}
