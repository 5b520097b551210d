package storetest

import (
	"fmt"
	"sync/atomic"

	"github.com/alineo-labs/alineo-host/host/store"
)

func fencedCases() []Case {
	level := []Feature{FeatureRuns, FeatureFenced}
	return []Case{
		{Name: "fenced/claim", Rule: "each claim has an epoch one higher than the last, and comes with the record", Needs: level, run: claimed},
		{Name: "fenced/claim-refused", Rule: "a run that has ended or is not there can't be claimed, and nothing of it changes", Needs: level, run: claimRefused},
		{Name: "fenced/claim-race", Rule: "of many that claim at once, through several handles, no two get the same epoch", Needs: level, run: claimRace},
		{Name: "fenced/patch-if", Rule: "a conditional patch changes a run only for the driver that has the epoch", Needs: level, run: patchIf},
		{Name: "fenced/patch-if-ended", Rule: "a conditional patch changes no run that has ended", Needs: level, run: patchIfEnded},
		{Name: "fenced/patch-if-race", Rule: "of many that end a run at once, through several handles, one does", Needs: level, run: patchIfRace},
		{Name: "fenced/superseded", Rule: "a driver that was superseded through another handle can't end the run", Needs: level, run: superseded},
	}
}

func (e *env) claim(s Stores, id string, epoch uint64) {
	e.Helper()
	got, err := s.Runs.Claim(e.ctx, id)
	e.must("claiming "+id, err)
	if got.Outcome != store.Claimed || got.Epoch != epoch || got.Run.DriverEpoch == nil || *got.Run.DriverEpoch != epoch || got.Run.ID != id {
		e.Errorf("the claim of %s is %s with epoch %d of %+v, want epoch %d", id, got.Outcome, got.Epoch, got.Run, epoch)
	}
}

func claimed(e *env) {
	e.start("run-1")
	e.start("run-2")
	for epoch := range uint64(3) {
		e.claim(e.stores, "run-1", epoch+1)
	}
	e.claim(e.stores, "run-2", 1)
	e.patch("run-1", store.RunPatch{Set: store.RunFields{Status: new(store.RunInterrupted), SandboxKey: new("k"), CancelRequested: new(true)}})
	e.claim(e.stores, "run-1", 4)
	e.same("run", e.run("run-1"), store.Run{
		ID: "run-1", ThreadID: "t", Status: store.RunInterrupted, StartedAt: 1, SandboxKey: new("k"), CancelRequested: new(true), DriverEpoch: new(uint64(4)),
	})
	if !e.stores.Runs.Features().Fenced {
		e.Errorf("Features does not say Fenced")
	}
}

func claimRefused(e *env) {
	got, err := e.stores.Runs.Claim(e.ctx, "nobody")
	e.must("claiming a run that is not there", err)
	e.same("claim of a run that is not there", got, store.Claim{Outcome: store.ClaimUnknown})
	if _, ok, err := e.stores.Runs.Get(e.ctx, "nobody"); err != nil || ok {
		e.Errorf("a claim made a run: %v", err)
	}
	for _, status := range []store.RunStatus{store.RunCompleted, store.RunFailed, store.RunAborted} {
		id := string(status)
		e.start(id)
		e.claim(e.stores, id, 1)
		e.patch(id, finished(status, 5))
		before := e.run(id)
		got, err := e.stores.Runs.Claim(e.ctx, id)
		e.must("claiming a run that has ended", err)
		e.same("claim of a run that has ended", got, store.Claim{Outcome: store.ClaimTerminal, Run: before})
		e.same("the run after it", e.run(id), before)
	}
}

func claimRace(e *env) {
	e.start("run-1")
	handles := e.two()
	const n = 16
	epochs := make([]uint64, n)
	e.atOnce("claiming at once", n, func(i int) error {
		got, err := handles[i%2].Runs.Claim(e.ctx, "run-1")
		if err == nil && got.Outcome != store.Claimed {
			err = fmt.Errorf("the outcome is %s", got.Outcome)
		}
		epochs[i] = got.Epoch
		return err
	})
	seen := map[uint64]bool{}
	for _, epoch := range epochs {
		if seen[epoch] || epoch < 1 || epoch > n {
			e.Errorf("epochs are %v, want each from 1 to %d once", epochs, n)
			break
		}
		seen[epoch] = true
	}
	e.equal("epoch after it", *e.run("run-1").DriverEpoch, uint64(n))
}

// patchedIf patches conditionally and checks what came of it.
func (e *env) patchedIf(s Stores, id string, epoch uint64, patch store.RunPatch, applied bool) {
	e.Helper()
	got, err := s.Runs.PatchIf(e.ctx, id, epoch, patch)
	e.must("patching conditionally", err)
	if got.Applied != applied || !got.Existed {
		e.Errorf("patching %s of epoch %d: applied is %v and existed %v, want %v and true", id, epoch, got.Applied, got.Existed, applied)
	}
	e.same("what a conditional patch returns", got.Run, e.run(id))
}

func patchIf(e *env) {
	key := store.RunPatch{Set: store.RunFields{SandboxKey: new("k")}}
	got, err := e.stores.Runs.PatchIf(e.ctx, "nobody", 1, key)
	e.must("patching a run that is not there", err)
	e.same("what came of a run that is not there", got, store.PatchResult{})
	e.start("run-1")
	e.patchedIf(e.stores, "run-1", 0, key, false) // which was never claimed
	e.claim(e.stores, "run-1", 1)
	e.claim(e.stores, "run-1", 2)
	for _, epoch := range []uint64{0, 1, 3} {
		e.patchedIf(e.stores, "run-1", epoch, key, false)
		e.patchedIf(e.stores, "run-1", epoch, store.RunPatch{}, false)
	}
	e.wantFour(store.RunFields{DriverEpoch: new(uint64(2))})
	e.patchedIf(e.stores, "run-1", 2, key, true)
	e.patchedIf(e.stores, "run-1", 2, store.RunPatch{Set: store.RunFields{CancelRequested: new(true)}, Clear: []store.RunField{store.FieldSandboxKey}}, true)
	e.wantFour(store.RunFields{DriverEpoch: new(uint64(2)), CancelRequested: new(true)})
	e.patchedIf(e.stores, "run-1", 2, store.RunPatch{}, true)
	_, err = e.stores.Runs.PatchIf(e.ctx, "run-1", 2, store.RunPatch{Set: store.RunFields{DriverEpoch: new(uint64(9))}})
	e.wantErr("patching the epoch conditionally", err, store.ErrInvalid)
}

func patchIfEnded(e *env) {
	for _, status := range []store.RunStatus{store.RunCompleted, store.RunFailed, store.RunAborted} {
		id := string(status)
		e.start(id)
		e.claim(e.stores, id, 1)
		e.patchedIf(e.stores, id, 1, finished(status, 5), true)
		e.patchedIf(e.stores, id, 1, finished(store.RunAborted, 6), false)
		e.patchedIf(e.stores, id, 1, store.RunPatch{Set: store.RunFields{Status: new(store.RunRunning)}}, false)
		if got := e.run(id); got.Status != status || *got.FinishedAt != 5 {
			e.Errorf("%s is %s of %d after others wanted to end it", id, got.Status, *got.FinishedAt)
		}
	}
}

func patchIfRace(e *env) {
	handles := e.two()
	e.start("run-1")
	e.claim(e.stores, "run-1", 1)
	var applied atomic.Int32
	e.atOnce("ending at once", 8, func(i int) error {
		got, err := handles[i%2].Runs.PatchIf(e.ctx, "run-1", 1, finished(store.RunCompleted, int64(i)))
		if got.Applied {
			applied.Add(1)
		}
		return err
	})
	if n := applied.Load(); n != 1 {
		e.Errorf("%d of 8 ended the run, want 1", n)
	}
}

func superseded(e *env) {
	handles := e.two()
	e.start("run-1")
	e.claim(handles[0], "run-1", 1)
	e.claim(handles[1], "run-1", 2)
	e.patchedIf(handles[0], "run-1", 1, finished(store.RunFailed, 5), false)
	e.patchedIf(handles[1], "run-1", 2, finished(store.RunCompleted, 6), true)
	e.patchedIf(handles[0], "run-1", 1, finished(store.RunFailed, 7), false)
	if got := e.run("run-1"); got.Status != store.RunCompleted {
		e.Errorf("the run is %s, want what its driver made it", got.Status)
	}
}
