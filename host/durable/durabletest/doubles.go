package durabletest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/store"
)

// What stands before a real store, lock or machine, to make happen what seldom does.

// grantAll are locks that exclude nobody.
type grantAll struct{ store.Locks }

func (grantAll) TryAcquire(_ context.Context, _, owner string, ttl time.Duration) (store.LockResult, error) {
	return store.LockResult{Acquired: true, Token: "any", Fence: 1, Owner: owner, Left: ttl}, nil
}

func (grantAll) Renew(context.Context, string, string, time.Duration) (bool, error) { return true, nil }

func (grantAll) Release(context.Context, string, string) (bool, error) { return true, nil }

// gatedRuns hold a driver's last write until it is let through.
type gatedRuns struct {
	store.Runs
	reached chan struct{} // closed when the write is about to be made
	open    chan struct{} // closed to let it through
	once    sync.Once
}

func (g *gatedRuns) PatchIf(ctx context.Context, id string, epoch uint64, patch store.RunPatch) (store.PatchResult, error) {
	if s := patch.Set.Status; s != nil && s.Terminal() {
		g.once.Do(func() { close(g.reached) })
		select {
		case <-g.open:
		case <-ctx.Done():
		}
	}
	return g.Runs.PatchIf(context.WithoutCancel(ctx), id, epoch, patch)
}

// forgetfulLog appends, and every other time doesn't say so; every third time it doesn't append.
type forgetfulLog struct {
	store.RunLog
	calls, lost atomic.Int64
}

func (f *forgetfulLog) Append(ctx context.Context, batch store.LogAppend) (uint64, error) {
	n := f.calls.Add(1)
	if n%3 == 0 {
		return 0, fmt.Errorf("%w: for the test", store.ErrUnavailable)
	}
	tail, err := f.RunLog.Append(ctx, batch)
	if err == nil && n%2 == 0 {
		f.lost.Add(1)
		return 0, fmt.Errorf("%w: for the test", store.ErrUnknownOutcome)
	}
	return tail, err
}

// floorRuns have nothing optional.
type floorRuns struct{ store.Runs }

func (floorRuns) Features() store.RunFeatures { return store.RunFeatures{} }

// floorInstances have nothing optional.
type floorInstances struct{ store.Instances }

func (floorInstances) Features() store.InstanceFeatures { return store.InstanceFeatures{} }

// floor is what a store has at least: no logs, no locks.
func floor(s durable.Stores) durable.Stores {
	return durable.Stores{Instances: floorInstances{s.Instances}, Runs: floorRuns{s.Runs}}
}

var errBroken = errors.New("broken for the test")

// brokenInstances can't be written, but for notes.
type brokenInstances struct{ store.Instances }

func (b brokenInstances) Put(ctx context.Context, record store.Instance) error {
	if strings.Contains(record.Key, ":") {
		return b.Instances.Put(ctx, record)
	}
	return errBroken
}

// countedMachines remember what was made and destroyed.
type countedMachines struct {
	durable.Machines
	mu        sync.Mutex
	made      []string
	destroyed []string
	refuse    bool // to destroy
}

func (c *countedMachines) Create(ctx context.Context, spec durable.Spec, mark string) (string, error) {
	id, err := c.Machines.Create(ctx, spec, mark)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.made = append(c.made, id)
	}
	return id, err
}

func (c *countedMachines) Destroy(ctx context.Context, id string) error {
	c.mu.Lock()
	refuse := c.refuse
	c.mu.Unlock()
	if refuse {
		return errBroken
	}
	err := c.Machines.Destroy(ctx, id)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.destroyed = append(c.destroyed, id)
	}
	return err
}

// mutedMachines make sandboxes, and never say so: their host is killed before.
type mutedMachines struct {
	durable.Machines
	made chan string
}

func (m *mutedMachines) Create(ctx context.Context, spec durable.Spec, mark string) (string, error) {
	id, err := m.Machines.Create(ctx, spec, mark)
	if err != nil {
		return "", err
	}
	m.made <- id
	<-ctx.Done()
	return "", context.Cause(ctx)
}

// shifted are stores whose clock is ahead of this process's by so many milliseconds.
func shifted(s durable.Stores, by int64) durable.Stores {
	return durable.Stores{
		Instances: shiftedInstances{s.Instances, by}, Runs: shiftedRuns{s.Runs, by}, Log: s.Log, Locks: shiftedLocks{s.Locks, by},
	}
}

type shiftedInstances struct {
	store.Instances
	by int64
}

func (s shiftedInstances) Get(ctx context.Context, key string) (store.Instance, bool, error) {
	record, found, err := s.Instances.Get(ctx, key)
	record.UpdatedAt += s.by
	return record, found, err
}

type shiftedRuns struct {
	store.Runs
	by int64
}

func (s shiftedRuns) shift(run *store.Run) {
	run.StartedAt += s.by
	for _, at := range [...]**int64{&run.DetachedSince, &run.FinishedAt} {
		if *at != nil {
			moved := **at + s.by
			*at = &moved
		}
	}
}

func (s shiftedRuns) Get(ctx context.Context, id string) (store.Run, bool, error) {
	run, found, err := s.Runs.Get(ctx, id)
	s.shift(&run)
	return run, found, err
}

func (s shiftedRuns) ListReclaimable(ctx context.Context, opts store.ReclaimOptions) (store.ReclaimPage, error) {
	if opts.Now != 0 {
		opts.Now -= s.by
	}
	page, err := s.Runs.ListReclaimable(ctx, opts)
	page.Now += s.by
	for i := range page.Runs {
		s.shift(&page.Runs[i].Run)
		page.Runs[i].Since += s.by
	}
	return page, err
}

func (s shiftedRuns) List(ctx context.Context, opts store.RunListOptions) (store.RunPage, error) {
	if opts.FinishedBefore != nil {
		before := *opts.FinishedBefore - s.by
		opts.FinishedBefore = &before
	}
	page, err := s.Runs.List(ctx, opts)
	for i := range page.Runs {
		s.shift(&page.Runs[i])
	}
	return page, err
}

type shiftedLocks struct {
	store.Locks
	by int64
}

func (s shiftedLocks) TryAcquire(ctx context.Context, key, owner string, ttl time.Duration) (store.LockResult, error) {
	result, err := s.Locks.TryAcquire(ctx, key, owner, ttl)
	result.Now += s.by
	return result, err
}
