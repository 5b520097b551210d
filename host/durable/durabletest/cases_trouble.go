package durabletest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/internal/journal"
	"github.com/alineo-labs/alineo-host/host/store"
)

// troubleCases are about what a sweep, a takeover or a lease meets when something else goes wrong at that moment.
func troubleCases() []Case {
	swept := []Need{NeedFenced, NeedReclaim, NeedSecret, NeedSharing}
	return []Case{
		{Name: "RP-4", Rule: "the age of files decides to the second, one sweep deletes so many, and a store that doesn't answer keeps all", Needs: []Need{NeedList}, run: func(e *env) {
			m := e.pruned()
			e.files(m, "fresh.ndjson", "old-1.ndjson", "old-2.ndjson")
			e.sh(m, "cd /tmp/journals && touch -d '1 hour ago' old-1.ndjson old-2.ndjson")
			sweep := func(lookup func(context.Context, string) (journal.Standing, error)) *journal.Swept {
				return journal.Sweep(e.ctx, m, journal.SweepOptions{Dir: "/tmp/journals", OrphanTTL: 30 * time.Minute, MaxDeletes: 1, Lookup: lookup})
			}
			got := sweep(func(context.Context, string) (journal.Standing, error) { return journal.Unknown, errBroken })
			if len(got.Deleted) != 0 || len(got.Kept) != 3 || got.Kept[0].Reason != journal.KeptStoreError || len(got.Failures) != 3 {
				e.Errorf("without a store: %+v", got)
			}
			for i, want := range [][]string{{"old-1"}, {"old-2"}, nil} {
				got = sweep(lookup(nil))
				if !slices.Equal(got.Deleted, want) || !got.Aged || i == 0 && got.Kept[len(got.Kept)-1].Reason != journal.KeptMaxDeletes {
					e.Errorf("sweep %d did %+v", i, got)
				}
			}
			if len(got.Kept) != 1 || got.Kept[0].Reason != journal.KeptTooRecent {
				e.Errorf("at last: %+v", got.Kept)
			}
		}},
		{Name: "RP-18", Rule: "of a run whose sandbox can't be asked a sweep touches nothing, and says why", Needs: swept, run: func(e *env) {
			e.planted("run-1", "thread")
			before := e.run("run-1")
			s, err := e.host(func(o *durable.Options) { o.Machines = unreachable{e.site.Machines} }).Reap(e.ctx)
			e.must(err)
			if len(s.Runs) != 1 || s.Runs[0].Outcome != durable.OutcomeUnknown || !strings.Contains(s.Runs[0].Error, errBroken.Error()) {
				e.Errorf("the sweep did %+v", s.Runs)
			}
			if after := e.run("run-1"); after.DriverEpoch != nil || after.Status != before.Status {
				e.Errorf("the record is %+v", after)
			}
		}},
		{Name: "RP-19", Rule: "a run whose viewer comes back between a sweep's look and its claim is left alone", Needs: swept, run: func(e *env) {
			run, m := e.planted("run-1", "thread")
			e.plant(m, run, "sleep 300")
			s, err := e.host(func(o *durable.Options) {
				o.DetachedTTL = time.Nanosecond
				o.Stores.Runs = returning{o.Stores.Runs}
			}).Reap(e.ctx)
			e.must(err)
			if outcomes(s)["run-1"] != durable.OutcomeNotClaim {
				e.Errorf("the sweep did %+v", s.Runs)
			}
			run = e.run("run-1")
			e.wantStatus(run, store.RunRunning)
			if run.CancelRequested != nil || run.DriverEpoch != nil {
				e.Errorf("the record is %+v", run)
			}
		}},
		{Name: "RP-20", Rule: "a sweep that can't list the runs fails, and has touched none", Needs: swept, run: func(e *env) {
			run, m := e.planted("run-1", "thread")
			e.plant(m, run, "true")
			s, err := e.host(func(o *durable.Options) { o.Stores.Runs = unlisted{o.Stores.Runs} }).Reap(e.ctx)
			if !errors.Is(err, errBroken) || s == nil || s.Considered != 0 {
				e.Errorf("the sweep did %+v: %v", s, err)
			}
			if run := e.run("run-1"); run.DriverEpoch != nil {
				e.Errorf("the record is %+v", run)
			}
		}},
		{Name: "RP-21", Rule: "a run that takes too long to be finished is left to the next sweep", Needs: swept, run: func(e *env) {
			run, m := e.planted("run-1", "thread")
			j := e.plantedJournal(m, run)
			e.launch(m, j, "echo one")
			e.awaitExit(j, 0)
			s, err := e.host(func(o *durable.Options) {
				o.RunBudget = 3 * time.Second
				o.Stores.Log = stuckLog{o.Stores.Log}
			}).Reap(e.ctx)
			e.must(err)
			if outcomes(s)["run-1"] != durable.OutcomeBudget {
				e.Errorf("the sweep did %+v", s.Runs)
			}
			e.wantStatus(e.run("run-1"), store.RunRunning)
			s, err = e.host().Reap(e.ctx)
			e.must(err)
			if outcomes(s)["run-1"] != durable.OutcomeFinalized {
				e.Errorf("the next sweep did %+v", s.Runs)
			}
		}},
		{Name: "TK-13", Rule: "a journal that ends before the log does ends the run, and the log keeps what it has", Needs: []Need{NeedFenced, NeedSecret, NeedSharing}, run: func(e *env) {
			first := e.host()
			run := e.start(first, "run-1", "thread", gated)
			e.outputUntil(e.attach(first, "run-1", 0), "line 3\n")
			e.abandon(first)
			m := e.machineOf(run)
			e.sh(m, "touch /tmp/gate")
			e.eventually("the command ends", func() bool { return strings.Contains(e.sh(m, "cat /tmp/alineo-runs/run-1.ndjson"), "__exit") })
			e.sh(m, "sed -i 2,6d /tmp/alineo-runs/run-1.ndjson")
			out, _ := e.outputOf(e.host())
			e.wantText("the output", out, lines(1, 3))
			run = e.run("run-1")
			e.wantStatus(run, store.RunFailed)
			e.wantText("the error's code", run.Error.Code, durable.CodeDiverged)
		}},
		{Name: "LK-6", Rule: "a driver that can't renew its lease lets go, ends nothing, and another one goes on", Needs: []Need{NeedFenced, NeedLocks, NeedSharing}, run: func(e *env) {
			locks := &unrenewed{}
			first := e.host(func(o *durable.Options) {
				o.Lease = 3 * time.Second
				locks.Locks, o.Stores.Locks = o.Stores.Locks, locks
			})
			run := e.start(first, "run-1", "thread", gated)
			viewer := e.attach(first, "run-1", 0)
			e.outputUntil(viewer, "line 3\n")
			e.must(viewer.Close())
			locks.broken.Store(true)
			e.must(first.AwaitRelease(e.within(patience), "run-1"))
			e.wantStatus(e.run("run-1"), store.RunRunning)
			second := e.host()
			v := e.attach(second, "run-1", 0)
			e.sh(e.machineOf(run), "touch /tmp/gate")
			out, _ := e.rest(v)
			e.wantText("the output", out, lines(1, 6))
			e.wantStatus(e.ended("run-1"), store.RunCompleted)
		}},
		{Name: "FLOOR-noisy", Rule: "where nothing keeps the old driver out, a run whose log goes on growing is not taken over", Needs: []Need{NeedSharing, NeedSecret}, run: func(e *env) {
			e.planted("run-1", "thread")
			noisy := &noisyLog{}
			r := e.host(func(o *durable.Options) {
				noisy.RunLog = o.Stores.Log
				o.Stores.Log, o.Stores.Runs, o.AllowUnfenced, o.Quiet = noisy, unfenced{o.Stores.Runs}, true, 10*time.Millisecond
			})
			e.must(r.TakeOver(e.ctx, "run-1", true))
			e.must(r.AwaitRelease(e.ctx, "run-1"))
			e.wantStatus(e.run("run-1"), store.RunRunning)
			if noisy.reads.Load() < 2 {
				e.Errorf("the log was looked at %d times", noisy.reads.Load())
			}
			page, err := e.stores().Log.Read(e.ctx, "run-1", store.LogReadOptions{})
			e.must(err)
			if page.Tail != 0 || page.Closed {
				e.Errorf("the log is %+v", page)
			}
		}},
	}
}

// unreachable are machines that nobody knows whether they are there.
type unreachable struct{ durable.Machines }

func (unreachable) Open(context.Context, string) (durable.Machine, error) {
	return nil, fmt.Errorf("opening a sandbox: %w", errBroken)
}

// returning are runs whose viewer comes back as soon as somebody has listed them.
type returning struct{ store.Runs }

func (r returning) ListReclaimable(ctx context.Context, opts store.ReclaimOptions) (store.ReclaimPage, error) {
	page, err := r.Runs.ListReclaimable(ctx, opts)
	for _, run := range page.Runs {
		if _, patchErr := r.Patch(ctx, run.ID, store.RunPatch{Clear: []store.RunField{store.FieldDetachedSince}}); patchErr != nil {
			return page, patchErr
		}
	}
	return page, err
}

// unlisted are runs that can't be listed.
type unlisted struct{ store.Runs }

func (unlisted) ListReclaimable(context.Context, store.ReclaimOptions) (store.ReclaimPage, error) {
	return store.ReclaimPage{}, errBroken
}

// unfenced are runs that keep no old driver out.
type unfenced struct{ store.Runs }

func (u unfenced) Features() store.RunFeatures {
	features := u.Runs.Features()
	features.Fenced = false
	return features
}

// stuckLog is never done with an append of events.
type stuckLog struct{ store.RunLog }

func (s stuckLog) Append(ctx context.Context, batch store.LogAppend) (uint64, error) {
	if len(batch.Events) == 0 {
		return s.RunLog.Append(ctx, batch)
	}
	<-ctx.Done()
	return 0, context.Cause(ctx)
}

// noisyLog seems longer each time that it is read.
type noisyLog struct {
	store.RunLog
	reads atomic.Uint64
}

func (n *noisyLog) Read(ctx context.Context, id string, opts store.LogReadOptions) (store.LogPage, error) {
	page, err := n.RunLog.Read(ctx, id, opts)
	page.Tail += n.reads.Add(1)
	return page, err
}

// unrenewed are locks that can be taken and given back, and at some time not be renewed any more.
type unrenewed struct {
	store.Locks
	broken atomic.Bool
}

func (u *unrenewed) Renew(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
	if u.broken.Load() {
		return false, fmt.Errorf("%w: for the test", store.ErrUnavailable)
	}
	return u.Locks.Renew(ctx, key, token, ttl)
}
