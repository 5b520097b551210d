package durabletest

import (
	"errors"
	"os"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/internal/journal"
	"github.com/alineo-labs/alineo-host/host/store"
)

func (e *env) plantedJournal(m durable.Machine, run store.Run) *journal.Journal {
	e.Helper()
	nonce, err := journal.NewNonce([]byte("0123456789abcdef"))
	e.must(err)
	j, err := journal.New(m, journal.DefaultDir, run.ID, nonce)
	e.must(err)
	return j
}

func reapCases() []Case {
	swept := []Need{NeedFenced, NeedReclaim, NeedSecret, NeedSharing}
	return []Case{
		{Name: "RP-1", Rule: "pruning deletes the journals of runs that have ended, and no others", Needs: []Need{NeedList}, run: func(e *env) {
			m := e.pruned()
			e.files(m, "ended.ndjson", "ended.err", "open.ndjson", "open.err")
			got := e.prune(m, map[string]journal.Standing{"ended": journal.Ended, "open": journal.Open})
			if !slices.Equal(got.Deleted, []string{"ended"}) || len(got.Kept) != 1 || got.Kept[0].Reason != journal.KeptNotEnded || got.Failures != nil {
				e.Errorf("got %+v", got)
			}
			e.wantText("what is left", e.sh(m, "ls /tmp/journals"), "open.err\nopen.ndjson\n")
		}},
		{Name: "RP-2", Rule: "pruning again finds nothing to do", Needs: []Need{NeedList}, run: func(e *env) {
			m := e.pruned()
			e.files(m, "ended.ndjson")
			standings := map[string]journal.Standing{"ended": journal.Ended}
			if got := e.prune(m, standings); len(got.Deleted) != 1 {
				e.Errorf("first: %+v", got)
			}
			if got := e.prune(m, standings); got.Listed != 0 || got.RunIDs != 0 || got.Deleted != nil || got.Kept != nil || got.Failures != nil {
				e.Errorf("again: %+v", got)
			}
		}},
		{Name: "RP-3", Rule: "a file that belongs to no run is kept", Needs: []Need{NeedList}, run: func(e *env) {
			m := e.pruned()
			e.files(m, "ended.ndjson", "foreign_zz.ndjson")
			got := e.prune(m, map[string]journal.Standing{"ended": journal.Ended})
			if len(got.Kept) != 1 || got.Kept[0].Reason != journal.KeptUndecodable || got.Kept[0].RunID != "" {
				e.Errorf("got %+v", got)
			}
			e.wantText("what is left", e.sh(m, "ls /tmp/journals"), "foreign_zz.ndjson\n")
		}},
		{Name: "RP-5", Rule: "an empty directory is seen to be empty", Needs: []Need{NeedList}, run: func(e *env) {
			m := e.pruned()
			if got := e.prune(m, nil); got.Listed != 0 || !got.Aged || got.Failures != nil {
				e.Errorf("got %+v", got)
			}
		}},
		{Name: "RP-6", Rule: "of runs that nobody knows, only old files are deleted", Needs: []Need{NeedList}, run: func(e *env) {
			m := e.pruned()
			e.files(m, "old.ndjson", "old.err", "new.ndjson", "both.ndjson", "both.err")
			e.sh(m, "cd /tmp/journals && touch -d '2 hours ago' old.ndjson old.err both.err")
			got := e.prune(m, nil)
			if !slices.Equal(got.Deleted, []string{"old"}) || len(got.Kept) != 2 || got.Kept[0].Reason != journal.KeptTooRecent || got.Failures != nil {
				e.Errorf("got %+v", got)
			}
		}},
		{Name: "RP-7", Rule: "a run whose command ended while nobody looked is finished by a sweep", Needs: swept, run: func(e *env) {
			first := e.host()
			run := e.start(first, "run-1", "thread", gated)
			e.outputUntil(e.attach(first, "run-1", 0), "line 3\n")
			e.abandon(first)
			e.eventually("it is detached", func() bool { return e.run("run-1").DetachedSince != nil })
			since := *e.run("run-1").DetachedSince
			m := e.machineOf(run)
			e.sh(m, "touch /tmp/gate")
			e.eventually("the command ends", func() bool { return strings.Contains(e.sh(m, "cat /tmp/alineo-runs/run-1.ndjson"), "__exit") })
			r := e.host()
			s, err := r.Reap(e.ctx)
			e.must(err)
			zero := 0
			want := durable.Reaped{RunID: "run-1", Outcome: durable.OutcomeFinalized, Status: store.RunCompleted, ExitCode: &zero}
			if s.Considered != 1 || s.Probed != 1 || len(s.Runs) != 1 || !reflect.DeepEqual(s.Runs[0], want) {
				e.Errorf("the sweep did %+v", s.Runs)
			}
			out, _ := e.outputOf(r)
			e.wantText("the output", out, lines(1, 6))
			run = e.run("run-1")
			e.wantStatus(run, store.RunCompleted)
			if run.DetachedSince == nil || *run.DetachedSince != since {
				e.Errorf("it was detached at %d, and now at %v", since, run.DetachedSince)
			}
		}},
		{Name: "RP-8", Rule: "of a detached run that goes on, a sweep touches nothing", Needs: swept, run: func(e *env) {
			run, m := e.planted("run-1", "thread")
			e.plant(m, run, "echo one; sleep 300")
			e.eventually("the first line", func() bool {
				return strings.Contains(e.sh(m, "cat /tmp/alineo-runs/run-1.ndjson 2>/dev/null || :"), "one")
			})
			before := e.run("run-1")
			s, err := e.host().Reap(e.ctx)
			e.must(err)
			if len(s.Runs) != 1 || s.Runs[0] != (durable.Reaped{RunID: "run-1", Outcome: durable.OutcomeProducing}) {
				e.Errorf("the sweep did %+v", s.Runs)
			}
			if after := e.run("run-1"); !reflect.DeepEqual(after, before) || after.DriverEpoch != nil {
				e.Errorf("the record was %+v and is %+v", before, after)
			}
			page, err := e.stores().Log.Read(e.ctx, "run-1", store.LogReadOptions{})
			e.must(err)
			if page.Tail != 0 || page.Closed || page.Epoch != 0 {
				e.Errorf("the log is %+v", page)
			}
		}},
		{Name: "RP-9", Rule: "a run's id is data, wherever it goes", Needs: swept, run: func(e *env) {
			const id = "a/../b; $(touch /tmp/canary) `touch /tmp/canary` ' \" é"
			r := e.host()
			run := e.start(r, id, "thread", "echo one; echo two >&2; until [ -e /tmp/gate ]; do sleep 0.05; done")
			e.outputUntil(e.attach(r, id, 0), "one\n")
			m := e.machineOf(run)
			names := strings.Fields(e.sh(m, "ls -A /tmp/alineo-runs"))
			if len(names) != 2 {
				e.Errorf("the directory has %q", names)
			}
			for _, name := range names {
				if got, err := journal.DecodeFile(name); err != nil || got != id || path.Base(name) != name {
					e.Errorf("%q belongs to %q: %v", name, got, err)
				}
			}
			e.sh(m, "touch /tmp/gate")
			e.wantStatus(e.ended(id), store.RunCompleted)
			if !e.missing(m, "/tmp/canary") {
				e.Errorf("the id was run")
			}
		}},
		{Name: "RP-10", Rule: "a run that nobody came back to in time is ended, with its sandbox", Needs: swept, run: func(e *env) {
			run, m := e.planted("run-1", "thread")
			e.plant(m, run, "echo one; sleep 300")
			s, err := e.host(func(o *durable.Options) { o.DetachedTTL = time.Nanosecond }).Reap(e.ctx)
			e.must(err)
			if outcomes(s)["run-1"] != durable.OutcomeExpired {
				e.Errorf("the sweep did %+v", s.Runs)
			}
			run = e.run("run-1")
			e.wantStatus(run, store.RunAborted)
			if run.Error.Code != durable.CodeExpired || run.CancelRequested != nil {
				e.Errorf("the record is %+v", run)
			}
			if _, err := e.site.Machines.Open(e.ctx, m.ID()); !errors.Is(err, durable.ErrGone) {
				e.Errorf("the sandbox is there: %v", err)
			}
		}},
		{Name: "RP-11", Rule: "a cancel that no driver saw is carried out by a sweep", Needs: swept, run: func(e *env) {
			run, m := e.planted("run-1", "thread")
			e.plant(m, run, "echo one; sleep 300")
			yes := true
			_, err := e.stores().Runs.Patch(e.ctx, "run-1", store.RunPatch{Set: store.RunFields{CancelRequested: &yes}})
			e.must(err)
			s, err := e.host().Reap(e.ctx)
			e.must(err)
			if outcomes(s)["run-1"] != durable.OutcomeCanceled {
				e.Errorf("the sweep did %+v", s.Runs)
			}
			e.wantStatus(e.run("run-1"), store.RunAborted)
		}},
		{Name: "RP-12", Rule: "a run whose driver and viewers died at once is found, and is detached since then", Needs: append(swept, NeedList, NeedLocks), run: func(e *env) {
			run, m := e.planted("run-1", "thread")
			e.plant(m, run, "sleep 300")
			_, err := e.stores().Runs.Patch(e.ctx, "run-1", store.RunPatch{Clear: []store.RunField{store.FieldDetachedSince}})
			e.must(err)
			s, err := e.host().Reap(e.ctx)
			e.must(err)
			if s.Orphans != 1 || e.run("run-1").DetachedSince == nil {
				e.Errorf("%d orphans", s.Orphans)
			}
		}},
		{Name: "RP-13", Rule: "records and logs go when they are old enough, and only then", Needs: append(swept, NeedRetain, NeedList), run: func(e *env) {
			r := e.host()
			e.start(r, "run-1", "thread", "echo one")
			e.ended("run-1")
			e.start(r, "run-2", "thread", "echo two") // the sandbox is its now
			e.ended("run-2")
			s, err := e.host().Reap(e.ctx)
			e.must(err)
			long, err := e.host(func(o *durable.Options) { o.Retention = time.Hour }).Reap(e.ctx)
			e.must(err)
			if s.Deleted+long.Deleted != 0 {
				e.Errorf("without retention %d were deleted, within it %d", s.Deleted, long.Deleted)
			}
			e.pause(5 * time.Millisecond)
			short, err := e.host(func(o *durable.Options) { o.Retention = time.Millisecond }).Reap(e.ctx)
			e.must(err)
			if _, err := r.Get(e.ctx, "run-1"); !errors.Is(err, store.ErrNotFound) || short.Deleted != 1 {
				e.Errorf("%d were deleted, and run-1 is %v", short.Deleted, err)
			}
			e.run("run-2") // it names the sandbox's last user
		}},
		{Name: "RP-15", Rule: "one sweep settles many runs that were left at once, and a lock that is held keeps only its own", Needs: append(swept, NeedLocks), run: func(e *env) {
			n := 20
			if os.Getenv("ALINEO_CHAOS_ROUNDS") != "" {
				n = 200
			}
			run, m := e.planted("run-0", "thread")
			all := []store.Run{run}
			for i := 1; i < n; i++ {
				all = append(all, e.recorded("run-"+itoa(i), "thread", *run.SandboxKey))
			}
			for _, run := range all {
				e.plant(m, run, "seq 1 200")
			}
			for _, run := range all {
				e.awaitExit(e.plantedJournal(m, run), 0)
			}
			held, err := e.stores().Locks.TryAcquire(e.ctx, "run-driver:run-7", "somebody", time.Hour)
			e.must(err)
			if !held.Acquired {
				e.fatalf("the lock is not to be had")
			}
			before := heap()
			s, err := e.host().Reap(e.ctx)
			e.must(err)
			if s.Considered != n || s.Outcomes[durable.OutcomeFinalized] != n-1 || s.Outcomes[durable.OutcomeNotClaim] != 1 {
				e.Errorf("the sweep did %v", s.Outcomes)
			}
			// The logs have about as many bytes as events; what stays is the report.
			if grown := heap() - before; grown > 64<<20 {
				e.Errorf("the sweep took %d bytes", grown)
			}
			page, err := e.stores().Log.Read(e.ctx, "run-"+itoa(n-1), store.LogReadOptions{})
			e.must(err)
			if page.Tail != 202 || !page.Closed { // with its first and its last
				e.Errorf("a log has %d events", page.Tail)
			}
		}},
		{Name: "RP-16", Rule: "a sweep ends a run that its own host drives, also under locks that exclude nobody, and doesn't wait for itself", Needs: swept, run: func(e *env) {
			r := e.host(func(o *durable.Options) {
				o.DetachedTTL, o.RunBudget, o.Stores.Locks = time.Nanosecond, time.Second, grantAll{}
			})
			e.start(r, "run-1", "thread", "echo one; sleep 300")
			e.machineOf(e.run("run-1"))
			swept := make(chan error, 1)
			go func() {
				_, err := r.Reap(e.ctx)
				swept <- err
			}()
			select {
			case err := <-swept:
				e.must(err)
			case <-e.within(patience).Done():
				e.fatalf("the sweep never ends")
			}
			run := e.ended("run-1")
			e.must(r.AwaitRelease(e.ctx, "run-1"))
			e.wantStatus(run, store.RunAborted)
			if *run.DriverEpoch != 1 {
				e.Errorf("the sweep took the run from its own host: epoch %d", *run.DriverEpoch)
			}
		}},
		{Name: "RP-17", Rule: "a sandbox whose host died before it recorded it is destroyed by a sweep, and not while its host lives", Needs: append(swept, NeedList, NeedLocks), run: func(e *env) {
			muted := &mutedMachines{Machines: e.site.Machines, made: make(chan string, 1)}
			first := e.host(func(o *durable.Options) { o.Machines = muted })
			run := e.start(first, "run-1", "thread", "echo never")
			var id string
			select {
			case id = <-muted.made:
			case <-e.within(patience).Done():
				e.fatalf("no sandbox was made")
			}
			r := e.host()
			s, err := r.Reap(e.ctx)
			e.must(err)
			_, err = e.site.Machines.Open(e.ctx, id)
			e.must(err)
			e.abandon(first)
			again, err := r.Reap(e.ctx)
			e.must(err)
			if _, err := e.site.Machines.Open(e.ctx, id); !errors.Is(err, durable.ErrGone) || s.Machines != 0 || again.Machines != 1 {
				e.Errorf("%d destroyed while its host lived, %d after: %v", s.Machines, again.Machines, err)
				e.must(e.site.Machines.Destroy(e.ctx, id))
			}
			if page, err := e.stores().Instances.List(e.ctx, store.InstanceListOptions{}); err != nil || len(page.Instances) != 0 {
				e.Errorf("the sweep left %+v: %v", page.Instances, err)
			}
			ensured, err := r.Ensure(e.ctx, "thread", e.spec())
			e.must(err)
			e.wantText("the new sandbox's key", ensured.Record.Key, *run.SandboxKey)
			if page, err := e.stores().Instances.List(e.ctx, store.InstanceListOptions{}); err != nil || len(page.Instances) != 1 {
				e.Errorf("making a sandbox left %+v: %v", page.Instances, err)
			}
		}},
		{Name: "RP-14", Rule: "a sandbox that no run uses goes when its time is up, and only then", Needs: append(swept, NeedList, NeedCount), run: func(e *env) {
			r := e.host()
			used := e.start(r, "run-1", "used", "sleep 300")
			m := e.machineOf(used)
			idle := e.start(r, "run-2", "idle", "true")
			gone := e.machineOf(idle)
			e.ended("run-2")
			e.eventually("its driver is done", func() bool {
				s, err := e.host(func(o *durable.Options) { o.SandboxTTL = time.Nanosecond }).Reap(e.ctx)
				e.must(err)
				return s.Idle == 1
			})
			if _, err := e.site.Machines.Open(e.ctx, gone.ID()); !errors.Is(err, durable.ErrGone) {
				e.Errorf("the idle sandbox is there: %v", err)
			}
			_, err := e.site.Machines.Open(e.ctx, m.ID())
			e.must(err)
		}},
	}
}

// heap is how many bytes are in use.
func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// pruned is a sandbox with an empty directory of journals.
func (e *env) pruned() durable.Machine {
	e.Helper()
	m := e.machine()
	e.sh(m, "mkdir -p /tmp/journals")
	return m
}

func (e *env) files(m durable.Machine, names ...string) {
	e.Helper()
	e.sh(m, "cd /tmp/journals && touch %s", strings.Join(names, " "))
}

func (e *env) prune(m durable.Machine, standings map[string]journal.Standing) *journal.Swept {
	e.Helper()
	return journal.Sweep(e.ctx, m, journal.SweepOptions{Dir: "/tmp/journals", Lookup: lookup(standings)})
}
