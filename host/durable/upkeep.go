package durable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/journal"
	"github.com/alineo-labs/alineo-host/host/store"
)

// destroyPending tries again to destroy sandboxes that could not be destroyed before.
func (r *Runs) destroyPending(ctx context.Context, s *Sweep) error {
	var errs []error
	err := r.eachInstance(ctx, func(record store.Instance) {
		if !pending(record) || record.Provider != r.opts.Machines.Provider() {
			return
		}
		if err := r.destroy(ctx, record); err != nil {
			errs = append(errs, err)
			return
		}
		s.Machines++
	})
	return errors.Join(append(errs, err)...)
}

// destroyIdle ends the sandboxes that no run has used for too long.
func (r *Runs) destroyIdle(ctx context.Context, s *Sweep) error {
	if r.opts.SandboxTTL == 0 {
		return nil
	}
	var errs []error
	err := r.eachInstance(ctx, func(record store.Instance) {
		if !settled(record) || record.Provider != r.opts.Machines.Provider() {
			return
		}
		destroyed, err := r.destroyIfIdle(ctx, record.Key)
		if err != nil {
			errs = append(errs, err)
		}
		if destroyed {
			s.Idle++
		}
	})
	return errors.Join(append(errs, err)...)
}

func (r *Runs) destroyIfIdle(ctx context.Context, key string) (bool, error) {
	lock, err := r.tryLock(ctx, sandboxLock(key))
	if errors.Is(err, errBusy) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer lock.release()
	record, found, err := r.stores.Instances.Get(lock.ctx, key)
	if err != nil || !found || time.Duration(lock.now-record.UpdatedAt)*time.Millisecond < r.opts.SandboxTTL {
		return false, err
	}
	used, err := r.inUse(lock.ctx, record, "")
	if err != nil || used != "" {
		return false, err
	}
	return true, r.destroy(lock.ctx, record)
}

// eachInstance goes through all records, where the store can list them.
func (r *Runs) eachInstance(ctx context.Context, each func(store.Instance)) error {
	if !r.stores.Instances.Features().List {
		return nil
	}
	var cursor []byte
	for {
		page, err := r.stores.Instances.List(ctx, store.InstanceListOptions{Cursor: cursor, Limit: sweepPage})
		if err != nil {
			return fmt.Errorf("listing sandboxes: %w", err)
		}
		for _, record := range page.Instances {
			each(record)
		}
		if !page.More || ctx.Err() != nil {
			return context.Cause(ctx)
		}
		cursor = page.Cursor
	}
}

// retain deletes the records and logs of runs that ended longer ago than they are to be kept, but not before
// their sandbox is gone or another's.
func (r *Runs) retain(ctx context.Context, s *Sweep) error {
	features := r.stores.Runs.Features()
	if r.opts.Retention == 0 || !features.List || !features.Delete {
		return nil
	}
	clock, err := r.stores.Runs.ListReclaimable(ctx, store.ReclaimOptions{Limit: 1})
	if err != nil {
		return err
	}
	before := clock.Now - r.opts.Retention.Milliseconds()
	var cursor []byte
	for {
		page, err := r.stores.Runs.List(ctx, store.RunListOptions{FinishedBefore: &before, Cursor: cursor, Limit: sweepPage})
		if err != nil {
			return err
		}
		for _, run := range page.Runs {
			deleted, err := r.expunge(ctx, run)
			if err != nil {
				return err
			}
			if deleted {
				s.Deleted++
			}
		}
		if !page.More {
			return nil
		}
		cursor = page.Cursor
	}
}

func (r *Runs) expunge(ctx context.Context, run store.Run) (bool, error) {
	if !run.Status.Terminal() {
		return false, nil
	}
	if run.SandboxKey != nil {
		record, found, err := r.stores.Instances.Get(ctx, *run.SandboxKey)
		if err != nil {
			return false, err
		}
		if found && deref(record.LatestRunID) == run.ID {
			return false, nil // its record is what names the sandbox's last user
		}
	}
	return r.remove(ctx, run.ID)
}

// remove deletes the log and the record of a run that has ended.
func (r *Runs) remove(ctx context.Context, runID string) (bool, error) {
	if r.stores.Log.Features().Truncate {
		if err := r.stores.Log.Truncate(ctx, runID); err != nil {
			return false, fmt.Errorf("removing the log of run %q: %w", runID, err)
		}
	}
	deleted, err := r.stores.Runs.Delete(ctx, runID)
	if err != nil {
		return false, fmt.Errorf("deleting run %q: %w", runID, err)
	}
	return deleted, nil
}

// Delete removes the record and the log of a run that has ended, and returns whether it was there. One that
// has not ended is store.ErrConflict.
func (r *Runs) Delete(ctx context.Context, runID string) (bool, error) {
	run, found, err := r.stores.Runs.Get(ctx, runID)
	switch {
	case err != nil:
		return false, fmt.Errorf("deleting run %q: %w", runID, err)
	case !found:
		return false, nil
	case !run.Status.Terminal():
		return false, fmt.Errorf("deleting run %q: %w: it has not ended", runID, store.ErrConflict)
	}
	return r.remove(ctx, runID)
}

// PrunedJournals is what was done about the journals in one sandbox.
type PrunedJournals = journal.Swept

// PruneJournals deletes, in all sandboxes that are known, the journals of runs that have ended, and old ones of
// runs that nobody knows. It says by sandbox what it did; what went wrong with one keeps its files.
func (r *Runs) PruneJournals(ctx context.Context) (map[string]*PrunedJournals, error) {
	swept := map[string]*PrunedJournals{}
	err := r.eachInstance(ctx, func(record store.Instance) {
		if !settled(record) || record.Provider != r.opts.Machines.Provider() {
			return
		}
		machine, err := r.opts.Machines.Open(ctx, record.ProviderSandboxID)
		if err != nil {
			r.log.Debug("no journals are pruned in a sandbox", "sandbox", record.ProviderSandboxID, "err", err)
			return
		}
		swept[record.ProviderSandboxID] = r.prune(ctx, machine)
	})
	return swept, err
}

func (r *Runs) prune(ctx context.Context, machine Machine) *journal.Swept {
	return journal.Sweep(ctx, machine, journal.SweepOptions{
		Dir: r.opts.JournalDir,
		Lookup: func(ctx context.Context, runID string) (journal.Standing, error) {
			run, found, err := r.stores.Runs.Get(ctx, runID)
			switch {
			case err != nil:
				return journal.Unknown, err
			case !found:
				return journal.Unknown, nil
			case !run.Status.Terminal():
				return journal.Open, nil
			case r.opts.Keep != KeepEverything:
				return journal.Unknown, nil // viewers read from it: it has the time of an orphan
			}
			return journal.Ended, nil
		},
	})
}

// pruneEvery is how often the loop prunes journals.
const pruneEvery = time.Hour

// ReapLoop sweeps again and again, about every so often, until ctx ends or r is closed, and returns nil then.
// What goes wrong in one sweep is logged, and tried again by the next.
func (r *Runs) ReapLoop(ctx context.Context, every time.Duration) error {
	if every <= 0 {
		return fmt.Errorf("sweeping runs every %s: %w", every, store.ErrInvalid)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	pruned := time.Now()
	for {
		// Hosts that were started together don't sweep together.
		if err := pause(ctx, every*4/5+jitter(every*2/5)); err != nil {
			return nil //nolint:nilerr // that is how it ends
		}
		s, err := r.Reap(ctx)
		if err != nil && ctx.Err() == nil {
			r.log.Error("a sweep of runs did not get through", "err", err)
		}
		// Of runs that only go on there is nothing to say each time.
		if n := len(s.Runs) - s.Outcomes[OutcomeProducing]; n+s.Orphans+s.Machines+s.Idle+s.Deleted > 0 {
			r.log.Info("swept runs", "considered", s.Considered, "outcomes", s.Outcomes, "orphans", s.Orphans, "deleted", s.Deleted)
		}
		if time.Since(pruned) > pruneEvery {
			pruned = time.Now()
			if _, err := r.PruneJournals(ctx); err != nil && ctx.Err() == nil {
				r.log.Error("journals were not pruned", "err", err)
			}
		}
	}
}
