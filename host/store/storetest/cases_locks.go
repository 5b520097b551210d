package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/alineo-labs/alineo-host/host/store"
)

func lockCases() []Case {
	level := []Feature{FeatureLocks}
	return []Case{
		{Name: "locks/LK-1", Rule: "a key that is held is refused to everybody, its holder too, with who holds it and for how long", Needs: level, run: lockBusy},
		{Name: "locks/LK-2", Rule: "a key that was released can be taken again", Needs: level, run: lockReleased},
		{Name: "locks/LK-4", Rule: "each key is held for itself", Needs: level, run: lockKeys},
		{Name: "locks/LK-5", Rule: "the key of a holder that is silent is free when its lease is over, and not before", Needs: level, run: lockExpired},
		{Name: "locks/LK-7", Rule: "a renewal lets the lease end later, or earlier, from now", Needs: level, run: lockRenewed},
		{Name: "locks/LK-8", Rule: "of many that take a key at once, through several handles, one gets it", Needs: level, run: lockRace},
		{Name: "locks/LK-10", Rule: "a holder whose lease is over or was released can neither renew nor release it, nor disturb the next", Needs: level, run: lockStale},
		{Name: "locks/fence", Rule: "each acquisition has a token of its own and a higher fence than those before it", Needs: level, run: lockFence},
		{Name: "locks/invalid", Rule: "a lock without key, owner, token or time is refused", Needs: level, run: lockInvalid},
	}
}

// take takes a lock that must be free.
func (e *env) take(s Stores, key, owner string, ttl time.Duration) store.LockResult {
	e.Helper()
	got, err := s.Locks.TryAcquire(e.ctx, key, owner, ttl)
	e.must("taking "+key, err)
	if !got.Acquired {
		e.Errorf("%s could not take %s, which %s holds for %v", owner, key, got.Owner, got.Left)
		e.FailNow()
	}
	if got.Token == "" || got.Fence == 0 || got.Owner != owner || got.Left > ttl {
		e.Errorf("taking %s for %v as %s gives %+v", key, ttl, owner, got)
	}
	e.recent("the clock of a lock", got.Now)
	return got
}

// held checks that a lock is refused.
func (e *env) held(s Stores, key, by string) store.LockResult {
	e.Helper()
	got, err := s.Locks.TryAcquire(e.ctx, key, "somebody", time.Hour)
	e.must("trying to take "+key, err)
	if got.Acquired || got.Owner != by || got.Token != "" || got.Fence != 0 {
		e.Errorf("a try to take %s, which %s holds, gives %+v", key, by, got)
	}
	return got
}

// did checks what a renewal or release says.
func (e *env) did(doing string, got bool, err error, want bool) {
	e.Helper()
	e.must(doing, err)
	if got != want {
		e.Errorf("%s says %v, want %v", doing, got, want)
	}
}

func lockBusy(e *env) {
	e.take(e.stores, "key", "a", time.Hour)
	got := e.held(e.stores, "key", "a")
	if got.Left < 30*time.Minute || got.Left > time.Hour {
		e.Errorf("a lock that was just taken for an hour is held for %v", got.Left)
	}
	again, err := e.stores.Locks.TryAcquire(e.ctx, "key", "a", time.Hour)
	e.must("taking what one holds", err)
	if again.Acquired {
		e.Errorf("a holder took its key a second time")
	}
}

func lockReleased(e *env) {
	for range 3 {
		got := e.take(e.stores, "key", "again", time.Hour)
		ok, err := e.stores.Locks.Release(e.ctx, "key", got.Token)
		e.did("releasing", ok, err, true)
	}
}

func lockKeys(e *env) {
	a := e.take(e.stores, "key", "a", time.Hour)
	e.take(e.stores, "KEY", "b", time.Hour)
	e.take(e.stores, "key ", "c", time.Hour)
	ok, err := e.stores.Locks.Release(e.ctx, "key", a.Token)
	e.did("releasing", ok, err, true)
	e.held(e.stores, "KEY", "b")
	ok, err = e.stores.Locks.Release(e.ctx, "KEY", a.Token)
	e.did("releasing another key", ok, err, false)
	e.held(e.stores, "KEY", "b")
}

// waitFree takes a lock as soon as it is free.
func (e *env) waitFree(s Stores, key, owner string) store.LockResult {
	e.Helper()
	for {
		got, err := s.Locks.TryAcquire(e.ctx, key, owner, time.Hour)
		e.must("trying to take "+key, err)
		if got.Acquired {
			return got
		}
	}
}

// slack is how far two looks at one clock may lie apart within a call, milliseconds.
const slack = 50

func lockExpired(e *env) {
	first := e.take(e.stores, "key", "a", 200*time.Millisecond)
	ends := first.Now + first.Left.Milliseconds()
	got := e.waitFree(e.two()[1], "key", "b")
	if got.Now < ends-slack {
		e.Errorf("a lease that ends at %d was over at %d", ends, got.Now)
	}
	e.held(e.stores, "key", "b")
}

func lockRenewed(e *env) {
	first := e.take(e.stores, "key", "a", time.Minute)
	ok, err := e.stores.Locks.Renew(e.ctx, "key", first.Token, time.Hour)
	e.did("renewing", ok, err, true)
	if got := e.held(e.stores, "key", "a"); got.Left < 30*time.Minute || got.Left > time.Hour {
		e.Errorf("a lease that was renewed for an hour ends in %v", got.Left)
	}
	ok, err = e.stores.Locks.Renew(e.ctx, "key", first.Token, time.Millisecond)
	e.did("renewing for a millisecond", ok, err, true)
	second := e.waitFree(e.stores, "key", "b")
	ok, err = e.stores.Locks.Renew(e.ctx, "key", second.Token, time.Hour)
	e.did("renewing", ok, err, true)
	ok, err = e.stores.Locks.Release(e.ctx, "key", second.Token)
	e.did("releasing what was renewed", ok, err, true)
}

func lockRace(e *env) {
	handles := e.two()
	const n, each = 8, 4
	var holders, taken atomic.Int32
	e.atOnce("taking at once", n, func(i int) error {
		s := handles[i%2]
		for range each {
			got, err := s.Locks.TryAcquire(e.ctx, "key", fmt.Sprintf("host-%d", i), time.Hour)
			if err != nil {
				return err
			}
			if !got.Acquired {
				continue
			}
			taken.Add(1)
			if now := holders.Add(1); now != 1 {
				return fmt.Errorf("%d hold the key at once", now)
			}
			holders.Add(-1)
			if ok, err := s.Locks.Release(e.ctx, "key", got.Token); err != nil || !ok {
				return errors.Join(err, fmt.Errorf("releasing says %v", ok))
			}
		}
		return nil
	})
	if taken.Load() == 0 {
		e.Errorf("nobody got a key that was free")
	}
}

func lockStale(e *env) {
	first := e.take(e.stores, "key", "a", time.Hour)
	ok, err := e.stores.Locks.Release(e.ctx, "key", first.Token)
	e.did("releasing", ok, err, true)
	stale := func(token string) {
		e.Helper()
		ok, err := e.stores.Locks.Renew(e.ctx, "key", token, time.Hour)
		e.did("renewing what is over", ok, err, false)
		ok, err = e.stores.Locks.Release(e.ctx, "key", token)
		e.did("releasing what is over", ok, err, false)
	}
	stale(first.Token)
	second := e.take(e.stores, "key", "b", time.Hour)
	stale(first.Token)
	e.held(e.stores, "key", "b")
	ok, err = e.stores.Locks.Renew(e.ctx, "key", second.Token, time.Millisecond)
	e.did("renewing for a millisecond", ok, err, true)
	third := e.waitFree(e.two()[1], "key", "c")
	stale(second.Token)
	e.held(e.stores, "key", "c")
	ok, err = e.stores.Locks.Renew(e.ctx, "key", third.Token, time.Millisecond)
	e.did("renewing for a millisecond", ok, err, true)
	// Its lease is over by the time that a try for another key, which has the same, can be taken.
	other := e.take(e.stores, "other", "c", time.Millisecond)
	_ = e.waitFree(e.stores, "other", "d")
	ok, err = e.stores.Locks.Renew(e.ctx, "other", other.Token, time.Hour)
	e.did("renewing what somebody else took", ok, err, false)
	stale(third.Token)
	e.take(e.stores, "key", "e", time.Hour)
	ok, err = e.stores.Locks.Release(e.ctx, "nobody", third.Token)
	e.did("releasing a key that nobody took", ok, err, false)
}

func lockFence(e *env) {
	handles := e.two()
	last, tokens := uint64(0), map[string]bool{}
	for i := range 6 {
		got := e.take(handles[i%2], "key", "a", time.Hour)
		if got.Fence <= last {
			e.Errorf("fence %d follows %d", got.Fence, last)
		}
		if tokens[got.Token] {
			e.Errorf("token %d was given before", i)
		}
		last, tokens[got.Token] = got.Fence, true
		if i%3 == 2 {
			if _, err := e.stores.Locks.Renew(e.ctx, "key", got.Token, time.Millisecond); err != nil {
				e.Errorf("renewing: %v", err)
			}
			got = e.waitFree(handles[0], "key", "b")
			if got.Fence <= last {
				e.Errorf("fence %d follows %d after a lease was over", got.Fence, last)
			}
			last = got.Fence
		}
		ok, err := e.stores.Locks.Release(e.ctx, "key", got.Token)
		e.did("releasing", ok, err, true)
	}
}

func lockInvalid(e *env) {
	_, noKey := e.stores.Locks.TryAcquire(e.ctx, "", "a", time.Hour)
	_, noOwner := e.stores.Locks.TryAcquire(e.ctx, "key", "", time.Hour)
	_, noTime := e.stores.Locks.TryAcquire(e.ctx, "key", "a", 0)
	_, noToken := e.stores.Locks.Release(e.ctx, "key", "")
	for what, err := range map[string]error{"key": noKey, "owner": noOwner, "time": noTime, "token": noToken} {
		e.wantErr("a lock without "+what, err, store.ErrInvalid)
	}
	e.take(e.stores, "key", "a", time.Hour)
}
