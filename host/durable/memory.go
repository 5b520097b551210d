package durable

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/alineo-labs/alineo-host/host/store"
)

// newMemory are stores for runs that nothing is kept of. They hold what runs that go on need, and forget a run
// when it has ended and a while has passed.
func newMemory() Stores {
	m := &memory{
		instances: map[string]store.Instance{}, runs: map[string]*memoryRun{},
	}
	return Stores{Instances: (*memoryInstances)(m), Runs: (*memoryRuns)(m), Log: newOwnLog()}
}

// forgetAfter is how long a run that has ended is remembered.
const forgetAfter = 5 * time.Minute

type memory struct {
	mu        sync.Mutex
	instances map[string]store.Instance
	runs      map[string]*memoryRun
}

type memoryRun struct {
	store.Run
	secret store.RunSecret
	ended  time.Time

	interrupted *int64
}

func now() int64 { return time.Now().UnixMilli() }

// sweep forgets what ended a while ago; m.mu is held.
func (m *memory) sweep() {
	for id, run := range m.runs {
		if !run.ended.IsZero() && time.Since(run.ended) > forgetAfter {
			delete(m.runs, id)
		}
	}
}

type memoryInstances memory

func (*memoryInstances) Features() store.InstanceFeatures { return store.InstanceFeatures{List: true} }

func (m *memoryInstances) Get(_ context.Context, key string) (store.Instance, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	record, found := m.instances[key]
	return record, found, nil
}

func (m *memoryInstances) Put(_ context.Context, record store.Instance) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	record.UpdatedAt = now()
	m.instances[record.Key] = record
	return nil
}

func (m *memoryInstances) Delete(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.instances, key)
	return nil
}

func (*memoryInstances) PutIf(context.Context, store.Instance, *string) (bool, error) {
	return false, store.ErrUnsupported
}

func (*memoryInstances) DeleteIf(context.Context, string, string) (bool, error) {
	return false, store.ErrUnsupported
}

func (m *memoryInstances) List(context.Context, store.InstanceListOptions) (store.InstancePage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return store.InstancePage{Instances: slices.Collect(maps.Values(m.instances)), Now: now()}, nil
}

type memoryRuns memory

func (*memoryRuns) Features() store.RunFeatures {
	return store.RunFeatures{Fenced: true, List: true, ListReclaimable: true, CountBySandbox: true, Secret: true, Delete: true}
}

func (m *memoryRuns) CreateOrGet(_ context.Context, fresh store.NewRun) (store.Run, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	(*memory)(m).sweep()
	if run := m.runs[fresh.ID]; run != nil {
		return run.Run, false, nil
	}
	run := &memoryRun{secret: fresh.Secret, Run: store.Run{
		ID: fresh.ID, ThreadID: fresh.ThreadID, Status: store.RunRunning, StartedAt: now(), SandboxKey: fresh.SandboxKey,
	}}
	m.runs[fresh.ID] = run
	return run.Run, true, nil
}

func (m *memoryRuns) Patch(_ context.Context, id string, patch store.RunPatch) (bool, error) {
	if err := patch.Validate(); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	run := m.runs[id]
	if run == nil {
		return false, nil
	}
	run.apply(patch)
	return true, nil
}

// apply changes those fields that durable runs change.
func (run *memoryRun) apply(patch store.RunPatch) {
	set := patch.Set
	if set.Status != nil {
		if run.Status = *set.Status; run.Status == store.RunInterrupted {
			at := now()
			run.interrupted = &at
		}
	}
	if set.Error != nil {
		run.Error = set.Error
	}
	if set.DriverEpoch != nil {
		run.DriverEpoch = set.DriverEpoch
	}
	if set.CancelRequested != nil {
		run.CancelRequested = set.CancelRequested
	}
	for _, field := range patch.Clear {
		switch field {
		case store.FieldCancelRequested:
			run.CancelRequested = nil
		case store.FieldDetachedSince:
			run.DetachedSince = nil
		default:
		}
	}
	for _, field := range patch.Now {
		at := now()
		switch field {
		case store.FieldFinishedAt:
			run.FinishedAt = &at
		case store.FieldDetachedSince:
			run.DetachedSince = &at
		default:
		}
	}
	if run.Status.Terminal() && run.ended.IsZero() {
		run.ended = time.Now()
	}
}

func (m *memoryRuns) Get(_ context.Context, id string) (store.Run, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if run := m.runs[id]; run != nil {
		return run.Run, true, nil
	}
	return store.Run{}, false, nil
}

func (m *memoryRuns) FindActive(_ context.Context, threadID string) (store.Run, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var best store.Run
	for _, run := range m.runs {
		if run.ThreadID == threadID && run.Status == store.RunRunning &&
			(best.ID == "" || run.StartedAt > best.StartedAt || run.StartedAt == best.StartedAt && run.ID > best.ID) {
			best = run.Run
		}
	}
	return best, best.ID != "", nil
}

func (m *memoryRuns) PatchIf(_ context.Context, id string, epoch uint64, patch store.RunPatch) (store.PatchResult, error) {
	if err := patch.Validate(); err != nil {
		return store.PatchResult{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	run := m.runs[id]
	if run == nil {
		return store.PatchResult{}, nil
	}
	applied := !run.Status.Terminal() && epochOf(run.Run) == epoch
	if applied {
		run.apply(patch)
	}
	return store.PatchResult{Applied: applied, Existed: true, Run: run.Run}, nil
}

func (m *memoryRuns) Claim(_ context.Context, id string) (store.Claim, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	run := m.runs[id]
	switch {
	case run == nil:
		return store.Claim{Outcome: store.ClaimUnknown}, nil
	case run.Status.Terminal():
		return store.Claim{Outcome: store.ClaimTerminal, Run: run.Run}, nil
	}
	epoch := epochOf(run.Run) + 1
	run.DriverEpoch = &epoch
	return store.Claim{Outcome: store.Claimed, Epoch: epoch, Run: run.Run}, nil
}

func (m *memoryRuns) CountBySandbox(_ context.Context, key, except string) (n int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, run := range m.runs {
		if id != except && !run.Status.Terminal() && deref(run.SandboxKey) == key {
			n++
		}
	}
	return n, nil
}

func (m *memoryRuns) Secret(_ context.Context, id string) (store.RunSecret, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if run := m.runs[id]; run != nil {
		return run.secret, true, nil
	}
	return nil, false, nil
}

func (*memoryRuns) ListByThread(context.Context, string, store.PageOptions) (store.RunPage, error) {
	return store.RunPage{}, store.ErrUnsupported
}

// List returns all on one page: there are as many as go on in this process.
func (m *memoryRuns) List(_ context.Context, opts store.RunListOptions) (store.RunPage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var page store.RunPage
	for _, run := range m.runs {
		if (opts.ThreadID == "" || opts.ThreadID == run.ThreadID) && (opts.Status == "" || opts.Status == run.Status) &&
			(opts.FinishedBefore == nil || run.FinishedAt != nil && *run.FinishedAt < *opts.FinishedBefore) {
			page.Runs = append(page.Runs, run.Run)
		}
	}
	slices.SortFunc(page.Runs, func(a, b store.Run) int {
		return cmp.Or(cmp.Compare(b.StartedAt, a.StartedAt), cmp.Compare(b.ID, a.ID))
	})
	return page, nil
}

func (m *memoryRuns) ListReclaimable(_ context.Context, opts store.ReclaimOptions) (store.ReclaimPage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	page := store.ReclaimPage{Now: cmp.Or(opts.Now, now())}
	for _, run := range m.runs {
		since := run.DetachedSince
		if opts.Status == store.RunInterrupted {
			since = run.interrupted
		}
		if run.Status == cmp.Or(opts.Status, store.RunRunning) && since != nil && *since <= page.Now-opts.TTL.Milliseconds() {
			page.Runs = append(page.Runs, store.ReclaimableRun{Run: run.Run, Since: *since})
		}
	}
	slices.SortFunc(page.Runs, func(a, b store.ReclaimableRun) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.ID, b.ID))
	})
	return page, nil
}

func (m *memoryRuns) Delete(_ context.Context, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	run := m.runs[id]
	if run != nil && !run.Status.Terminal() {
		return false, store.ErrConflict
	}
	delete(m.runs, id)
	return run != nil, nil
}
