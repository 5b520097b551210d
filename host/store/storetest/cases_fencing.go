package storetest

import (
	"errors"
	"fmt"

	"github.com/alineo-labs/alineo-host/host/store"
)

func fencingCases() []Case {
	return []Case{
		{"head/new", "the head of a sandbox that nobody wrote to has no steps, no time, no hash", nil, headNew},
		{"head/stands", "the head says the highest step, the highest time, the count and the last segment", nil, headStands},
		{"head/foreign", "the head knows of the steps and times of rows that others wrote", []Feature{FeatureForeignRows}, headForeign},
		{"head/epoch", "each claim has a higher epoch than the one before", nil, headEpoch},
		{"fencing/epoch", "a driver whose claim was taken over can't write (conflict, naming the segment)", nil, fenceEpoch},
		{"fencing/previous", "a segment that follows the wrong hash is refused (conflict, naming the segment)", nil, fencePrevious},
		{"fencing/unclaimed", "a sandbox that nobody claimed can't be written to", nil, fenceUnclaimed},
		{"fencing/independent", "a claim of one sandbox leaves the others' drivers alone", nil, fenceIndependent},
		{"fencing/deleted", "a late write after a deletion is refused and revives nothing", nil, fenceDeleted},
		{"retry/identical", "an identical batch sent again is acknowledged and written once", nil, retryIdentical},
		{"retry/after-claim", "an applied segment is recognised after another driver's claim", nil, retryAfterClaim},
		{"retry/alone", "a segment that came in company is recognised when it is sent alone", nil, retryAlone},
		{"retry/late", "an applied segment that others followed is never written twice", nil, retryLate},
		{"retry/differs", "another segment in the place of an applied one is a conflict", nil, retryDiffers},
		{"retry/refused", "a refused segment is not remembered as applied", nil, retryRefused},
	}
}

func headNew(e *env) {
	head, err := e.OpenLedger(e.ctx, store.Key{Name: "run", SandboxID: "id-1"})
	e.must("claiming", err)
	if head.Epoch == 0 || head.LastStep != -1 || head.MaxTS != 0 || head.Entries != 0 || len(head.Hash) != 0 || len(head.SegmentID) != 0 {
		e.Errorf("head is %+v, want an epoch and LastStep -1 and nothing else", head)
	}
}

func headStands(e *env) {
	d := e.drive("run", "id-1")
	d.append(event(50, "sandbox.created", `{}`), step(70, 4, "exec.started", `{}`))
	s := d.segment(step(60, 3, "exec.started", `{}`))
	e.must("appending", e.Append(e.ctx, &store.Batch{Segments: []store.Segment{s}}))
	head, err := e.OpenLedger(e.ctx, d.key)
	e.must("claiming", err)
	want := store.Head{Epoch: head.Epoch, LastStep: 4, MaxTS: 70, Entries: 3, Hash: s.Hash[:], SegmentID: s.ID[:]}
	e.equal("head", head, want)
}

func headForeign(e *env) {
	d := e.drive("run", "id-1")
	d.append(event(50, "sandbox.created", `{}`))
	foreign := []store.Entry{step(90, 9, "exec.started", `{"seq":9}`), event(80, "x", "")}
	for i := range foreign {
		foreign[i].Name, foreign[i].SandboxID = d.key.Name, d.key.SandboxID
	}
	e.must("inserting foreign rows", e.storage.Insert(e.ctx, foreign))
	head, err := e.OpenLedger(e.ctx, d.key)
	e.must("claiming", err)
	e.equal("last step", head.LastStep, int64(9))
	e.equal("highest time", head.MaxTS, int64(90))
	e.equal("entries", head.Entries, uint64(1))
	e.equal("hash", head.Hash, d.prev)
	d.epoch = head.Epoch
	d.append(step(91, 10, "exec.started", `{}`))
	e.equal("events", events(e.read(e.Ledger, d.key)), "sandbox.created x exec.started exec.started")
}

func headEpoch(e *env) {
	last := uint64(0)
	for range 4 {
		d := e.drive("run", "id-1")
		if d.epoch <= last {
			e.Errorf("epoch %d follows %d", d.epoch, last)
		}
		last = d.epoch
		d.append(event(1, "x", `{}`))
	}
}

// refused checks that a batch answers ErrConflict and names the segment.
func (e *env) refused(doing string, segment int, segments ...store.Segment) {
	e.Helper()
	err := e.Append(e.ctx, &store.Batch{Segments: segments})
	e.wantErr(doing, err, store.ErrConflict)
	if at, ok := errors.AsType[*store.SegmentError](err); !ok {
		e.Errorf("%s: error %v has no *store.SegmentError", doing, err)
	} else if at.Segment != segment {
		e.Errorf("%s: the error names segment %d, want %d", doing, at.Segment, segment)
	}
}

func fenceEpoch(e *env) {
	old := e.drive("run", "id-1")
	old.append(event(1, "old", `{}`))
	other := e.drive("run", "id-2")
	taken := e.drive("run", "id-1")
	e.refused("appending under the old claim", 0, old.segment(event(2, "late", `{}`)))
	e.refused("appending under the old claim in company", 1,
		other.segment(event(1, "o", `{}`)), old.segment(event(2, "late", `{}`)))
	taken.append(event(3, "new", `{}`))
	e.refused("appending under the old claim after the new driver wrote", 0, old.segment(event(4, "late", `{}`)))
	e.equal("events", events(e.read(e.Ledger, old.key)), "old new")
	e.equal("events of the company", events(e.read(e.Ledger, other.key)), "")
}

func fencePrevious(e *env) {
	d := e.drive("run", "id-1")
	wrong := d.segment(event(1, "x", `{}`))
	wrong.Previous = wrong.Hash[:]
	e.refused("appending a first segment that follows something", 0, wrong)
	d.append(event(1, "first", `{}`))
	stale := d.segment(event(2, "x", `{}`))
	stale.Previous = nil
	e.refused("appending a second segment that follows nothing", 0, stale)
	d.append(event(2, "second", `{}`))
	e.equal("events", events(e.read(e.Ledger, d.key)), "first second")
}

func fenceUnclaimed(e *env) {
	d := &driver{e: e, l: e.Ledger, key: store.Key{Name: "run", SandboxID: "id-1"}, epoch: 1}
	e.refused("appending without a claim", 0, d.segment(event(1, "x", `{}`)))
	e.equal("entries", len(e.read(e.Ledger, d.key)), 0)
}

func fenceIndependent(e *env) {
	// The last two have one text when name and id are put together.
	drivers := []*driver{
		e.drive("run", "id-1"), e.drive("other", "id-1"), e.drive("run", "id-2"), e.drive("run", "a/b"), e.drive("run/a", "b"),
	}
	for i, d := range drivers {
		d.append(event(int64(i), "x", `{}`))
		e.equal("events of "+d.key.String(), events(e.read(e.Ledger, d.key)), "x")
	}
}

func fenceDeleted(e *env) {
	d := e.drive("run", "id-1")
	d.append(event(1, "sandbox.created", `{}`))
	_, err := e.DeleteSandbox(e.ctx, d.key)
	e.must("deleting", err)
	e.refused("appending after the deletion", 0, d.segment(event(2, "late", `{}`)))
	e.equal("entries", len(e.read(e.Ledger, d.key)), 0)
	again := e.drive("run", "id-1")
	again.append(event(3, "anew", `{}`))
	e.equal("events after a new claim", events(e.read(e.Ledger, d.key)), "anew")
}

func retryIdentical(e *env) {
	a, b := e.drive("run", "id-1"), e.drive("run", "id-2")
	batch := &store.Batch{Segments: []store.Segment{
		a.segment(event(1, "a1", `{}`), event(2, "a2", `{}`)), b.segment(event(1, "b1", `{}`)),
	}}
	for i := range 4 {
		e.must(fmt.Sprintf("sending the batch, time %d", i+1), e.Append(e.ctx, batch))
	}
	a.applied(batch.Segments[0])
	a.append(event(3, "a3", `{}`))
	e.equal("events of a", events(e.read(e.Ledger, a.key)), "a1 a2 a3")
	e.equal("events of b", events(e.read(e.Ledger, b.key)), "b1")
}

func retryAfterClaim(e *env) {
	d := e.drive("run", "id-1")
	s := d.segment(event(1, "x", `{}`))
	batch := &store.Batch{Segments: []store.Segment{s}}
	e.must("appending", e.Append(e.ctx, batch))
	e.drive("run", "id-1")
	e.must("sending it again after another claim", e.Append(e.ctx, batch))
	e.equal("events", events(e.read(e.Ledger, d.key)), "x")
}

func retryAlone(e *env) {
	a, b := e.drive("run", "id-1"), e.drive("run", "id-2")
	batch := &store.Batch{Segments: []store.Segment{a.segment(event(1, "a", `{}`)), b.segment(event(1, "b", `{}`))}}
	e.must("appending", e.Append(e.ctx, batch))
	for i := range batch.Segments {
		e.must("sending one segment again", e.Append(e.ctx, &store.Batch{Segments: batch.Segments[i : i+1]}))
	}
	e.equal("events of a", events(e.read(e.Ledger, a.key)), "a")
	e.equal("events of b", events(e.read(e.Ledger, b.key)), "b")
}

func retryLate(e *env) {
	d := e.drive("run", "id-1")
	s := d.segment(event(1, "first", `{}`))
	e.must("appending", e.Append(e.ctx, &store.Batch{Segments: []store.Segment{s}}))
	d.applied(s)
	d.append(event(2, "second", `{}`))
	// Both answers are honest: known, or no longer the head.
	if err := e.Append(e.ctx, &store.Batch{Segments: []store.Segment{s}}); err != nil {
		e.wantErr("sending the first segment again", err, store.ErrConflict)
	}
	d.append(event(3, "third", `{}`))
	e.equal("events", events(e.read(e.Ledger, d.key)), "first second third")
}

func retryDiffers(e *env) {
	d := e.drive("run", "id-1")
	s := d.segment(event(1, "x", `{}`))
	e.must("appending", e.Append(e.ctx, &store.Batch{Segments: []store.Segment{s}}))
	e.refused("appending another segment in its place", 0, d.segment(event(1, "y", `{}`)))
	sameID := d.segment(event(1, "z", `{}`))
	sameID.ID = s.ID
	e.refused("appending other content under its id", 0, sameID)
	e.equal("events", events(e.read(e.Ledger, d.key)), "x")
}

func retryRefused(e *env) {
	d := e.drive("run", "id-1")
	d.append(event(1, "first", `{}`))
	s := d.segment(event(2, "second", `{}`))
	s.Previous = nil
	e.refused("appending after the wrong hash", 0, s)
	e.refused("appending it again", 0, s)
	e.equal("events", events(e.read(e.Ledger, d.key)), "first")
}
