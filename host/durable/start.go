package durable

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// maxCommand is how long a command may be: what a kernel passes in one argument, less the quoting.
const maxCommand = 96 << 10

// StartOptions say what to run.
type StartOptions struct {
	// RunID is the caller's, new for each run. Whoever starts again with it, because the answer was lost,
	// gets ErrExists and can attach.
	RunID    string
	ThreadID string
	Command  string // shell text
	Shell    string // default /bin/sh
	Cwd      string // must exist; empty: the sandbox's own
	// Env is on top of the sandbox's, for this command; it is stored nowhere, so it may hold secrets.
	Env  map[string]string
	Spec Spec
}

func (o *StartOptions) check() error {
	if err := checkID("run", o.RunID); err != nil {
		return err
	}
	if err := checkID("thread", o.ThreadID); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(o.Command) == "":
		return fmt.Errorf("%w: the command is empty", store.ErrInvalid)
	case strings.ContainsRune(o.Command, 0):
		return fmt.Errorf("%w: the command has a NUL", store.ErrInvalid)
	case len(o.Command)+3*strings.Count(o.Command, "'") > maxCommand:
		return fmt.Errorf("%w: the command has %d bytes, more than %d (put it into a file of the sandbox)", store.ErrInvalid, len(o.Command), maxCommand)
	case o.Spec.Reuse != ReuseThread && o.Spec.Reuse != ReuseNone:
		return fmt.Errorf("%w: a sandbox is reused by a thread (%q) or by nobody (%q), not %q", store.ErrInvalid, ReuseThread, ReuseNone, o.Spec.Reuse)
	}
	return nil
}

// Start begins a run, driven by this host, and returns as soon as it is recorded and claimed: its sandbox may
// take a while, and viewers can attach meanwhile. The run goes on when ctx ends.
//
// Until somebody attaches, the run counts as detached. An id that was used before is ErrExists.
func (r *Runs) Start(ctx context.Context, opts StartOptions) (store.Run, error) {
	fail := func(err error) (store.Run, error) {
		return store.Run{}, fmt.Errorf("starting run %q: %w", opts.RunID, err)
	}
	if err := opts.check(); err != nil {
		return fail(err)
	}
	if opts.Shell == "" {
		opts.Shell = sandbox.DefaultShell
	}
	key, err := Key(r.opts.Machines.Provider(), opts.ThreadID, opts.RunID, opts.Spec)
	if err != nil {
		return fail(err)
	}
	lock, err := r.driverLease(ctx, opts.RunID, false)
	if errors.Is(err, ErrDriven) {
		return fail(fmt.Errorf("%w: %w", ErrExists, err))
	}
	if err != nil {
		return fail(err)
	}
	d, err := r.record(ctx, lock, key, opts)
	if err != nil {
		lock.release()
		return fail(err)
	}
	if err := r.begin(d, func(ctx context.Context) { d.first(ctx, opts) }); err != nil {
		return fail(err)
	}
	return d.run, nil
}

// record records a run and claims it.
func (r *Runs) record(ctx context.Context, lock *lease, key string, opts StartOptions) (*driver, error) {
	fresh := store.NewRun{ID: opts.RunID, ThreadID: opts.ThreadID, SandboxKey: &key}
	if r.stores.Runs.Features().Secret {
		fresh.Secret = newSecret()
	}
	_, made, err := r.stores.Runs.CreateOrGet(ctx, fresh)
	if err != nil {
		return nil, err
	}
	if !made {
		return nil, ErrExists
	}
	// Whatever happens from here on, a sweep will find the run.
	patch := store.RunPatch{Now: []store.RunField{store.FieldDetachedSince}}
	if _, err := r.stores.Runs.Patch(ctx, opts.RunID, patch); err != nil {
		return nil, err
	}
	epoch, run, err := r.claim(ctx, opts.RunID)
	if err != nil {
		return nil, err
	}
	if epoch != 1 {
		return nil, fmt.Errorf("%w: another host began to drive it", ErrExists)
	}
	return r.newDriver(run, epoch, lock), nil
}

// Interrupt says that a run waits for a human: it isn't its thread's active run then, and a sweep gives it
// another time. Its command goes on, and so does its driver.
func (r *Runs) Interrupt(ctx context.Context, runID string) error {
	return r.move(ctx, runID, store.RunInterrupted)
}

// Resume says that an interrupted run goes on.
func (r *Runs) Resume(ctx context.Context, runID string) error {
	return r.move(ctx, runID, store.RunRunning)
}

func (r *Runs) move(ctx context.Context, runID string, to store.RunStatus) error {
	for {
		run, err := r.Get(ctx, runID)
		if err == nil && run.Status.Terminal() {
			err = ErrEnded
		}
		if err != nil {
			return fmt.Errorf("making run %q %s: %w", runID, to, err)
		}
		applied, err := r.patchIf(ctx, run, store.RunPatch{Set: store.RunFields{Status: &to}})
		if err != nil {
			return fmt.Errorf("making run %q %s: %w", runID, to, err)
		}
		if applied {
			return nil
		}
	}
}

// patchIf patches a run if it has the epoch of the record that is given, and has not ended. Where the store
// isn't fenced, it is a look and a write.
func (r *Runs) patchIf(ctx context.Context, run store.Run, patch store.RunPatch) (bool, error) {
	if run.DriverEpoch == nil {
		// It was never claimed, and what was never claimed has not ended.
		return r.stores.Runs.Patch(ctx, run.ID, patch)
	}
	if r.fenced {
		result, err := r.stores.Runs.PatchIf(ctx, run.ID, epochOf(run), patch)
		return result.Applied, err
	}
	now, err := r.Get(ctx, run.ID)
	if err != nil || now.Status.Terminal() || epochOf(now) != epochOf(run) {
		return false, err
	}
	return r.stores.Runs.Patch(ctx, run.ID, patch)
}
