package storetest

import (
	"encoding/json"
	"fmt"

	"github.com/alineo-labs/alineo-host/host/store"
)

func runCases() []Case {
	level := []Feature{FeatureRuns}
	return []Case{
		{Name: "runs/PS-R1", Rule: "a run is created once, patched, read back, and failed with an error", Needs: level, run: runStory},
		{Name: "runs/PS-R2", Rule: "creating a run that has ended returns it unchanged and revives nothing", Needs: level, run: runCreatedAgain},
		{Name: "runs/PS-R3", Rule: "the active run of a thread is the running one that started last", Needs: level, run: runActive},
		{Name: "runs/DR-0", Rule: "a new run has none of the four durable fields: they are absent, not null, false or 0", Needs: level, run: durableNone},
		{Name: "runs/DR-1", Rule: "one patch sets all four durable fields", Needs: level, run: durableSet},
		{Name: "runs/DR-2", Rule: "a patch leaves what it does not name", Needs: level, run: durableLeft},
		{Name: "runs/DR-3", Rule: "a patch that clears a field makes it absent and leaves the others", Needs: level, run: durableCleared},
		{Name: "runs/DR-4", Rule: "cancelRequested false is false, and not absent", Needs: level, run: durableFalse},
		{Name: "runs/DR-5", Rule: "fields that are set can be set to other values", Needs: level, run: durableSetAgain},
		{Name: "runs/DR-6", Rule: "one patch clears all four durable fields, and leaves status and start", Needs: level, run: durableAllCleared},
		{Name: "runs/unknown", Rule: "a patch of a run that is not there is no error and makes none", Needs: level, run: runUnknown},
		{Name: "runs/now", Rule: "a start that is not given, and fields of a patch that are Now, get the time of the store's clock", Needs: level, run: runNow},
		{Name: "runs/error", Rule: "an error and a usage come back as they were, and an error is replaced whole", Needs: level, run: runError},
		{Name: "runs/invalid", Rule: "what is no run, no status, no field or no patch is refused", Needs: level, run: runInvalid},
		{Name: "runs/handles", Rule: "what one handle wrote another reads, at once", Needs: []Feature{FeatureRuns, FeatureHandles}, run: runHandles},
	}
}

// start makes a run of thread "t" that started at 1.
func (e *env) start(id string) {
	e.Helper()
	e.create(store.NewRun{ID: id, ThreadID: "t", StartedAt: new(int64(1))})
}

func (e *env) create(run store.NewRun) store.Run {
	e.Helper()
	made, created, err := e.stores.Runs.CreateOrGet(e.ctx, run)
	e.must("creating "+run.ID, err)
	if !created {
		e.Errorf("creating %s: it was there", run.ID)
	}
	return made
}

func (e *env) patch(id string, patch store.RunPatch) {
	e.Helper()
	existed, err := e.stores.Runs.Patch(e.ctx, id, patch)
	e.must("patching "+id, err)
	if !existed {
		e.Errorf("patching %s: it is not there", id)
	}
}

func (e *env) run(id string) store.Run {
	e.Helper()
	run, ok, err := e.stores.Runs.Get(e.ctx, id)
	e.must("getting "+id, err)
	if !ok {
		e.Errorf("run %s is not there", id)
		e.FailNow()
	}
	return run
}

// finished is a patch that ends a run.
func finished(status store.RunStatus, at int64) store.RunPatch {
	return store.RunPatch{Set: store.RunFields{Status: &status, FinishedAt: &at}}
}

func runStory(e *env) {
	_, ok, err := e.stores.Runs.Get(e.ctx, "run-1")
	e.must("getting a run that is not there", err)
	if ok {
		e.Errorf("a run that nobody made is there")
	}
	want := store.Run{ID: "run-1", ThreadID: "thread-1", Status: store.RunRunning, StartedAt: 1}
	e.same("new run", e.create(store.NewRun{ID: "run-1", ThreadID: "thread-1", StartedAt: new(int64(1))}), want)
	again, created, err := e.stores.Runs.CreateOrGet(e.ctx, store.NewRun{
		ID: "run-1", ThreadID: "thread-2", StartedAt: new(int64(99)), Status: store.RunInterrupted, SandboxKey: new("k"),
	})
	e.must("creating again", err)
	if created {
		e.Errorf("creating again says that it made the run")
	}
	e.same("run that was created again", again, want)

	done := finished(store.RunCompleted, 50)
	done.Set.Usage = json.RawMessage(`{"tokens":3}`)
	e.patch("run-1", done)
	want.Status, want.FinishedAt, want.Usage = store.RunCompleted, new(int64(50)), json.RawMessage(`{"tokens":3}`)
	e.same("finished run", e.run("run-1"), want)

	e.create(store.NewRun{ID: "run-2", ThreadID: "thread-1", StartedAt: new(int64(2)), Status: store.RunInterrupted, SandboxKey: new("k")})
	failed := finished(store.RunFailed, 60)
	failed.Set.Error = &store.RunError{Message: "boom", Code: "E1"}
	e.patch("run-2", failed)
	e.same("failed run", e.run("run-2"), store.Run{
		ID: "run-2", ThreadID: "thread-1", Status: store.RunFailed, StartedAt: 2, FinishedAt: new(int64(60)),
		Error: &store.RunError{Message: "boom", Code: "E1"}, SandboxKey: new("k"),
	})
}

func runCreatedAgain(e *env) {
	e.start("run-1")
	e.patch("run-1", finished(store.RunCompleted, 50))
	before := e.run("run-1")
	again, created, err := e.stores.Runs.CreateOrGet(e.ctx, store.NewRun{ID: "run-1", ThreadID: "t", Status: store.RunRunning, StartedAt: new(int64(99))})
	e.must("creating again", err)
	if created {
		e.Errorf("creating again says that it made the run")
	}
	e.same("what creating again returns", again, before)
	e.same("what is stored after it", e.run("run-1"), before)
}

func (e *env) wantActive(thread, want string) {
	e.Helper()
	run, ok, err := e.stores.Runs.FindActive(e.ctx, thread)
	e.must("finding the active run of "+thread, err)
	if ok != (want != "") || run.ID != want {
		e.Errorf("the active run of %s is %q, want %q", thread, run.ID, want)
	}
}

func runActive(e *env) {
	e.wantActive("thread-1", "")
	for i, id := range []string{"b", "a"} {
		e.create(store.NewRun{ID: id, ThreadID: "thread-1", StartedAt: new(int64(10 + 10*i))})
	}
	e.create(store.NewRun{ID: "c", ThreadID: "thread-2", StartedAt: new(int64(30))})
	e.create(store.NewRun{ID: "d", ThreadID: "thread-1", StartedAt: new(int64(40)), Status: store.RunInterrupted})
	e.wantActive("thread-1", "a")
	e.wantActive("thread-2", "c")
	e.patch("a", finished(store.RunCompleted, 50))
	e.wantActive("thread-1", "b")
	e.patch("b", finished(store.RunAborted, 50))
	e.wantActive("thread-1", "")
	for _, id := range []string{"z1", "z2", "Z3"} {
		e.create(store.NewRun{ID: id, ThreadID: "thread-3", StartedAt: new(int64(10))})
	}
	e.wantActive("thread-3", "z2")
}

// four are values for the durable fields.
func four(key string, since int64, cancel bool, epoch uint64) store.RunFields {
	return store.RunFields{SandboxKey: &key, DetachedSince: &since, CancelRequested: &cancel, DriverEpoch: &epoch}
}

// wantFour checks the durable fields of run-1, and that nothing else of it changed.
func (e *env) wantFour(want store.RunFields) {
	e.Helper()
	e.same("run", e.run("run-1"), store.Run{
		ID: "run-1", ThreadID: "t", Status: store.RunRunning, StartedAt: 1, SandboxKey: want.SandboxKey,
		DetachedSince: want.DetachedSince, CancelRequested: want.CancelRequested, DriverEpoch: want.DriverEpoch,
	})
}

// durable makes run-1 with all four fields.
func (e *env) durable() store.RunFields {
	e.Helper()
	fields := four("key-1", 500, true, 1)
	e.start("run-1")
	e.patch("run-1", store.RunPatch{Set: fields})
	return fields
}

func durableNone(e *env) {
	e.start("run-1")
	e.wantFour(store.RunFields{})
}

func durableSet(e *env) { e.wantFour(e.durable()) }

func durableLeft(e *env) {
	fields := e.durable()
	e.patch("run-1", store.RunPatch{Set: store.RunFields{DriverEpoch: new(uint64(2))}})
	fields.DriverEpoch = new(uint64(2))
	e.wantFour(fields)
	e.patch("run-1", store.RunPatch{})
	e.wantFour(fields)
}

func durableCleared(e *env) {
	fields := e.durable()
	e.patch("run-1", store.RunPatch{Clear: []store.RunField{store.FieldDetachedSince}})
	fields.DetachedSince = nil
	e.wantFour(fields)
}

func durableFalse(e *env) {
	fields := e.durable()
	e.patch("run-1", store.RunPatch{Set: store.RunFields{CancelRequested: new(false)}})
	fields.CancelRequested = new(false)
	e.wantFour(fields)
}

func durableSetAgain(e *env) {
	e.durable()
	e.patch("run-1", store.RunPatch{Clear: []store.RunField{store.FieldDetachedSince}})
	fields := four("key-2", 900, true, 3)
	e.patch("run-1", store.RunPatch{Set: fields})
	e.wantFour(fields)
}

func durableAllCleared(e *env) {
	e.durable()
	e.patch("run-1", store.RunPatch{Clear: []store.RunField{
		store.FieldSandboxKey, store.FieldDetachedSince, store.FieldCancelRequested, store.FieldDriverEpoch,
	}})
	e.wantFour(store.RunFields{})
}

func runUnknown(e *env) {
	for _, patch := range []store.RunPatch{{}, finished(store.RunCompleted, 5), {Clear: []store.RunField{store.FieldSandboxKey}}} {
		existed, err := e.stores.Runs.Patch(e.ctx, "nobody", patch)
		e.must("patching a run that is not there", err)
		if existed {
			e.Errorf("patching a run that is not there says that it is")
		}
	}
	_, ok, err := e.stores.Runs.Get(e.ctx, "nobody")
	e.must("getting", err)
	if ok {
		e.Errorf("a patch made a run")
	}
}

func runNow(e *env) {
	run := e.create(store.NewRun{ID: "run-1", ThreadID: "t"})
	e.recent("the start of a run that is given none", run.StartedAt)
	zero := e.create(store.NewRun{ID: "run-2", ThreadID: "t", StartedAt: new(int64(0))})
	e.equal("the start of a run that began with the epoch", zero.StartedAt, int64(0))
	e.patch("run-1", store.RunPatch{
		Set: store.RunFields{Status: new(store.RunCompleted), SandboxKey: new("k")},
		Now: []store.RunField{store.FieldFinishedAt, store.FieldDetachedSince},
	})
	got := e.run("run-1")
	for what, at := range map[string]*int64{"finishedAt": got.FinishedAt, "detachedSince": got.DetachedSince} {
		if at == nil {
			e.Errorf("%s is absent after it was set to now", what)
			continue
		}
		e.recent(what, *at)
		if *at < run.StartedAt-1000 { // a clock may be set back a little
			e.Errorf("%s is %d, and the run started at %d by the same clock", what, *at, run.StartedAt)
		}
	}
	if got.Status != store.RunCompleted || got.SandboxKey == nil {
		e.Errorf("what was set beside is not there: %+v", got)
	}
}

func runError(e *env) {
	e.start("run-1")
	usage := json.RawMessage(`{"b":1,"a":[1.50,"é\u0000",null]}`)
	e.patch("run-1", store.RunPatch{Set: store.RunFields{Usage: usage, Error: &store.RunError{Message: "é \"x\"\n", Code: "E1"}}})
	got := e.run("run-1")
	if !samePayload(got.Usage, usage) {
		e.Errorf("usage is %s, want %s", got.Usage, usage)
	}
	e.same("error", got.Error, &store.RunError{Message: "é \"x\"\n", Code: "E1"})
	e.patch("run-1", store.RunPatch{Set: store.RunFields{Error: &store.RunError{Message: "other"}}})
	e.same("error without a code after one with", e.run("run-1").Error, &store.RunError{Message: "other"})
	e.patch("run-1", store.RunPatch{Set: store.RunFields{Error: &store.RunError{}}})
	e.same("empty error", e.run("run-1").Error, &store.RunError{})
	e.patch("run-1", store.RunPatch{Clear: []store.RunField{store.FieldError, store.FieldUsage, store.FieldFinishedAt}})
	if got := e.run("run-1"); got.Error != nil || got.Usage != nil {
		e.Errorf("error and usage are %v and %s after they were cleared", got.Error, got.Usage)
	}
}

func runInvalid(e *env) {
	e.start("run-1")
	e.patch("run-1", store.RunPatch{})
	for name, run := range map[string]store.NewRun{
		"no id": {ThreadID: "t"}, "no thread": {ID: "r"}, "a NUL": {ID: "r\x00", ThreadID: "t"}, "no status": {ID: "r", ThreadID: "t", Status: "done"},
	} {
		_, _, err := e.stores.Runs.CreateOrGet(e.ctx, run)
		e.wantErr("creating a run with "+name, err, store.ErrInvalid)
	}
	for name, patch := range map[string]store.RunPatch{
		"an unknown status":   {Set: store.RunFields{Status: new(store.RunStatus("done"))}},
		"a cleared status":    {Clear: []store.RunField{store.FieldStatus}},
		"an unknown field":    {Clear: []store.RunField{"startedAt"}},
		"a field twice":       {Set: four("k", 1, true, 1), Clear: []store.RunField{store.FieldSandboxKey}},
		"a time that is none": {Now: []store.RunField{store.FieldUsage}},
		"a usage that is not": {Set: store.RunFields{Usage: json.RawMessage(`{`)}},
	} {
		_, err := e.stores.Runs.Patch(e.ctx, "run-1", patch)
		e.wantErr("a patch with "+name, err, store.ErrInvalid)
	}
	e.wantFour(store.RunFields{})
}

func runHandles(e *env) {
	other := e.openStores()
	for i := range 8 {
		id := fmt.Sprintf("run-%d", i)
		e.start(id)
		if _, ok, err := other.Runs.Get(e.ctx, id); err != nil || !ok {
			e.Errorf("the other handle sees of run %s: %v, %v", id, ok, err)
		}
		if _, err := other.Runs.Patch(e.ctx, id, finished(store.RunCompleted, 5)); err != nil {
			e.Errorf("patching through the other handle: %v", err)
		}
		if got := e.run(id); got.Status != store.RunCompleted {
			e.Errorf("run %s is %q after the other handle completed it", id, got.Status)
		}
	}
}
