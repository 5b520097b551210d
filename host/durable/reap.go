package durable

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/journal"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Outcome is what a sweep did about a run.
type Outcome string

// The outcomes.
const (
	OutcomeFinalized Outcome = "finalized"       // it had ended while nobody looked; the record says so now
	OutcomeExpired   Outcome = "expired"         // nobody came back in time; it was ended
	OutcomeCanceled  Outcome = "cancelled"       // a cancel was on record that no driver had seen
	OutcomeProducing Outcome = "producing"       // it goes on; nothing was touched
	OutcomeUnknown   Outcome = "unknown"         // its sandbox could not be asked; nothing was touched
	OutcomeNotClaim  Outcome = "not-claimed"     // another host has it, or its viewer came back
	OutcomeBudget    Outcome = "budget-exceeded" // it had ended, but took too long to be written down; the next sweep goes on
	OutcomeFailed    Outcome = "failed"          // something went wrong; the next sweep tries again
)

// Reaped is what a sweep did about one run.
type Reaped struct {
	RunID    string          `json:"runId"`
	Outcome  Outcome         `json:"outcome"`
	Status   store.RunStatus `json:"status,omitempty"` // terminal, when it has one now
	ExitCode *int            `json:"exitCode,omitempty"`
	Error    string          `json:"error,omitempty"`
}

// Sweep is what one sweep did.
type Sweep struct {
	Considered int             `json:"considered"` // runs that wait
	Probed     int             `json:"probed"`     // of which the sandbox was asked
	Orphans    int             `json:"orphans"`    // running without driver and viewer, now detached
	Outcomes   map[Outcome]int `json:"outcomes"`
	Runs       []Reaped        `json:"runs"`
	Machines   int             `json:"machines"` // that were to be destroyed before, and are now
	Idle       int             `json:"idle"`     // sandboxes that nobody used for too long, destroyed
	Deleted    int             `json:"deleted"`  // records that retention removed

	mu sync.Mutex
}

func (s *Sweep) add(run Reaped) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Outcomes[run.Outcome]++
	s.Runs = append(s.Runs, run)
}

const (
	sweepPage    = 50 // runs that are held at once
	sweepWorkers = 4  // runs that are looked after at once
)

// Reap sweeps once: it finishes runs that ended while nobody looked, ends those that nobody came back to in time
// or that are to be canceled, and reclaims their sandboxes, unless others use them. Of a run that goes on
// it touches nothing. It never waits for a lock. It may run on several hosts at once.
//
// The sweep is of use also with an error, which is about what it could not look at.
func (r *Runs) Reap(ctx context.Context) (*Sweep, error) {
	s := &Sweep{Outcomes: map[Outcome]int{}, Runs: []Reaped{}}
	switch features := r.stores.Runs.Features(); {
	case !features.ListReclaimable:
		r.log.Info("the store can't list runs that wait: nothing is swept")
		return s, nil
	case !r.fenced && !r.opts.AllowUnfenced:
		r.log.Info("nothing is swept", "err", ErrUnfenced)
		return s, nil
	}
	var errs []error
	errs = append(errs, r.adoptOrphans(ctx, s))
	for _, status := range [...]store.RunStatus{store.RunRunning, store.RunInterrupted} {
		errs = append(errs, r.reapAll(ctx, s, status))
	}
	errs = append(errs, r.destroyPending(ctx, s), r.destroyAnnounced(ctx, s), r.destroyIdle(ctx, s), r.retain(ctx, s))
	if err := errors.Join(errs...); err != nil {
		return s, fmt.Errorf("sweeping runs: %w", err)
	}
	return s, nil
}

// reapAll looks at all runs that wait in a status, the longest waiting first.
func (r *Runs) reapAll(ctx context.Context, s *Sweep, status store.RunStatus) error {
	ttl := r.opts.DetachedTTL
	if status == store.RunInterrupted {
		ttl = r.opts.InterruptedTTL
	}
	var cursor []byte
	for {
		page, err := r.stores.Runs.ListReclaimable(ctx, store.ReclaimOptions{Status: status, Cursor: cursor, Limit: sweepPage})
		if err != nil {
			return err
		}
		work := make(chan store.ReclaimableRun)
		var workers sync.WaitGroup
		for range min(sweepWorkers, len(page.Runs)) {
			workers.Go(func() {
				for run := range work {
					expired := page.Now-run.Since >= ttl.Milliseconds()
					if status == store.RunInterrupted && !expired && !isTrue(run.CancelRequested) {
						continue // a human is waited for
					}
					s.add(r.reap(ctx, s, run, expired, page.Now-ttl.Milliseconds()))
				}
			})
		}
		for _, run := range page.Runs {
			if !foreign(run.Run) {
				work <- run
			}
		}
		close(work)
		workers.Wait()
		s.Considered += len(page.Runs)
		if !page.More || ctx.Err() != nil {
			return context.Cause(ctx)
		}
		cursor = page.Cursor
	}
}

// reap looks after one run.
func (r *Runs) reap(ctx context.Context, s *Sweep, listed store.ReclaimableRun, expired bool, cutoff int64) Reaped {
	run := Reaped{RunID: listed.ID}
	canceled := isTrue(listed.CancelRequested)
	exit, err := r.probe(ctx, s, listed.Run)
	gone := errors.Is(err, ErrGone)
	switch {
	case expired, canceled, gone, err == nil && exit.Finished:
	case err != nil:
		run.Outcome, run.Error = OutcomeUnknown, err.Error()
		return run
	default:
		run.Outcome = OutcomeProducing
		return run
	}
	d, err := r.reclaimable(ctx, listed, expired && !canceled, cutoff)
	if err != nil {
		run.Outcome = OutcomeFailed
		if errors.Is(err, ErrDriven) || errors.Is(err, ErrEnded) || errors.Is(err, ErrSuperseded) || errors.Is(err, store.ErrNotFound) {
			run.Outcome = OutcomeNotClaim
		}
		run.Error = err.Error()
		return run
	}
	run.Outcome = OutcomeFinalized
	switch {
	case canceled:
		run.Outcome = OutcomeCanceled
		d.cancel(errCanceled)
	case expired:
		run.Outcome = OutcomeExpired
		if !exit.Finished && !gone {
			d.cancel(errExpired)
		}
	}
	return r.driveOut(ctx, d, run)
}

// driveOut drives a run that is to end, and says how it did.
func (r *Runs) driveOut(ctx context.Context, d *driver, run Reaped) Reaped {
	if err := r.begin(d, func(ctx context.Context) { d.takeOver(ctx) }); err != nil {
		run.Outcome, run.Error = OutcomeFailed, err.Error()
		if errors.Is(err, ErrDriven) {
			run.Outcome = OutcomeNotClaim
		}
		return run
	}
	budget := time.NewTimer(r.opts.RunBudget)
	defer budget.Stop()
	select {
	case <-d.done:
	case <-budget.C:
		d.cancel(errLetGo)
		run.Outcome = OutcomeBudget
		<-d.done
	case <-ctx.Done():
		d.cancel(errLetGo)
		<-d.done
	}
	switch {
	case d.ended != nil:
		run.Status, run.ExitCode = d.ended.Status, d.ended.ExitCode
		if run.Outcome == OutcomeExpired && d.ended.Status != store.RunAborted { // which has done so itself
			if _, err := r.reclaim(ctx, d.run, d.accepted.Destroy); err != nil && d.trouble == nil {
				d.trouble = fmt.Errorf("ending its sandbox: %w", err)
			}
		}
		if d.trouble != nil {
			run.Error = d.trouble.Error()
		}
	case run.Outcome != OutcomeBudget:
		run.Outcome = OutcomeNotClaim
		if d.trouble != nil {
			run.Outcome, run.Error = OutcomeFailed, d.trouble.Error()
		}
	}
	return run
}

// probe asks a run's sandbox whether its command has ended.
func (r *Runs) probe(ctx context.Context, s *Sweep, run store.Run) (journal.Exit, error) {
	s.mu.Lock()
	s.Probed++
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, r.opts.RunBudget)
	defer cancel()
	machine, err := r.machineOf(ctx, run)
	if err != nil {
		return journal.Exit{}, err
	}
	j, err := r.journal(ctx, machine, run.ID)
	if err != nil {
		return journal.Exit{}, err
	}
	return j.Probe(ctx)
}

// reclaimable claims a run for a sweep, unless somebody else looks after it. A run that this host drives and
// that nobody came back to is ended by its driver.
func (r *Runs) reclaimable(ctx context.Context, listed store.ReclaimableRun, expired bool, cutoff int64) (*driver, error) {
	if r.driverOf(listed.ID) != nil {
		if expired && r.unviewed(listed.ID) {
			r.cancelLocal(listed.ID, errExpired)
		}
		return nil, drivenHere{}
	}
	lock, err := r.driverLease(ctx, listed.ID, false)
	if err != nil {
		return nil, err
	}
	run, err := r.Get(lock.ctx, listed.ID)
	switch {
	case err != nil:
	case !drivable(run.Status):
		err = ErrEnded
	case expired && run.Status == store.RunRunning && (run.DetachedSince == nil || *run.DetachedSince > cutoff),
		listed.DetachedSince != nil && run.DetachedSince == nil:
		err = fmt.Errorf("%w: its viewer came back", ErrSuperseded)
	}
	var epoch uint64
	if err == nil {
		epoch, run, err = r.claim(lock.ctx, listed.ID)
	}
	if err == nil && expired {
		// Should this host die now, the next sweep knows what was meant.
		yes := true
		_, err = r.patchIf(lock.ctx, run, store.RunPatch{Set: store.RunFields{CancelRequested: &yes}})
	}
	if err != nil {
		lock.release()
		return nil, err
	}
	return r.newDriver(run, epoch, lock), nil
}

func (r *Runs) unviewed(runID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.local[runID]
	return p != nil && p.viewers == 0
}

// adoptOrphans finds runs that nobody drives and nobody said of that they are detached, as when driver and
// viewers were of one host that died, and says it.
func (r *Runs) adoptOrphans(ctx context.Context, s *Sweep) error {
	if !r.stores.Runs.Features().List {
		return nil
	}
	var cursor []byte
	for {
		page, err := r.stores.Runs.List(ctx, store.RunListOptions{Status: store.RunRunning, Cursor: cursor, Limit: sweepPage})
		if err != nil {
			return err
		}
		for _, run := range page.Runs {
			if run.DetachedSince != nil || run.SandboxKey == nil || foreign(run) {
				continue // it waits already, or is none of ours
			}
			orphan, err := r.adopt(ctx, run)
			if err != nil {
				return err
			}
			if orphan {
				s.Orphans++
			}
		}
		if !page.More {
			return nil
		}
		cursor = page.Cursor
	}
}

func (r *Runs) adopt(ctx context.Context, run store.Run) (bool, error) {
	lock, err := r.tryLock(ctx, driverLock(run.ID))
	if errors.Is(err, errBusy) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer lock.release()
	patch := store.RunPatch{Now: []store.RunField{store.FieldDetachedSince}}
	applied, err := r.patchIf(lock.ctx, run, patch) // not when it was claimed meanwhile
	if err != nil {
		return false, fmt.Errorf("saying that run %q is detached: %w", run.ID, err)
	}
	return applied, nil
}
