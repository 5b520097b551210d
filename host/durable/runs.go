package durable

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host/internal/journal"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Runs is one host's view of all durable runs. It is safe for concurrent use.
type Runs struct {
	opts   Options
	stores Stores
	locks  store.Locks
	log    hclog.Logger
	fenced bool // the store keeps superseded drivers out

	ctx  context.Context //nolint:containedctx // of what goes on when no call does; ends with Close
	stop context.CancelCauseFunc
	busy sync.WaitGroup

	mu     sync.Mutex // guards what follows
	closed bool
	local  map[string]*presence // by run id, those that are viewed or driven here
}

// New returns the runs of some stores. It does no I/O.
func New(opts Options) (*Runs, error) {
	if err := opts.fill(); err != nil {
		return nil, fmt.Errorf("opening durable runs: %w", err)
	}
	r := &Runs{opts: opts, stores: opts.Stores, locks: opts.Stores.Locks, log: opts.Logger, local: map[string]*presence{}}
	r.fenced = r.stores.Runs.Features().Fenced
	if !r.fenced && opts.Keep != KeepNothing {
		r.log.Warn("the store of runs can't keep a superseded driver from writing to a run's record: fencing is weaker",
			"allow_unfenced", opts.AllowUnfenced)
	}
	if r.stores.Log == nil {
		r.stores.Log = newOwnLog()
		r.log.Warn("the store has no logs: what a run prints is in the host that drives it, and nowhere else")
	}
	if r.locks == nil {
		r.locks = &ownLocks{held: map[string]string{}}
		if opts.Keep != KeepNothing {
			r.log.Warn("the store has no locks: hosts don't keep each other from making two sandboxes for a thread")
		}
	}
	r.ctx, r.stop = context.WithCancelCause(context.Background())
	return r, nil
}

// Close lets go of the runs that are driven here, so that another host can take them over at once, ends
// all viewers, and waits for that. Runs with KeepNothing end. The stores stay open. It is idempotent.
func (r *Runs) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop(errLetGo)
	done := make(chan struct{})
	go func() {
		r.busy.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("letting go of durable runs: %w", context.Cause(ctx))
	}
}

// Get returns a run's record, or store.ErrNotFound.
func (r *Runs) Get(ctx context.Context, runID string) (store.Run, error) {
	run, found, err := r.stores.Runs.Get(ctx, runID)
	if err == nil && !found {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Run{}, fmt.Errorf("getting run %q: %w", runID, err)
	}
	return run, nil
}

// Find returns the running run of a thread that started last, or store.ErrNotFound.
func (r *Runs) Find(ctx context.Context, threadID string) (store.Run, error) {
	run, found, err := r.stores.Runs.FindActive(ctx, threadID)
	if err == nil && !found {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Run{}, fmt.Errorf("finding the active run of thread %q: %w", threadID, err)
	}
	return run, nil
}

// List pages through all runs, newest first. A store that can't list them is store.ErrUnsupported.
func (r *Runs) List(ctx context.Context, opts store.RunListOptions) (store.RunPage, error) {
	page, err := r.stores.Runs.List(ctx, opts)
	if err != nil {
		return store.RunPage{}, fmt.Errorf("listing runs: %w", err)
	}
	return page, nil
}

// Stores returns where everything is, for an API that serves the stores themselves.
func (r *Runs) Stores() Stores {
	s := r.stores
	s.Locks = r.locks
	return s
}

// Cancel asks for a run's end. Its driver, wherever it is, sees that within a second; when there is none,
// this host becomes it. The run's sandbox is destroyed, unless other runs use it. A run that has ended is
// ErrEnded, one that isn't known store.ErrNotFound.
func (r *Runs) Cancel(ctx context.Context, runID string) error {
	fail := func(err error) error { return fmt.Errorf("canceling run %q: %w", runID, err) }
	run, err := r.Get(ctx, runID)
	if err != nil {
		return fail(err)
	}
	if run.Status.Terminal() {
		return fail(ErrEnded)
	}
	yes := true
	if _, err := r.stores.Runs.Patch(ctx, runID, store.RunPatch{Set: store.RunFields{CancelRequested: &yes}}); err != nil {
		return fail(err)
	}
	if r.cancelLocal(runID, errCanceled) {
		return nil
	}
	// A run without a driver is ended from here. Where that is not possible, the request stands.
	err = r.takeOver(ctx, runID, false)
	if err == nil || errors.Is(err, ErrDriven) || errors.Is(err, ErrEnded) {
		return nil
	}
	r.log.Warn("a run is to be canceled that has no driver; the sweep will see to it", "run", runID, "err", err)
	return nil
}

// cancelLocal ends a drive of this host's, if there is one.
func (r *Runs) cancelLocal(runID string, cause error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.local[runID]
	if p == nil || p.driver == nil {
		return false
	}
	p.driver.cancel(cause)
	return true
}

// Emit adds an event of the caller's own to a run's log and returns its offset. Kinds that begin with
// run. or output are refused. A run that has ended is ErrEnded.
func (r *Runs) Emit(ctx context.Context, runID, kind string, data []byte) (uint64, error) {
	fail := func(err error) (uint64, error) {
		return 0, fmt.Errorf("emitting %q to run %q: %w", kind, runID, err)
	}
	if err := checkKind(kind); err != nil {
		return fail(err)
	}
	for {
		run, err := r.Get(ctx, runID)
		if err != nil {
			return fail(err)
		}
		if run.Status.Terminal() {
			return fail(ErrEnded)
		}
		offset, err := r.stores.Log.Append(ctx, store.LogAppend{
			RunID: runID, Epoch: epochOf(run), Events: []store.LogEvent{{Kind: kind, Data: data}},
		})
		var refused *store.LogError
		switch {
		case err == nil:
			r.wake(runID)
			return offset, nil
		case errors.As(err, &refused) && refused.Closed:
			return fail(ErrEnded)
		case errors.As(err, &refused):
			if err := pause(ctx, r.opts.ViewPoll/10); err != nil { // another driver has just begun
				return fail(err)
			}
		default:
			return fail(err)
		}
	}
}

func epochOf(run store.Run) uint64 {
	if run.DriverEpoch == nil {
		return 0
	}
	return *run.DriverEpoch
}

// checkID refuses ids that can't be kept.
func checkID(what, id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%w: the %s has no id", store.ErrInvalid, what)
	case len(id) > 1024:
		return fmt.Errorf("%w: the id of the %s has %d bytes, more than 1024", store.ErrInvalid, what, len(id))
	case !utf8.ValidString(id):
		return fmt.Errorf("%w: the id of the %s is not UTF-8", store.ErrInvalid, what)
	}
	for _, c := range id {
		if c < ' ' || c == 0x7f {
			return fmt.Errorf("%w: the id of the %s has a control character", store.ErrInvalid, what)
		}
	}
	return nil
}

// journal names a run's journal in a machine.
func (r *Runs) journal(ctx context.Context, machine Machine, runID string) (*journal.Journal, error) {
	nonce, err := r.nonce(ctx, runID)
	if err != nil {
		return nil, err
	}
	var opts []journal.Option
	if r.opts.PollJournal {
		opts = append(opts, journal.Polling(journal.DefaultPoll))
	}
	return journal.New(machine, r.opts.JournalDir, runID, nonce, opts...)
}
