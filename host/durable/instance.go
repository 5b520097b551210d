package durable

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/host/store"
)

// destroyWithin bounds the ending of a sandbox, whatever became of the caller.
const destroyWithin = time.Minute

// pendingPrefix begins the keys of records whose sandbox is still to be destroyed.
const pendingPrefix = "pending-destroy:"

// How a sandbox was come by.
const (
	Resumed = "resumed"
	Created = "created"
)

// Ensured is a sandbox that is there.
type Ensured struct {
	Record store.Instance
	How    string // Resumed or Created
	// Machine reaches into it.
	Machine Machine
}

// Ensure returns the sandbox of a thread: the one that is there, or a new one. Hosts that want it at once
// get the same one. When it fails, no sandbox is left behind that nobody knows of.
func (r *Runs) Ensure(ctx context.Context, threadID string, spec Spec) (Ensured, error) {
	if spec.Reuse == ReuseNone {
		return Ensured{}, fmt.Errorf("ensuring a sandbox for thread %q: %w: a sandbox that is not reused belongs to a run: start one", threadID, store.ErrInvalid)
	}
	if err := checkID("thread", threadID); err != nil {
		return Ensured{}, fmt.Errorf("ensuring a sandbox: %w", err)
	}
	key, err := Key(r.opts.Machines.Provider(), threadID, "", spec)
	if err != nil {
		return Ensured{}, err
	}
	return r.ensure(ctx, key, threadID, nil, spec)
}

// ensure is Ensure for a run.
func (r *Runs) ensure(ctx context.Context, key, threadID string, runID *string, spec Spec) (Ensured, error) {
	fail := func(err error) (Ensured, error) {
		return Ensured{}, fmt.Errorf("ensuring the sandbox of thread %q: %w", threadID, err)
	}
	lock, err := r.lock(ctx, sandboxLock(key))
	if err != nil {
		return fail(err)
	}
	defer lock.release()
	record, found, err := r.stores.Instances.Get(lock.ctx, key)
	if err != nil {
		return fail(err)
	}
	if found {
		got, err := r.resume(lock, record, runID, spec)
		if err != nil || got.Machine != nil {
			if err != nil {
				return fail(err)
			}
			return got, nil
		}
	}
	record = store.Instance{Key: key, Provider: r.opts.Machines.Provider(), ThreadID: threadID, LatestRunID: runID}
	got, err := r.announced(lock.ctx, record, spec)
	if err != nil {
		return fail(err)
	}
	return got, nil
}

// resume reaches the recorded sandbox. A result without a machine says that there is none, or none
// any more.
func (r *Runs) resume(lock *lease, record store.Instance, runID *string, spec Spec) (Ensured, error) {
	ctx := lock.ctx
	if record.Provider != r.opts.Machines.Provider() {
		return Ensured{}, fmt.Errorf("the sandbox is of provider %q, not %q", record.Provider, r.opts.Machines.Provider())
	}
	idle := time.Duration(lock.now-record.UpdatedAt) * time.Millisecond
	if spec.MaxIdle > 0 && idle > spec.MaxIdle {
		used, err := r.inUse(ctx, record, deref(runID))
		if err != nil {
			return Ensured{}, err
		}
		if used == "" {
			return Ensured{}, r.retire(ctx, record)
		}
	}
	machine, err := r.opts.Machines.Open(ctx, record.ProviderSandboxID)
	switch {
	case errors.Is(err, ErrGone):
		// Also one that stopped without going away must not be forgotten.
		return Ensured{}, r.retire(ctx, record)
	case err != nil:
		return Ensured{}, err // it may be there: another one would be one too many
	}
	record.UpdatedAt = 0
	if runID != nil {
		record.LatestRunID = runID
	}
	if err := r.put(ctx, record); err != nil {
		return Ensured{}, err
	}
	return Ensured{Record: record, How: Resumed, Machine: machine}, nil
}

// retire destroys a recorded sandbox that will be replaced. One that can't be destroyed now is written
// down, for the sweep.
func (r *Runs) retire(ctx context.Context, record store.Instance) error {
	err := r.destroyMachine(ctx, record.ProviderSandboxID)
	if err == nil {
		return nil
	}
	r.log.Warn("a sandbox that is to be replaced could not be destroyed; the sweep will try again",
		"sandbox", record.ProviderSandboxID, "err", err)
	return r.pend(ctx, record)
}

// pend writes down that a sandbox is still to be destroyed.
func (r *Runs) pend(ctx context.Context, record store.Instance) error {
	record.Key, record.UpdatedAt = pendingPrefix+record.ProviderSandboxID, 0
	return r.put(ctx, record)
}

func (r *Runs) put(ctx context.Context, record store.Instance) error {
	if err := r.stores.Instances.Put(ctx, record); err != nil {
		return fmt.Errorf("recording sandbox %s: %w", record.ProviderSandboxID, err)
	}
	return nil
}

// create makes, prepares and records a sandbox.
func (r *Runs) create(ctx context.Context, record store.Instance, spec Spec, mark string) (Ensured, error) {
	id, err := r.opts.Machines.Create(ctx, spec, mark)
	if err != nil {
		return Ensured{}, err
	}
	record.ProviderSandboxID = id
	machine, err := r.opts.Machines.Open(ctx, id)
	if err == nil {
		err = prepare(ctx, machine, spec.Setup)
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx) // also when the lock was lost: another host may have made one
	}
	if err == nil {
		err = r.put(ctx, record)
	}
	if err == nil {
		return Ensured{Record: record, How: Created, Machine: machine}, nil
	}
	if undo := r.destroyMachine(ctx, id); undo != nil {
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), destroyWithin)
		defer cancel()
		err = errors.Join(err, fmt.Errorf("destroying it again: %w", undo), r.pend(detached, record))
	}
	return Ensured{}, err
}

// prepare runs the commands that a new sandbox begins with.
func prepare(ctx context.Context, machine Machine, setup []string) error {
	for i, command := range setup {
		_, code, err := machine.Exec(ctx, command)
		if err == nil && code != 0 {
			err = fmt.Errorf("it ended with exit code %d", code)
		}
		if err != nil {
			return fmt.Errorf("preparing the sandbox: setup command %d: %w", i+1, err)
		}
	}
	return nil
}

// destroyMachine ends a sandbox within its own time.
func (r *Runs) destroyMachine(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), destroyWithin)
	defer cancel()
	return r.opts.Machines.Destroy(ctx, id)
}

// Destroy ends the sandbox of a key, whoever uses it, and forgets it. A key that is not known is a
// success.
func (r *Runs) Destroy(ctx context.Context, key string) error {
	lock, err := r.lock(ctx, sandboxLock(key))
	if err != nil {
		return fmt.Errorf("destroying the sandbox of %s: %w", key, err)
	}
	defer lock.release()
	record, found, err := r.stores.Instances.Get(lock.ctx, key)
	if err != nil || !found {
		return err
	}
	return r.destroy(lock.ctx, record)
}

// destroy ends a recorded sandbox and forgets it. It is called under the sandbox's lock.
func (r *Runs) destroy(ctx context.Context, record store.Instance) error {
	if err := r.destroyMachine(ctx, record.ProviderSandboxID); err != nil {
		return fmt.Errorf("destroying sandbox %s: %w", record.ProviderSandboxID, err)
	}
	return r.forget(ctx, record)
}

// forget removes a record, if it is still of the same sandbox.
func (r *Runs) forget(ctx context.Context, record store.Instance) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), destroyWithin)
	defer cancel()
	var err error
	if r.stores.Instances.Features().Conditional {
		_, err = r.stores.Instances.DeleteIf(ctx, record.Key, record.ProviderSandboxID)
	} else {
		err = r.stores.Instances.Delete(ctx, record.Key)
	}
	if err != nil {
		return fmt.Errorf("forgetting sandbox %s: %w", record.ProviderSandboxID, err)
	}
	return nil
}

// What became of a sandbox that a run has no more use for.
const (
	ReclaimedDestroyed = "destroyed"
	ReclaimedNone      = "no-sandbox"
	ReclaimedInUse     = "in-use"
	ReclaimedForeign   = "provider-mismatch"
)

// reclaim destroys the sandbox of a run that has ended, unless others use it. Holding its lock, no other run
// can begin to. A sandbox that is to end with its runs is destroyed by the last one to end; another one is left to
// the run that began last, whose thread may go on in it.
func (r *Runs) reclaim(ctx context.Context, run store.Run, endsWithRuns bool) (string, error) {
	if run.SandboxKey == nil {
		return ReclaimedNone, nil
	}
	lock, err := r.lock(ctx, sandboxLock(*run.SandboxKey))
	if err != nil {
		return "", err
	}
	defer lock.release()
	record, found, err := r.stores.Instances.Get(lock.ctx, *run.SandboxKey)
	switch {
	case err != nil:
		return "", err
	case !found:
		return ReclaimedNone, nil
	case record.Provider != r.opts.Machines.Provider():
		return ReclaimedForeign, nil
	case deref(record.LatestRunID) != run.ID && !endsWithRuns:
		return ReclaimedInUse, nil // it is that run's to end it
	}
	used, err := r.inUse(lock.ctx, record, run.ID)
	if err != nil {
		return "", err
	}
	if used != "" {
		return ReclaimedInUse, nil
	}
	return ReclaimedDestroyed, r.destroy(lock.ctx, record)
}

// inUse says by whom a sandbox is used, besides a run; empty when by nobody.
func (r *Runs) inUse(ctx context.Context, record store.Instance, except string) (string, error) {
	if r.stores.Runs.Features().CountBySandbox {
		n, err := r.stores.Runs.CountBySandbox(ctx, record.Key, except)
		if err != nil || n == 0 {
			return "", err
		}
		return fmt.Sprintf("%d other runs", n), nil
	}
	// Without the count, the thread's active run is the best that can be known.
	run, found, err := r.stores.Runs.FindActive(ctx, record.ThreadID)
	if err != nil || !found || run.ID == except {
		return "", err
	}
	return "run " + run.ID, nil
}

func pending(record store.Instance) bool { return strings.HasPrefix(record.Key, pendingPrefix) }

// settled says that a record names the sandbox of a thread, and is no note of what is still to be done.
func settled(record store.Instance) bool { return !pending(record) && !announcing(record) }

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
