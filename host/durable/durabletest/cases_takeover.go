package durabletest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/store"
)

// gated prints three lines, waits for a file, and prints three more.
const gated = `for i in 1 2 3; do echo "line $i"; done; until [ -e /tmp/gate ]; do sleep 0.05; done; for i in 4 5 6; do echo "line $i"; done`

func takeOverCases() []Case {
	return []Case{
		{Name: "TK-1", Rule: "a run that its host lost is finished by another one, with each line once", Needs: []Need{NeedFenced, NeedSharing}, run: func(e *env) {
			first := e.host()
			run := e.start(first, "run-1", "thread", gated)
			e.outputUntil(e.attach(first, "run-1", 0), "line 3\n")
			e.abandon(first)
			second := e.host()
			v := e.attach(second, "run-1", 0) // which takes it over
			e.outputUntil(v, "line 3\n")
			e.sh(e.machineOf(run), "touch /tmp/gate")
			out, _ := e.rest(v)
			e.wantText("what follows", out, lines(4, 6))
			out, _ = e.outputOf(e.host())
			e.wantText("the whole", out, lines(1, 6))
			run = e.run("run-1")
			e.wantStatus(run, store.RunCompleted)
			if run.DriverEpoch == nil || *run.DriverEpoch != 2 {
				e.Errorf("the epoch is %v, not 2", run.DriverEpoch)
			}
		}},
		{Name: "TK-2", Rule: "a run that isn't known can't be taken over", run: func(e *env) {
			if err := e.host().TakeOver(e.ctx, "run-1", false); !errors.Is(err, store.ErrNotFound) {
				e.Errorf("got %v", err)
			}
		}},
		{Name: "TK-3", Rule: "a run that has ended can't be taken over", run: func(e *env) {
			r := e.host()
			e.start(r, "run-1", "thread", "true")
			e.ended("run-1")
			e.eventually("its driver is done", func() bool { return !errors.Is(r.TakeOver(e.ctx, "run-1", false), nil) })
			if err := e.host().TakeOver(e.ctx, "run-1", true); !errors.Is(err, durable.ErrEnded) {
				e.Errorf("got %v", err)
			}
		}},
		{Name: "TK-4", Rule: "a journal that appears late is waited for", Needs: []Need{NeedSecret}, run: func(e *env) {
			run, m := e.planted("run-1", "thread")
			r := e.host(func(o *durable.Options) { o.AttachWait = patience })
			e.must(r.TakeOver(e.ctx, "run-1", false))
			e.pause(300 * time.Millisecond)
			e.plant(m, run, "echo late")
			out, _ := e.outputOf(r)
			e.wantText("the output", out, "late\n")
		}},
		{Name: "TK-5", Rule: "a journal that never appears ends the run, and the run says how long it was waited for", Needs: []Need{NeedSecret}, run: func(e *env) {
			e.planted("run-1", "thread")
			r := e.host(func(o *durable.Options) { o.AttachWait = 600 * time.Millisecond })
			e.must(r.TakeOver(e.ctx, "run-1", false))
			run := e.ended("run-1")
			e.wantStatus(run, store.RunFailed)
			if run.Error.Code != durable.CodeNotStarted || !strings.Contains(run.Error.Message, "600ms") {
				e.Errorf("the error is %+v", run.Error)
			}
		}},
		{Name: "TK-6", Rule: "of two drivers under locks that exclude nobody, the superseded one writes nothing", Needs: []Need{NeedFenced, NeedSharing}, run: func(e *env) {
			ungoverned := func(o *durable.Options) { o.Stores.Locks = grantAll{} }
			first, second := e.host(ungoverned), e.host(ungoverned)
			run := e.start(first, "run-1", "thread", gated)
			e.outputUntil(e.attach(first, "run-1", 0), "line 3\n")
			e.must(second.TakeOver(e.ctx, "run-1", false))
			e.sh(e.machineOf(run), "touch /tmp/gate")
			out, last := e.outputOf(second)
			e.wantText("the output", out, lines(1, 6))
			run = e.ended("run-1")
			e.wantStatus(run, store.RunCompleted)
			if run.Error != nil || *run.DriverEpoch < 2 {
				e.Errorf("the record is %+v", run)
			}
			e.abandon(first)
			page, err := e.stores().Log.Read(e.ctx, "run-1", store.LogReadOptions{After: last.Offset})
			e.must(err)
			if len(page.Events) > 0 || !page.Closed {
				e.Errorf("behind the end there is %v", page.Events)
			}
		}},
		{Name: "TK-7", Rule: "what has been read to its end is removed from the sandbox", run: func(e *env) {
			r := e.host()
			run := e.start(r, "run-1", "thread", "echo one; echo two >&2")
			out, _ := e.outputOf(r)
			e.wantText("the output", out, "one\n")
			m := e.machineOf(run)
			e.eventually("the journal is removed", func() bool {
				return strings.TrimSpace(e.sh(m, "ls -A /tmp/alineo-runs")) == ""
			})
		}},
		{Name: "TK-8", Rule: "a host that takes a live run over by force has it, and the other one stops", Needs: []Need{NeedFenced, NeedLocks, NeedSharing}, run: func(e *env) {
			first, second := e.host(), e.host()
			run := e.start(first, "run-1", "thread", gated)
			e.outputUntil(e.attach(first, "run-1", 0), "line 3\n")
			if err := second.TakeOver(e.ctx, "run-1", false); !errors.Is(err, durable.ErrDriven) {
				e.Errorf("taking over a live run: %v", err)
			}
			e.must(second.TakeOver(e.ctx, "run-1", true))
			e.sh(e.machineOf(run), "touch /tmp/gate")
			out, _ := e.outputOf(second)
			e.wantText("the output", out, lines(1, 6))
			e.wantStatus(e.ended("run-1"), store.RunCompleted)
		}},
		{Name: "TK-9", Rule: "a journal that differs from the log ends the run, and nothing is written behind the difference", Needs: []Need{NeedFenced, NeedSharing}, run: func(e *env) {
			first := e.host()
			run := e.start(first, "run-1", "thread", gated)
			e.outputUntil(e.attach(first, "run-1", 0), "line 3\n")
			e.abandon(first)
			m := e.machineOf(run)
			e.sh(m, "sed -i s/2/x/ /tmp/alineo-runs/run-1.ndjson")
			out, last := e.outputOf(e.host())
			e.wantText("the output", out, lines(1, 3))
			run = e.run("run-1")
			e.wantStatus(run, store.RunFailed)
			if run.Error.Code != durable.CodeDiverged || last.Kind != durable.EventEnded {
				e.Errorf("the error is %+v", run.Error)
			}
		}},
		{Name: "TK-10", Rule: "a run whose sandbox is gone fails and says so", Needs: []Need{NeedFenced, NeedSharing}, run: func(e *env) {
			first := e.host()
			run := e.start(first, "run-1", "thread", "echo one; sleep 300")
			v := e.attach(first, "run-1", 0)
			e.outputUntil(v, "one\n")
			e.must(e.site.Machines.Destroy(e.ctx, e.machineOf(run).ID()))
			e.rest(v)
			run = e.ended("run-1")
			e.wantStatus(run, store.RunFailed)
			if run.Error.Code != durable.CodeSandboxGone {
				e.Errorf("the error is %+v", run.Error)
			}
		}},
		{Name: "TK-11", Rule: "a command that kills the shell that runs it is found out", run: func(e *env) {
			r := e.host()
			e.start(r, "run-1", "thread", "echo one; kill -9 $PPID")
			out, _ := e.outputOf(r)
			e.wantText("the output", out, "one\n")
			run := e.run("run-1")
			e.wantStatus(run, store.RunFailed)
			if run.Error.Code != durable.CodeVanished {
				e.Errorf("the error is %+v", run.Error)
			}
		}},
		{Name: "TK-12", Rule: "an end that is in the log, but not in the record, is taken as it is", Needs: []Need{NeedFenced, NeedSecret}, run: func(e *env) {
			run, _ := e.planted("run-1", "thread")
			code := 5
			data, err := json.Marshal(durable.Ended{Status: store.RunFailed, ExitCode: &code, Error: &store.RunError{Message: "as it was", Code: "x"}})
			e.must(err)
			_, err = e.stores().Log.Append(e.ctx, store.LogAppend{RunID: run.ID, Epoch: 0, Events: []store.LogEvent{{Kind: durable.EventEnded, Data: data}}})
			e.must(err)
			m := e.machineOf(run)
			e.plant(m, run, "echo one")
			r := e.host()
			e.must(r.TakeOver(e.ctx, "run-1", false))
			run = e.ended("run-1")
			e.wantStatus(run, store.RunFailed)
			if run.Error.Message != "as it was" {
				e.Errorf("the error is %+v", run.Error)
			}
			if out, _ := e.outputOf(r); out != "" {
				e.Errorf("behind the end there is %q", out)
			}
		}},
	}
}

// planted is a run that a host recorded before it died, and a sandbox for it.
func (e *env) planted(id, thread string) (store.Run, durable.Machine) {
	e.Helper()
	ensured, err := e.host().Ensure(e.ctx, thread, e.spec())
	e.must(err)
	e.destroyLater(ensured.Record.Key)
	ensured.Record.LatestRunID = &id
	e.must(e.stores().Instances.Put(e.ctx, ensured.Record))
	return e.recorded(id, thread, ensured.Record.Key), ensured.Machine
}

// recorded is the record of a detached run that nobody drives.
func (e *env) recorded(id, thread, key string) store.Run {
	e.Helper()
	fresh := store.NewRun{ID: id, ThreadID: thread, SandboxKey: &key}
	if e.has()[NeedSecret] {
		fresh.Secret = store.RunSecret("0123456789abcdef")
	}
	runs := e.stores().Runs
	run, _, err := runs.CreateOrGet(e.ctx, fresh)
	e.must(err)
	_, err = runs.Patch(e.ctx, id, store.RunPatch{Now: []store.RunField{store.FieldDetachedSince}})
	e.must(err)
	return run
}

// plant starts a command as the run's host would have.
func (e *env) plant(m durable.Machine, run store.Run, command string) {
	e.Helper()
	j := e.plantedJournal(m, run)
	e.launch(m, j, command)
}

// paused waits for a context in a goroutine of its own.
func (e *env) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(e.ctx, d)
	e.Cleanup(cancel)
	return ctx
}
