package durabletest

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/store"
)

// runCases are what durable runs do when nothing goes wrong, and the rules of their records.
func runCases() []Case {
	return []Case{
		{Name: "PS-R1", Rule: "a run is started once; who starts it again gets told", run: func(e *env) {
			r := e.host()
			if _, err := r.Get(e.ctx, "run-1"); !errors.Is(err, store.ErrNotFound) {
				e.Errorf("a run that isn't there: %v", err)
			}
			e.start(r, "run-1", "thread", "echo one; echo two >&2; exit 3")
			_, err := e.host().Start(e.ctx, durable.StartOptions{RunID: "run-1", ThreadID: "other", Command: "echo never", Spec: e.spec()})
			if !errors.Is(err, durable.ErrExists) {
				e.Errorf("starting it again: %v", err)
			}
			out, last := e.outputOf(r)
			e.wantText("the output", out, "one\n")
			var ended durable.Ended
			e.must(json.Unmarshal(last.Data, &ended))
			if last.Kind != durable.EventEnded || ended.Status != store.RunFailed || ended.ExitCode == nil || *ended.ExitCode != 3 {
				e.Errorf("the last event is %s %s", last.Kind, last.Data)
			}
			run := e.run("run-1")
			e.wantStatus(run, store.RunFailed)
			if run.ThreadID != "thread" || run.Error == nil || run.Error.Code != durable.CodeExit || !strings.Contains(run.Error.Message, "two") {
				e.Errorf("the record is %+v", run)
			}
			if err := r.Cancel(e.ctx, "run-1"); !errors.Is(err, durable.ErrEnded) {
				e.Errorf("canceling a run that ended: %v", err)
			}
		}},
		{Name: "PS-R3", Rule: "a thread's active run is the running one that started last", run: func(e *env) {
			r := e.host()
			if _, err := r.Find(e.ctx, "thread"); !errors.Is(err, store.ErrNotFound) {
				e.Errorf("a thread without runs: %v", err)
			}
			e.start(r, "run-1", "thread", "until [ -e /tmp/end ]; do sleep 0.1; done")
			e.pause(5 * time.Millisecond) // the start is in milliseconds
			run := e.start(r, "run-2", "thread", "until [ -e /tmp/end ]; do sleep 0.1; done")
			active := func(want string) {
				e.Helper()
				found, err := r.Find(e.ctx, "thread")
				if err != nil || found.ID != want {
					e.Errorf("the active run is %q, not %q: %v", found.ID, want, err)
				}
			}
			active("run-2")
			e.must(r.Interrupt(e.ctx, "run-2"))
			active("run-1")
			e.must(r.Resume(e.ctx, "run-2"))
			active("run-2")
			e.sh(e.machineOf(run), "touch /tmp/end")
			e.ended("run-1")
			e.ended("run-2")
			if _, err := r.Find(e.ctx, "thread"); !errors.Is(err, store.ErrNotFound) {
				e.Errorf("a thread whose runs have ended: %v", err)
			}
		}},
		{Name: "RUN-offset", Rule: "a viewer goes on after the last event that it saw, on any host", Needs: []Need{NeedSharing}, run: func(e *env) {
			r := e.host()
			e.start(r, "run-1", "thread", "seq 1 500")
			v := e.attach(r, "run-1", 0)
			first := e.nextOutput(v)
			e.wantText("the first line", string(first.Data), "1\n")
			out, _ := e.rest(e.attach(e.host(), "run-1", first.Offset))
			want := new(strings.Builder)
			for i := 2; i <= 500; i++ {
				want.WriteString(itoa(i) + "\n")
			}
			e.wantText("the rest", out, want.String())
		}},
		{Name: "RUN-emit", Rule: "an application's own events are in the log, and no run's own", Needs: []Need{NeedSharing}, run: func(e *env) {
			r := e.host()
			run := e.start(r, "run-1", "thread", "echo one; until [ -e /tmp/end ]; do sleep 0.1; done; echo two")
			v := e.attach(r, "run-1", 0)
			e.outputUntil(v, "one\n")
			if _, err := r.Emit(e.ctx, "run-1", durable.EventEnded, nil); !errors.Is(err, store.ErrInvalid) {
				e.Errorf("emitting an end: %v", err)
			}
			other := e.host()
			for i := range 70 {
				_, err := other.Emit(e.ctx, "run-1", "app.note", []byte(itoa(i)))
				e.must(err)
			}
			e.abandon(r)
			v = e.attach(other, "run-1", 0)
			e.sh(e.machineOf(run), "touch /tmp/end")
			out, _ := e.rest(v)
			e.wantText("the output", out, "one\ntwo\n")
		}},
		{Name: "RUN-stalled", Rule: "a viewer that doesn't read stalls nobody", run: func(e *env) {
			r := e.host()
			stalled := 0
			e.start(r, "run-1", "thread", "seq 1 20000")
			for range 3 {
				e.attach(r, "run-1", 0)
				stalled++
			}
			out, _ := e.outputOf(r)
			if n := strings.Count(out, "\n"); n != 20000 {
				e.Errorf("%d viewers don't read, and the one who does got %d lines", stalled, n)
			}
			e.wantStatus(e.ended("run-1"), store.RunCompleted)
		}},
		{Name: "RUN-outcome", Rule: "an append whose answer is lost is neither lost nor made twice", run: func(e *env) {
			forgetful := &forgetfulLog{}
			r := e.host(func(o *durable.Options) {
				forgetful.RunLog = o.Stores.Log
				o.Stores.Log = forgetful
			})
			e.start(r, "run-1", "thread", "i=1; while [ $i -le 30 ]; do echo line $i; i=$((i+1)); sleep 0.02; done")
			out, last := e.outputOf(r)
			e.wantText("the output", out, lines(1, 30))
			e.wantText("the last event", last.Kind, durable.EventEnded)
			if forgetful.lost.Load() < 2 {
				e.Errorf("only %d answers were lost", forgetful.lost.Load())
			}
		}},
		{Name: "RUN-cancel", Rule: "a cancel from any host ends the run, its command and its sandbox", Needs: []Need{NeedSharing}, run: func(e *env) {
			r := e.host()
			run := e.start(r, "run-1", "thread", "echo one; sleep 300")
			v := e.attach(r, "run-1", 0)
			e.outputUntil(v, "one\n")
			m := e.machineOf(run)
			e.must(e.host().Cancel(e.ctx, "run-1"))
			out, last := e.rest(v)
			e.wantText("what follows", out, "")
			e.wantText("the last event", last.Kind, durable.EventEnded)
			run = e.run("run-1")
			e.wantStatus(run, store.RunAborted)
			if run.CancelRequested != nil {
				e.Errorf("the cancel is still on record")
			}
			e.eventually("the sandbox is gone", func() bool {
				_, err := e.site.Machines.Open(e.ctx, m.ID())
				return errors.Is(err, durable.ErrGone)
			})
		}},
		{Name: "RUN-detach", Rule: "a run without viewers is detached since then, and isn't while somebody views it", run: func(e *env) {
			r := e.host()
			run := e.start(r, "run-1", "thread", "until [ -e /tmp/end ]; do sleep 0.1; done")
			if e.run("run-1").DetachedSince == nil {
				e.Errorf("before anybody came, the run isn't detached")
			}
			v := e.attach(r, "run-1", 0)
			e.eventually("it is viewed", func() bool { return e.run("run-1").DetachedSince == nil })
			e.must(v.Close())
			e.eventually("it is detached", func() bool { return e.run("run-1").DetachedSince != nil })
			e.attach(e.host(), "run-1", 0)
			e.eventually("it is viewed again", func() bool { return e.run("run-1").DetachedSince == nil })
			e.sh(e.machineOf(run), "touch /tmp/end")
			e.wantStatus(e.ended("run-1"), store.RunCompleted)
		}},
		{Name: "RUN-ensure", Rule: "hosts that want a thread's sandbox at once get the same one, and a later run, too", Needs: []Need{NeedSharing, NeedLocks}, run: func(e *env) {
			type got struct {
				durable.Ensured
				err error
			}
			results := make(chan got)
			const hosts = 4
			for range hosts {
				h := e.host()
				go func() {
					ensured, err := h.Ensure(e.ctx, "thread", e.spec())
					results <- got{ensured, err}
				}()
			}
			created, ids := 0, map[string]bool{}
			for range hosts {
				g := <-results
				e.must(g.err)
				if ids[g.Record.ProviderSandboxID] = true; g.How == durable.Created {
					created++
					e.destroyLater(g.Record.Key)
				}
			}
			if created != 1 || len(ids) != 1 {
				e.Errorf("%d sandboxes were made, %d are known", created, len(ids))
			}
			run := e.start(e.host(), "run-1", "thread", "true")
			e.wantStatus(e.ended("run-1"), store.RunCompleted)
			if !ids[e.machineOf(run).ID()] {
				e.Errorf("the run has a sandbox of its own")
			}
		}},
	}
}
