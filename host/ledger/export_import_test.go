package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

func TestExportImportExport(t *testing.T) {
	t.Parallel()
	from, to := newVault(t), newVault(t)
	keys := from.random(newRand(t), 12)
	env := store.Environment{Name: "py", SnapshotID: "snap", Image: "python:3", BuiltAt: 5}
	if err := from.st.SaveEnvironment(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	heads := from.heads()
	first, r := from.export()
	if r.Sandboxes != uint64(len(keys)) || r.Unchained != 0 || r.Broken != 0 || r.Environments != 1 {
		t.Errorf("got %+v", r)
	}
	again, _ := from.export()
	if !bytes.Equal(first, again) {
		t.Error("two exports of one ledger differ")
	}
	checked, err := ledger.CheckExport(bytes.NewReader(first))
	if err != nil || checked.SHA256 != r.SHA256 {
		t.Errorf("got %+v, %v", checked, err)
	}

	dry, err := ledger.Import(t.Context(), to.st, bytes.NewReader(first), ledger.ImportOptions{DryRun: true})
	if err != nil || dry.Written != r.Entries {
		t.Fatalf("dry run: %+v, %v", dry, err)
	}
	if _, none := to.export(); none.Entries != 0 {
		t.Fatal("a dry run has written")
	}
	in := to.load(first)
	if in.Verbatim != r.Sandboxes || in.Rechained != 0 || in.Written != r.Entries || in.Verified != r.Sandboxes || in.Environments != 1 {
		t.Errorf("got %+v", in)
	}
	second, _ := to.export()
	if !bytes.Equal(first, second) {
		t.Errorf("the export of what was imported differs:\n%s\n%s", first, second)
	}
	to.whole(heads)

	// Once more: all of it is there.
	if in = to.load(first); in.Written != 0 || in.Already != r.Entries || in.Environments != 0 {
		t.Errorf("the second import: %+v", in)
	}
	// A ledger that was imported is written to as any other.
	to.write(keys[0], 3)
	to.whole(heads)
	_, err = ledger.Import(t.Context(), to.st, bytes.NewReader(first), ledger.ImportOptions{})
	var conflict *ledger.ImportConflictError
	if !errors.As(err, &conflict) || conflict.Key != keys[0] || !errors.Is(err, store.ErrConflict) {
		t.Errorf("importing over a sandbox that went on: %v", err)
	}
}

func TestImportOfForeignRows(t *testing.T) {
	t.Parallel()
	from, to, third := newVault(t), newVault(t), newVault(t)
	keys := from.random(newRand(t), 4)
	bad := []store.Entry{
		{TS: 1, Name: keys[0].Name, SandboxID: keys[0].SandboxID, StepIndex: -1, Event: "note", Payload: json.RawMessage(`not json`)},
		{TS: 2, Name: "old", SandboxID: "x", StepIndex: -1, Event: "sandbox_created", Payload: json.RawMessage(`{"a":1,"a":2}`)},
		{TS: 2, Name: "old", SandboxID: "x", StepIndex: -1, Event: "note", Payload: json.RawMessage{}},
		{TS: 2, Name: "old", SandboxID: "x", StepIndex: -1, Event: "note", Payload: json.RawMessage("\xff\x00")},
		{TS: 3, Name: "old", SandboxID: "x", StepIndex: 4, Event: "bad \xff", Branch: new(int64), Error: new(string)},
		{TS: 3, Name: "", SandboxID: "x", StepIndex: 4, Event: ""},
		{TS: 1 << 60, Name: keys[1].Name, SandboxID: keys[1].SandboxID, StepIndex: -1, Event: "late", Payload: json.RawMessage(`null`)},
	}
	from.foreign(bad...)
	reports := from.whole(nil)
	if got := reports[keys[0]]; got.Foreign != 1 || got.FirstForeign.Event != "note" {
		t.Errorf("got %+v", got)
	}
	if got := reports[store.Key{Name: "old", SandboxID: "x"}]; got.Foreign != 4 || got.Chained != 0 {
		t.Errorf("got %+v", got)
	}
	if _, err := ledger.CollectStats(t.Context(), from.st, nil); err != nil {
		t.Error(err)
	}
	first, r := from.export()
	if r.Unchained != uint64(len(bad)) {
		t.Errorf("got %+v\n%s", r, first)
	}
	in := to.load(first)
	if in.Rechained != 4 || in.Verbatim != 2 || in.Damaged != 0 {
		t.Errorf("got %+v", in)
	}
	if in := to.load(first); in.Written != 0 || in.Rechained != 0 || in.Verbatim != 2 {
		t.Errorf("the second time: %+v", in)
	}
	second, r2 := to.export()
	if r2.Content != r.Content || r2.Unchained != 0 || r2.Entries != r.Entries {
		t.Errorf("got %+v, want the content of %+v", r2, r)
	}
	fourth := newVault(t)
	skipped, err := ledger.Import(t.Context(), fourth.st, bytes.NewReader(first), ledger.ImportOptions{SkipMalformed: true})
	if err != nil || skipped.Skipped != 6 || skipped.Written != r.Entries-6 {
		t.Errorf("without malformed entries: %+v, %v", skipped, err)
	}
	// Where entries had no segment they have one now; from here on nothing changes any more.
	third.load(second)
	if last, _ := third.export(); !bytes.Equal(second, last) {
		t.Error("the second round changes the export")
	}
	for _, key := range append(keys, store.Key{Name: "old", SandboxID: "x"}) {
		was, is := from.entries(key), to.entries(key)
		if len(was) != len(is) {
			t.Fatalf("%s has %d entries, had %d", key, len(is), len(was))
		}
		for i := range was {
			if was[i].Event != is[i].Event || was[i].TS != is[i].TS || (was[i].Payload == nil) != (is[i].Payload == nil) {
				t.Errorf("%s: entry %d is %+v, was %+v", key, i, is[i], was[i])
			}
		}
	}
}

func TestUnreadableRows(t *testing.T) {
	t.Parallel()
	v, to := newVault(t), newVault(t)
	key := store.Key{Name: "run", SandboxID: "s"}
	v.write(key, 3, 2)
	v.sql(`INSERT INTO alineo_events(sandbox_id, name, step_idx, event, ts) VALUES ('s', 'run', 1, 'x', 'noon'), ('t', 'run', 1, 'x', 'noon')`)
	reports := v.whole(nil)
	if r := reports[key]; r.Chained != 5 || !strings.Contains(r.Unreadable, "beyond entry 5") {
		t.Errorf("got %+v", r)
	}
	export, r := v.export()
	if len(r.Unreadable) != 2 || r.Entries != 5 || r.Broken != 0 {
		t.Errorf("got %+v", r)
	}
	to.load(export)
	to.whole(nil)
	// A copy has nobody to ask what was left out.
	elsewhere := newVault(t)
	if _, err := ledger.Copy(t.Context(), v.st, elsewhere.st, ledger.ImportOptions{}); err == nil || !strings.Contains(err.Error(), "beyond entry 5") {
		t.Errorf("copying: %v", err)
	}
	if _, r := elsewhere.export(); r.Entries != 0 {
		t.Errorf("%d entries were copied", r.Entries)
	}
	if _, err := ledger.CollectStats(t.Context(), v.st, nil); err != nil {
		t.Error(err)
	}
	// A row of ours that was made unreadable is damage.
	v.sql(`UPDATE alineo_events SET ts = 'noon' WHERE id = 5`)
	if _, reports := v.verify(nil); reports[key].Damage == nil || reports[key].Damage.ID != 5 {
		t.Errorf("got %+v", reports[key])
	}
}

// TestEditedExports changes an export in every way that one line or one byte allows: each is refused,
// and nothing of it is written.
func TestEditedExports(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.write(store.Key{Name: "run", SandboxID: "a"}, 2, 3)
	v.write(store.Key{Name: "run", SandboxID: "b"}, 1)
	v.foreign(store.Entry{TS: 5, Name: "run", SandboxID: "c", Event: "x", Payload: json.RawMessage("}")})
	if err := v.st.SaveEnvironment(t.Context(), store.Environment{Name: "e"}); err != nil {
		t.Fatal(err)
	}
	whole, _ := v.export()
	refuse := func(what string, edited []byte) {
		t.Helper()
		if _, err := ledger.CheckExport(bytes.NewReader(edited)); err == nil {
			t.Errorf("%s is accepted", what)
		} else if at := (*ledger.LineError)(nil); !errors.As(err, &at) || at.Line < 1 {
			t.Errorf("%s: no line in %v", what, err)
		}
	}
	for n := range whole {
		refuse("truncated", whole[:n])
	}
	lines := bytes.SplitAfter(whole[:len(whole)-1], []byte("\n"))
	lines[len(lines)-1] = append(slices.Clone(lines[len(lines)-1]), '\n')
	for i := range lines {
		refuse("a line gone", bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil))
		refuse("a line twice", bytes.Join(slices.Insert(slices.Clone(lines), i, lines[i]), nil))
		if i > 0 {
			other := slices.Clone(lines)
			other[i], other[i-1] = other[i-1], other[i]
			refuse("lines exchanged", bytes.Join(other, nil))
		}
	}
	rnd := newRand(t)
	for range 500 {
		edited := slices.Clone(whole)
		edited[rnd.IntN(len(edited))] ^= byte(1 + rnd.IntN(255))
		refuse("a byte changed", edited)
	}
	to := newVault(t)
	edited := bytes.Replace(whole, []byte(`"line ä 1 of a"`), []byte(`"LINE ä 1 of a"`), 1)
	_, err := ledger.Import(t.Context(), to.st, bytes.NewReader(edited), ledger.ImportOptions{})
	if err == nil || !strings.Contains(err.Error(), "line 4: the segment's hash is not that of its entries, lines 2 to 3") {
		t.Errorf("got %v", err)
	}
	if _, r := to.export(); r.Entries != 0 {
		t.Error("a part of an edited export was written")
	}
}

// failing is a real ledger that fails after some batches. With strict it takes one segment of a sandbox
// in a batch, as one does that moves all heads in one statement.
type failing struct {
	*vaultStore
	left   int
	strict bool
	cancel context.CancelFunc
}

type vaultStore struct {
	store.Ledger
	store.Maintenance
}

func (f *failing) Append(ctx context.Context, b *store.Batch) error {
	seen := map[store.Key]bool{}
	for i := range b.Segments {
		if f.strict && seen[b.Segments[i].Key] {
			return fmt.Errorf("twice: %w", store.ErrConflict)
		}
		seen[b.Segments[i].Key] = true
	}
	if f.left--; f.left < 0 {
		f.cancel()
		return ctx.Err()
	}
	return f.Ledger.Append(ctx, b)
}

func TestInterruptedImport(t *testing.T) {
	t.Parallel()
	for name, strict := range map[string]bool{"batches": false, "one by one": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := newVault(t)
			keys := from.random(newRand(t), 5)
			from.write(store.Key{Name: "run", SandboxID: "large"}, 300, 300, 2, 300, 300, 300, 300, 300, 300, 300, 300)
			from.foreign(store.Entry{TS: 1, Name: keys[0].Name, SandboxID: keys[0].SandboxID, Event: "x"})
			interrupt(t, from, strict)
		})
	}
}

// interrupt imports with an interruption after every number of batches, and goes on.
func interrupt(t *testing.T, from *vault, strict bool) {
	t.Helper()
	export, r := from.export()
	var want []byte
	for n := 0; ; n++ {
		to := newVault(t)
		ctx, cancel := context.WithCancel(t.Context())
		_, err := ledger.Import(ctx, &failing{&vaultStore{to.st, to.st}, n, strict, cancel}, bytes.NewReader(export), ledger.ImportOptions{})
		cancel()
		done := err == nil
		if !done && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		in := to.load(export)
		if in.Written+in.Already != r.Entries || done != (in.Written == 0) {
			t.Errorf("after %d batches: %+v", n, in)
		}
		got, _ := to.export()
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			t.Errorf("after %d batches the ledger is another", n)
		}
		if done {
			if n < 3 || strict && n < 8 {
				t.Errorf("only %d batches", n)
			}
			return
		}
	}
}

func TestImportConflicts(t *testing.T) {
	t.Parallel()
	from := newVault(t)
	key := store.Key{Name: "run", SandboxID: "a"}
	from.write(key, 2, 2)
	if err := from.st.SaveEnvironment(t.Context(), store.Environment{Name: "e", Image: "one"}); err != nil {
		t.Fatal(err)
	}
	export, _ := from.export()
	for name, prepare := range map[string]func(*vault){
		"other entries": func(v *vault) { v.write(key, 1) },
		"foreign rows":  func(v *vault) { v.foreign(store.Entry{Name: "run", SandboxID: "a", Event: "x"}) },
		"more rows": func(v *vault) {
			v.load(export)
			v.foreign(store.Entry{Name: "run", SandboxID: "a", Event: "x"})
		},
		"another environment": func(v *vault) {
			if err := v.st.SaveEnvironment(t.Context(), store.Environment{Name: "e", Image: "two"}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		to := newVault(t)
		prepare(to)
		before, _ := to.export()
		_, err := ledger.Import(t.Context(), to.st, bytes.NewReader(export), ledger.ImportOptions{})
		var conflict *ledger.ImportConflictError
		if !errors.As(err, &conflict) || conflict.Line == 0 || conflict.Key != key && conflict.Environment != "e" {
			t.Errorf("%s: %v", name, err)
		}
		if after, _ := to.export(); !bytes.Equal(before, after) {
			t.Errorf("%s: something was written", name)
		}
	}
}

func TestImportAfterDeletion(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	key := store.Key{Name: "run", SandboxID: "a"}
	v.write(key, 2, 2)
	heads := v.heads()
	export, _ := v.export()
	if _, err := v.st.DeleteSandbox(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	sum, reports := v.verify(heads)
	if sum.Explained != 1 || sum.Damaged != 0 || !strings.Contains(reports[key].Note, "tombstone") {
		t.Errorf("got %+v, %+v", sum, reports[key])
	}
	v.load(export)
	if sum, _ = v.verify(heads); sum.Heads != 1 || sum.Damaged != 0 {
		t.Errorf("got %+v", sum)
	}
}

func TestCopy(t *testing.T) {
	t.Parallel()
	from, to := newVault(t), newVault(t)
	from.random(newRand(t), 6)
	want, r := from.export()
	var last ledger.Progress
	in, err := ledger.Copy(t.Context(), from.st, to.st, ledger.ImportOptions{Progress: func(p ledger.Progress) { last = p }})
	if err != nil || in.Written != r.Entries || in.Verified != 6 {
		t.Fatalf("got %+v, %v", in, err)
	}
	if last.Done != last.Total || last.Total != 2*int64(r.Entries) || last.Entries != int64(r.Entries) {
		t.Errorf("progress ended at %+v", last)
	}
	if got, _ := to.export(); !bytes.Equal(got, want) {
		t.Error("the copy differs")
	}
	if in, err = ledger.Copy(t.Context(), from.st, to.st, ledger.ImportOptions{}); err != nil || in.Written != 0 {
		t.Errorf("again: %+v, %v", in, err)
	}
}

func TestImportOfBrokenSegments(t *testing.T) {
	t.Parallel()
	from, to := newVault(t), newVault(t)
	key := store.Key{Name: "run", SandboxID: "a"}
	from.write(key, 2, 3, 2)
	from.sql(`DELETE FROM alineo_events WHERE id = 4`)
	export, r := from.export()
	if r.Broken != 1 || r.Unchained != 1 {
		t.Errorf("got %+v\n%s", r, export)
	}
	in := to.load(export)
	if in.Damaged != 1 || in.Rechained != 1 || in.Written != 6 {
		t.Errorf("got %+v", in)
	}
	to.whole(nil)
}

// TestExportMemory exports ledgers of two sizes and compares what is live on the heap meanwhile, after a
// collection at every hundredth of the output.
func TestExportMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short leaves out what takes seconds")
	}
	peak := func(entries int) uint64 {
		v := newVault(t)
		batches := make([]int, entries/500)
		for i := range batches {
			batches[i] = 500
		}
		v.write(store.Key{Name: "run", SandboxID: "a"}, batches...)
		w := &heapWriter{every: entries * 2}
		if _, err := ledger.Export(t.Context(), v.st, w, ledger.ExportOptions{}); err != nil {
			t.Fatal(err)
		}
		if w.samples < 20 {
			t.Fatalf("only %d samples", w.samples)
		}
		return w.peak
	}
	small, large := peak(10_000), peak(100_000)
	t.Logf("live on the heap while exporting 10,000 entries: %d kB; 100,000: %d kB", small>>10, large>>10)
	if large > small+4<<20 {
		t.Errorf("exporting 10 times as much takes %d kB more", (large-small)>>10)
	}
}

// heapWriter measures the live heap every so many bytes.
type heapWriter struct {
	every, n, samples int
	peak              uint64
}

func (w *heapWriter) Write(p []byte) (int, error) {
	if w.n += len(p); w.n > w.every*(w.samples+1) {
		w.samples++
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		w.peak = max(w.peak, m.HeapAlloc)
	}
	return len(p), nil
}
