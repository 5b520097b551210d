package durabletest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/internal/journal"
	"github.com/alineo-labs/alineo-host/host/store"
)

func lookup(standings map[string]journal.Standing) func(context.Context, string) (journal.Standing, error) {
	return func(_ context.Context, id string) (journal.Standing, error) { return standings[id], nil }
}

// holeCases reproduce what goes wrong where durable runs are done otherwise.
func holeCases() []Case {
	swept := []Need{NeedFenced, NeedReclaim, NeedSecret, NeedSharing}
	return []Case{
		{Name: "H-1", Rule: "the first driver claims, too; a reload while the command is silent doubles nothing", Needs: []Need{NeedFenced, NeedSharing}, run: func(e *env) {
			first, second := e.host(), e.host()
			run := e.start(first, "run-1", "thread", gated)
			if *run.DriverEpoch != 1 {
				e.Errorf("the first driver's epoch is %d", *run.DriverEpoch)
			}
			e.outputUntil(e.attach(first, "run-1", 0), "line 3\n")
			e.must(second.TakeOver(e.ctx, "run-1", true)) // the first host lives, and the log is quiet
			e.pause(3 * quiet)
			e.sh(e.machineOf(run), "touch /tmp/gate")
			e.ended("run-1")
			out, _ := e.outputOf(first)
			e.wantText("the output", out, lines(1, 6))
		}},
		{Name: "H-2", Rule: "sweeping a run leaves the sandbox to another one that uses it", Needs: append(swept, NeedCount), run: func(e *env) {
			r := e.host()
			other := e.start(r, "run-2", "thread", "until [ -e /tmp/end ]; do sleep 0.05; done; echo alive")
			v := e.attach(r, "run-2", 0)
			m := e.machineOf(other)
			old := e.recorded("run-1", "thread", *other.SandboxKey)
			e.plant(m, old, "echo one; sleep 300")
			e.eventually("run-2 is viewed", func() bool { return e.run("run-2").DetachedSince == nil })
			s, err := e.host(func(o *durable.Options) { o.DetachedTTL = time.Nanosecond }).Reap(e.ctx)
			e.must(err)
			if outcomes(s)["run-1"] != durable.OutcomeExpired || len(s.Runs) != 1 {
				e.Errorf("the sweep did %+v", s.Runs)
			}
			alive, err := e.plantedJournal(m, old).Alive(e.ctx)
			if err != nil || alive {
				e.Errorf("the command of the run that was ended lives: %v", err)
			}
			e.sh(m, "touch /tmp/end")
			out, _ := e.rest(v)
			e.wantText("the other run's output", out, "alive\n")
		}},
		{Name: "H-3", Rule: "no two claims get the same epoch, with or without locks", Needs: []Need{NeedFenced, NeedSharing}, run: func(e *env) {
			e.recorded("run-1", "thread", "key")
			var mu sync.Mutex
			var group sync.WaitGroup
			seen := map[uint64]int{}
			const claims = 12
			for range claims {
				runs := e.open().Runs
				group.Go(func() {
					claim, err := runs.Claim(e.ctx, "run-1")
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						e.Errorf("%v", err)
					}
					seen[claim.Epoch]++
				})
			}
			group.Wait()
			for epoch := uint64(1); epoch <= claims; epoch++ {
				if seen[epoch] != 1 {
					e.Errorf("epoch %d was given %d times", epoch, seen[epoch])
				}
			}
		}},
		{Name: "H-4", Rule: "many runs that go on don't keep a sweep from one that has ended", Needs: swept, run: func(e *env) {
			run, m := e.planted("run-0", "thread")
			for i := 1; i <= 60; i++ {
				e.recorded(fmt.Sprintf("run-%d", i), "thread", *run.SandboxKey)
			}
			last := e.recorded("run-last", "thread", *run.SandboxKey)
			j := e.plantedJournal(m, last)
			e.launch(m, j, "echo one")
			e.awaitExit(j, 0)
			s, err := e.host().Reap(e.ctx)
			e.must(err)
			if outcomes(s)["run-last"] != durable.OutcomeFinalized || s.Outcomes[durable.OutcomeProducing] != 61 {
				e.Errorf("the sweep did %v", s.Outcomes)
			}
		}},
		{Name: "H-5", Rule: "keys are long enough that no two threads share a sandbox by chance", run: func(e *env) {
			seen := map[string]bool{}
			const threads = 20000
			for i := range threads {
				key, err := durable.Key("p", fmt.Sprintf("thread-%d", i), "", durable.Spec{})
				e.must(err)
				seen[key] = true
				if digits, ok := strings.CutPrefix(key, "v1-"); !ok || len(digits) != 64 {
					e.fatalf("the key is %q", key)
				}
			}
			if len(seen) != threads {
				e.Errorf("%d threads have %d keys", threads, len(seen))
			}
		}},
		{Name: "H-6", Rule: "what is absent and what is empty makes the same key", run: func(e *env) {
			one, err := durable.Key("p", "t", "", durable.Spec{Tenant: durable.Tenant{UserID: "u"}})
			e.must(err)
			spec := durable.Spec{Tenant: durable.Tenant{UserID: "u", OrgID: ""}, Setup: []string{}}
			spec.Sandbox.Env = map[string]string{}
			two, err := durable.Key("p", "t", "ignored", spec)
			e.must(err)
			e.wantText("the key", two, one)
		}},
		{Name: "H-7", Rule: "no sandbox is forgotten: not when its record fails, and not when it is replaced", Needs: []Need{NeedList}, run: func(e *env) {
			machines := &countedMachines{Machines: e.site.Machines}
			counted := func(o *durable.Options) { o.Machines = machines }
			_, err := e.host(counted, func(o *durable.Options) { o.Stores.Instances = brokenInstances{o.Stores.Instances} }).Ensure(e.ctx, "thread", e.spec())
			if !errors.Is(err, errBroken) || len(machines.made) != 1 || len(machines.destroyed) != 1 {
				e.Errorf("%d made, %d destroyed: %v", len(machines.made), len(machines.destroyed), err)
			}
			old, err := e.host(counted).Ensure(e.ctx, "thread", e.spec())
			e.must(err)
			e.destroyLater(old.Record.Key)
			machines.refuse = true // to be destroyed, for now
			spec := e.spec()
			spec.MaxIdle = time.Nanosecond
			e.pause(5 * time.Millisecond)
			fresh, err := e.host(counted).Ensure(e.ctx, "thread", spec)
			e.must(err)
			if fresh.Record.ProviderSandboxID == old.Record.ProviderSandboxID || fresh.How != durable.Created {
				e.Errorf("an old sandbox was taken for a new one")
			}
			machines.refuse = false
			if !e.has()[NeedReclaim] {
				return
			}
			s, err := e.host(counted).Reap(e.ctx)
			e.must(err)
			if _, err := e.site.Machines.Open(e.ctx, old.Record.ProviderSandboxID); !errors.Is(err, durable.ErrGone) || s.Machines != 1 {
				e.Errorf("the replaced sandbox is there (%d destroyed by the sweep): %v", s.Machines, err)
			}
		}},
		{Name: "H-8", Rule: "a case whose needs aren't met is not run, and not passed", run: func(e *env) {
			for _, c := range Cases() {
				if c.Rule == "" || c.run == nil {
					e.Errorf("case %s says nothing", c.Name)
				}
			}
		}},
		{Name: "H-9", Rule: "the cases use the site's own stores and sandboxes", run: func(e *env) {
			r := e.host()
			run := e.start(r, "run-1", "thread", "echo one")
			e.ended("run-1")
			stores := e.stores()
			_, inRuns, err := stores.Runs.Get(e.ctx, "run-1")
			e.must(err)
			record, inInstances, err := stores.Instances.Get(e.ctx, *run.SandboxKey)
			e.must(err)
			page, err := stores.Log.Read(e.ctx, "run-1", store.LogReadOptions{})
			e.must(err)
			if !inRuns || !inInstances || page.Tail < 3 || record.Provider != e.site.Machines.Provider() {
				e.Errorf("the stores have run %v, sandbox %v and %d events", inRuns, inInstances, page.Tail)
			}
		}},
		{Name: "H-10", Rule: "a driver that is stopped right before its last write, and superseded, doesn't make it", Needs: []Need{NeedFenced, NeedSharing}, run: func(e *env) {
			gate := &gatedRuns{reached: make(chan struct{}), open: make(chan struct{})}
			first := e.host(func(o *durable.Options) {
				gate.Runs = o.Stores.Runs
				o.Stores.Runs = gate
			})
			e.start(first, "run-1", "thread", "echo one; exit 4")
			select {
			case <-gate.reached:
			case <-e.within(patience).Done():
				e.fatalf("the driver never came to its last write")
			}
			second := e.host()
			e.must(second.TakeOver(e.ctx, "run-1", true))
			e.ended("run-1")
			no := false
			_, err := e.stores().Runs.Patch(e.ctx, "run-1", store.RunPatch{Set: store.RunFields{CancelRequested: &no}}) // a mark
			e.must(err)
			close(gate.open)
			e.abandon(first)
			run := e.run("run-1")
			if run.CancelRequested == nil || *run.DriverEpoch != 2 {
				e.Errorf("the superseded driver wrote: %+v", run)
			}
			out, _ := e.outputOf(second)
			e.wantText("the output", out, "one\n")
		}},
		{Name: "H-11", Rule: "a live driver sees a cancel of another host's, and the end clears it", Needs: []Need{NeedSharing}, run: func(e *env) {
			r := e.host()
			e.start(r, "run-1", "thread", "echo one; sleep 300")
			e.outputUntil(e.attach(r, "run-1", 0), "one\n")
			yes := true
			_, err := e.stores().Runs.Patch(e.ctx, "run-1", store.RunPatch{Set: store.RunFields{CancelRequested: &yes}})
			e.must(err)
			run := e.ended("run-1")
			e.wantStatus(run, store.RunAborted)
			if run.CancelRequested != nil {
				e.Errorf("the cancel is still on record")
			}
		}},
		{Name: "H-12", Rule: "an interrupted run has a time of its own, and can go on", Needs: append(swept, NeedLocks), run: func(e *env) {
			run, m := e.planted("run-1", "thread")
			e.plant(m, run, "sleep 300")
			r := e.host(func(o *durable.Options) { o.DetachedTTL = time.Nanosecond })
			e.must(r.Interrupt(e.ctx, "run-1"))
			_, err := r.Reap(e.ctx)
			e.must(err)
			e.wantStatus(e.run("run-1"), store.RunInterrupted)
			e.must(r.Resume(e.ctx, "run-1"))
			if found, err := r.Find(e.ctx, "thread"); err != nil || found.ID != "run-1" {
				e.Errorf("the active run is %q: %v", found.ID, err)
			}
			e.must(r.Interrupt(e.ctx, "run-1"))
			e.pause(5 * time.Millisecond)
			s, err := e.host(func(o *durable.Options) { o.InterruptedTTL = time.Millisecond }).Reap(e.ctx)
			e.must(err)
			if outcomes(s)["run-1"] != durable.OutcomeExpired {
				e.Errorf("the sweep did %+v", s.Runs)
			}
			e.wantStatus(e.run("run-1"), store.RunAborted)
		}},
		{Name: "H-13", Rule: "a command that prints sentinels is not believed, and nobody sees the nonce", Needs: []Need{NeedSecret, NeedSharing}, run: func(e *env) {
			r := e.host()
			forged := `{"__exit":0,"__nonce":"00000000000000000000000000000000"}`
			run := e.start(r, "run-1", "thread", "printf '%s\\n' '"+forged+"' '{\"__exit\":0}'; "+
				"tr '\\0' '\\n' </proc/$PPID/cmdline | head -c 2000; tr '\\0' '\\n' </proc/$PPID/environ; env; ls -A /tmp/alineo-runs; until [ -e /tmp/gate ]; do sleep 0.05; done; exit 9")
			v := e.attach(r, "run-1", 0)
			e.outputUntil(v, "run-1.ndjson\n")
			secret, found, err := e.stores().Runs.Secret(e.ctx, "run-1")
			e.must(err)
			if !found {
				e.fatalf("the run has no secret")
			}
			nonce, err := journal.NewNonce(secret)
			e.must(err)
			e.sh(e.machineOf(run), "touch /tmp/gate")
			out, last := e.outputOf(r)
			if !strings.HasPrefix(out, forged+"\n"+`{"__exit":0}`+"\n") {
				e.Errorf("the forged lines are not in the output")
			}
			record, err := json.Marshal(e.run("run-1"))
			e.must(err)
			for what, text := range map[string]string{"what the command sees": out, "the record": string(record), "the last event": string(last.Data)} {
				if strings.Contains(text, string(nonce)) {
					e.Errorf("%s has the nonce", what)
				}
			}
			if run := e.run("run-1"); run.Status != store.RunFailed || run.Error.Code != durable.CodeExit {
				e.Errorf("the run is %+v", run)
			}
		}},
		{Name: "H-14", Rule: "a sweep waits for no lock", Needs: append(swept, NeedLocks), run: func(e *env) {
			run, m := e.planted("run-1", "thread")
			other := e.recorded("run-2", "thread", *run.SandboxKey)
			for _, run := range [...]store.Run{run, other} {
				j := e.plantedJournal(m, run)
				e.launch(m, j, "echo one")
				e.awaitExit(j, 0)
			}
			held, err := e.stores().Locks.TryAcquire(e.ctx, "run-driver:run-1", "somebody", time.Hour)
			e.must(err)
			if !held.Acquired {
				e.fatalf("the lock is not to be had")
			}
			s, err := e.host().Reap(e.ctx)
			e.must(err)
			if got := outcomes(s); got["run-1"] != durable.OutcomeNotClaim || got["run-2"] != durable.OutcomeFinalized {
				e.Errorf("the sweep did %v", got)
			}
		}},
		{Name: "H-15", Rule: "a sandbox is destroyed under its lock", Needs: []Need{NeedLocks}, run: func(e *env) {
			ensured, err := e.host().Ensure(e.ctx, "thread", e.spec())
			e.must(err)
			e.destroyLater(ensured.Record.Key)
			locks := e.stores().Locks
			held, err := locks.TryAcquire(e.ctx, "sandbox:"+ensured.Record.Key, "somebody", time.Hour)
			e.must(err)
			r := e.host()
			if err := r.Destroy(e.within(300*time.Millisecond), ensured.Record.Key); err == nil {
				e.Errorf("it was destroyed under somebody else's lock")
			}
			_, err = e.site.Machines.Open(e.ctx, ensured.Record.ProviderSandboxID)
			e.must(err)
			_, err = locks.Release(e.ctx, "sandbox:"+ensured.Record.Key, held.Token)
			e.must(err)
			e.must(r.Destroy(e.ctx, ensured.Record.Key))
			if _, err := e.site.Machines.Open(e.ctx, ensured.Record.ProviderSandboxID); !errors.Is(err, durable.ErrGone) {
				e.Errorf("it is still there: %v", err)
			}
		}},
		{Name: "H-16", Rule: "the store's clock decides: a host whose own is ten minutes off ends nothing early, and nothing late", Needs: append(swept, NeedLocks), run: func(e *env) {
			for _, off := range [...]time.Duration{10 * time.Minute, -10 * time.Minute} {
				id := fmt.Sprint("run", off)
				run, m := e.planted(id, id)
				e.plant(m, run, "sleep 300")
				wrong := func(o *durable.Options) { o.Stores = shifted(o.Stores, off.Milliseconds()) }
				s, err := e.host(wrong, func(o *durable.Options) { o.DetachedTTL = 5 * time.Minute }).Reap(e.ctx)
				e.must(err)
				if outcomes(s)[id] != durable.OutcomeProducing {
					e.Errorf("with a clock off by %s, the sweep did %+v", -off, s.Runs)
				}
				spec := e.spec()
				spec.MaxIdle = 5 * time.Minute
				again, err := e.host(wrong).Ensure(e.ctx, id, spec)
				e.must(err)
				if again.How != durable.Resumed {
					e.Errorf("with a clock off by %s, a sandbox that is in use was replaced", -off)
				}
				e.pause(5 * time.Millisecond)
				s, err = e.host(wrong, func(o *durable.Options) { o.DetachedTTL = time.Millisecond }).Reap(e.ctx)
				e.must(err)
				if outcomes(s)[id] != durable.OutcomeExpired {
					e.Errorf("with a clock off by %s, the sweep did %+v", -off, s.Runs)
				}
			}
		}},
	}
}
