package durabletest

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/store"
)

// keepCases are about what is stored outside of a sandbox, and about stores that have little.
func keepCases() []Case {
	return []Case{
		{Name: "KP-sandbox", Rule: "where only the sandbox is kept, no store has a word of what was typed or printed, and viewers get it all the same", Needs: []Need{NeedFenced, NeedSharing}, run: func(e *env) {
			const canary = "tHe-cAnArY"
			contentFree := func(o *durable.Options) { o.Keep = durable.KeepSandbox }
			first := e.host(contentFree)
			run, err := first.Start(e.ctx, durable.StartOptions{
				RunID: "run-1", ThreadID: "thread", Spec: e.spec(), Env: map[string]string{"SECRET": canary},
				Command: "echo " + canary + " 1; echo $SECRET >&2; until [ -e /tmp/gate ]; do sleep 0.05; done; echo " + canary + " 2; exit 3",
			})
			e.must(err)
			e.destroyLater(*run.SandboxKey)
			e.outputUntil(e.attach(first, "run-1", 0), canary+" 1\n")
			e.abandon(first)
			second := e.host(contentFree)
			v := e.attach(second, "run-1", 0)
			e.outputUntil(v, canary+" 1\n")
			e.sh(e.machineOf(run), "touch /tmp/gate")
			out, _ := e.rest(v)
			e.wantText("what follows", out, canary+" 2\n")
			e.wantStatus(e.ended("run-1"), store.RunFailed)
			if kept := e.everything(*run.SandboxKey, "run-1"); bytes.Contains(kept, []byte(canary)) || bytes.Contains(kept, []byte("touch")) {
				e.Errorf("the stores have %s", kept)
			}
		}},
		{Name: "KP-everything", Rule: "where everything is kept, the log has it when the sandbox is gone", run: func(e *env) {
			r := e.host()
			run := e.start(r, "run-1", "thread", "echo kept")
			e.ended("run-1")
			e.must(r.Destroy(e.ctx, *run.SandboxKey))
			out, _ := e.outputOf(r)
			e.wantText("the output", out, "kept\n")
			if kept := e.everything(*run.SandboxKey, "run-1"); !bytes.Contains(kept, []byte("kept")) {
				e.Errorf("the search for what is kept finds nothing: %s", kept)
			}
		}},
		{Name: "KP-nothing", Rule: "where nothing is kept, a run ends with its last viewer, and its sandbox with it", run: func(e *env) {
			machines := &countedMachines{Machines: e.site.Machines}
			r := e.host(func(o *durable.Options) { o.Keep, o.Machines = durable.KeepNothing, machines })
			_, err := r.Start(e.ctx, durable.StartOptions{RunID: "run-1", ThreadID: "thread", Command: "echo one; sleep 300", Spec: e.spec()})
			e.must(err)
			v := e.attach(r, "run-1", 0)
			e.outputUntil(v, "one\n")
			e.must(v.Close())
			e.eventually("the sandbox is destroyed", func() bool {
				machines.mu.Lock()
				defer machines.mu.Unlock()
				return len(machines.destroyed) == 1
			})
			_, found, err := e.stores().Runs.Get(e.ctx, "run-1")
			if err != nil || found {
				e.Errorf("the store has it: %v", err)
			}
		}},
		{Name: "KP-nothing-close", Rule: "where nothing is kept, a run ends with its host, and its sandbox with it", run: func(e *env) {
			machines := &countedMachines{Machines: e.site.Machines}
			r := e.host(func(o *durable.Options) { o.Keep, o.Machines = durable.KeepNothing, machines })
			_, err := r.Start(e.ctx, durable.StartOptions{RunID: "run-1", ThreadID: "thread", Command: "echo one; sleep 300", Spec: e.spec()})
			e.must(err)
			e.outputUntil(e.attach(r, "run-1", 0), "one\n")
			e.abandon(r)
			if len(machines.made) != 1 || len(machines.destroyed) != 1 {
				e.Errorf("%d sandboxes were made and %d destroyed", len(machines.made), len(machines.destroyed))
			}
		}},
		{Name: "KP-nothing-shared", Rule: "where nothing is kept, the last run in a sandbox ends it, whichever began last", run: func(e *env) {
			machines := &countedMachines{Machines: e.site.Machines}
			r := e.host(func(o *durable.Options) { o.Keep, o.Machines = durable.KeepNothing, machines })
			var first *durable.Viewer
			for _, run := range [...][2]string{{"run-1", "echo one; until [ -e /tmp/gate ]; do sleep 0.05; done"}, {"run-2", "touch /tmp/other; echo two"}} {
				_, err := r.Start(e.ctx, durable.StartOptions{RunID: run[0], ThreadID: "thread", Command: run[1], Spec: e.spec()})
				e.must(err)
				if v := e.attach(r, run[0], 0); run[0] == "run-1" {
					e.outputUntil(v, "one\n")
					first = v
				} else {
					out, _ := e.rest(v)
					e.wantText("the later run's output", out, "two\n")
					e.must(v.Close())
				}
			}
			e.must(r.AwaitRelease(e.ctx, "run-2"))
			machines.mu.Lock()
			made, destroyed := machines.made, len(machines.destroyed)
			machines.mu.Unlock()
			if len(made) != 1 || destroyed != 0 {
				e.fatalf("%d sandboxes were made, and %d destroyed under the first run", len(made), destroyed)
			}
			m, err := machines.Open(e.ctx, made[0])
			e.must(err)
			e.sh(m, "touch /tmp/gate")
			e.rest(first)
			e.must(first.Close())
			e.must(r.AwaitRelease(e.ctx, "run-1"))
			if _, err := machines.Open(e.ctx, made[0]); !errors.Is(err, durable.ErrGone) {
				e.Errorf("the sandbox of two runs that have ended is there: %v", err)
				e.must(machines.Destroy(e.ctx, made[0]))
			}
		}},
		{Name: "KP-nothing-end", Rule: "where nothing is kept, a run that ends is told to its end", run: func(e *env) {
			r := e.host(func(o *durable.Options) { o.Keep = durable.KeepNothing })
			_, err := r.Start(e.ctx, durable.StartOptions{RunID: "run-1", ThreadID: "thread", Command: "seq 1 1000", Spec: e.spec()})
			e.must(err)
			out, last := e.outputOf(r)
			if strings.Count(out, "\n") != 1000 || last.Kind != durable.EventEnded {
				e.Errorf("%d lines, and then %s", strings.Count(out, "\n"), last.Kind)
			}
		}},
		{Name: "FLOOR-run", Rule: "a store with nothing but the floor runs commands, says that it can't be taken over, and sweeps nothing", Needs: []Need{NeedSharing}, run: func(e *env) {
			low := func(o *durable.Options) { o.Stores, o.AllowUnfenced = floor(o.Stores), false }
			first := e.host(low)
			run := e.start(first, "run-1", "thread", gated)
			v := e.attach(first, "run-1", 0)
			e.outputUntil(v, "line 3\n")
			if err := e.host(low).TakeOver(e.ctx, "run-1", true); !errors.Is(err, durable.ErrUnfenced) {
				e.Errorf("taking over: %v", err)
			}
			s, err := e.host(low).Reap(e.ctx)
			e.must(err)
			if s.Considered != 0 {
				e.Errorf("the sweep did %+v", s)
			}
			e.sh(e.machineOf(run), "touch /tmp/gate")
			out, _ := e.rest(v)
			e.wantText("what follows", out, lines(4, 6))
			e.wantStatus(e.ended("run-1"), store.RunCompleted)
		}},
		{Name: "FLOOR-allowed", Rule: "a store with nothing but the floor can be taken over where that is allowed", Needs: []Need{NeedSharing}, run: func(e *env) {
			low := func(o *durable.Options) { o.Stores, o.AllowUnfenced = floor(o.Stores), true }
			first := e.host(low)
			run := e.start(first, "run-1", "thread", gated)
			e.outputUntil(e.attach(first, "run-1", 0), "line 3\n")
			e.abandon(first)
			second := e.host(low)
			v := e.attach(second, "run-1", 0)
			e.sh(e.machineOf(run), "touch /tmp/gate")
			out, _ := e.rest(v)
			e.wantText("the output", out, lines(1, 6))
			e.wantStatus(e.ended("run-1"), store.RunCompleted)
		}},
	}
}

// everything is what the stores have of a run.
func (e *env) everything(key, id string) []byte {
	e.Helper()
	var all bytes.Buffer
	stores := e.stores()
	record, _, err := stores.Instances.Get(e.ctx, key)
	e.must(err)
	text, err := json.Marshal([]any{record, e.run(id)})
	e.must(err)
	all.Write(text)
	page, err := stores.Log.Read(e.ctx, id, store.LogReadOptions{})
	e.must(err)
	for _, event := range page.Events {
		all.WriteString(event.Kind)
		all.Write(event.Data)
	}
	return all.Bytes()
}
