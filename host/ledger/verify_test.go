package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

// TestVerifyNamesTheRow damages every row of a ledger in every way, one at a time, and wants the report
// to name that row and no other sandbox. It does so with ids that lie behind one another, as in SQLite,
// and with gaps in them and foreign rows between, as in PostgreSQL.
func TestVerifyNamesTheRow(t *testing.T) {
	t.Parallel()
	for name, sparse := range map[string]bool{"dense": false, "sparse": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVault(t)
			v.write(store.Key{Name: "run", SandboxID: "other"}, 3)
			key := store.Key{Name: "run", SandboxID: "s"}
			v.write(key, 1, 4, 2, 1, 5)
			v.write(store.Key{Name: "run", SandboxID: "after"}, 2)
			foreign := uint64(0)
			if sparse {
				for _, statement := range []string{
					`UPDATE alineo_events SET id = -id * 10 - id % 3`, `UPDATE alineo_events SET id = -id`,
					`UPDATE alineo_host_segments SET first_id = first_id * 10 + first_id % 3, last_id = last_id * 10 + last_id % 3`,
				} {
					v.sql(statement)
				}
				// Others' rows, within and between segments, newer and older than those beside them.
				for _, e := range v.entries(key) {
					v.sql(`INSERT INTO alineo_events(id, sandbox_id, name, step_idx, event, ts) VALUES (?, 's', 'run', 1, 'mine', ?)`, e.ID+3, e.TS+e.ID%3-1)
					foreign++
				}
			}
			if r := v.whole(nil)[key]; r.Foreign != foreign || r.Chained != 13 {
				t.Fatalf("before any damage: %+v", r)
			}
			heads := v.heads()
			var ours []store.Entry
			for _, e := range v.entries(key) {
				if e.Event != "mine" {
					ours = append(ours, e)
				}
			}
			for i := range ours {
				damageEach(t, v, heads, ours, i, sparse)
			}
			v.whole(heads)
		})
	}
}

// damageEach damages one row in every way and puts it back.
func damageEach(t *testing.T, v *vault, heads *ledger.Heads, ours []store.Entry, i int, sparse bool) {
	t.Helper()
	e := &ours[i]
	key := store.Key{Name: e.Name, SandboxID: e.SandboxID}
	look := func(what string, row *store.Entry, kinds ...ledger.DamageKind) {
		t.Helper()
		sum, reports := v.verify(heads)
		d := reports[key].Damage
		if d == nil || sum.Damaged != 1 {
			t.Errorf("%s of row %d: %d sandboxes are damaged, this one: %v", what, i, sum.Damaged, d)
			return
		}
		if sparse && kinds[0] == ledger.DamageDeleted {
			kinds[0] = d.Kind // a row of others may look as if it was put in its place
		}
		if kind := kinds[0]; d.Kind != kind && (len(kinds) < 2 || d.Kind != kinds[1]) {
			t.Errorf("%s of row %d is called %q: %s", what, i, d.Kind, d.Text)
		}
		if sparse && (len(kinds) == 1 || len(d.Among) > 0) {
			// Beside others' rows it can't be known which one it is, and of one that is gone not which id it had:
			// those are named between which it was.
			near := d.ID
			if d.Kind == ledger.DamageDeleted {
				if _, err := fmt.Sscanf(strings.Map(digits, d.Text), "%d", &near); err != nil {
					t.Errorf("%s of row %d: %s", what, i, d.Text)
				}
			}
			if !slices.Contains(d.Among, row.ID) && (near < row.ID-30 || near > row.ID+30) {
				t.Errorf("%s of row %d, id %d: %s", what, i, row.ID, d.Text)
			}
			return
		}
		if d.ID != row.ID {
			t.Errorf("%s of row %d, id %d, is named %d: %s", what, i, row.ID, d.ID, d.Text)
		}
		if d.Kind == ledger.DamageEdited && d.Event == "" {
			t.Errorf("%s of row %d: no event in %+v", what, i, d)
		}
	}
	restore := func(e *store.Entry) {
		t.Helper()
		v.sql(`INSERT OR REPLACE INTO alineo_events(id, sandbox_id, name, step_idx, event, payload, ts) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			e.ID, e.SandboxID, e.Name, e.StepIndex, e.Event, string(e.Payload), e.TS)
	}
	for _, set := range []string{
		`payload = '{}'`, `payload = NULL`, `event = 'exec.killed'`, `step_idx = 77`, `error = 'x'`, `branch = 1`, `ts = ts + 1000000`, `ts = ts - 1000000`,
		`payload = 'broken'`,
	} {
		v.sql(`UPDATE alineo_events SET `+set+` WHERE id = ?`, e.ID)
		look(set, e, ledger.DamageEdited)
		restore(e)
	}
	v.sql(`UPDATE alineo_events SET sandbox_id = 'elsewhere' WHERE id = ?`, e.ID)
	look("removal to another sandbox", e, ledger.DamageDeleted)
	restore(e)
	v.sql(`DELETE FROM alineo_events WHERE id = ?`, e.ID)
	look("deletion", e, ledger.DamageDeleted)
	restore(e)
	if i > 0 {
		before := &ours[i-1]
		for _, pair := range [][2]*store.Entry{{e, before}, {before, e}} {
			v.sql(`UPDATE alineo_events SET payload = ?, ts = ?, event = ?, step_idx = ? WHERE id = ?`,
				string(pair[1].Payload), pair[1].TS, pair[1].Event, pair[1].StepIndex, pair[0].ID)
		}
		look("exchange with the one before", before, ledger.DamageMoved, ledger.DamageEdited)
		restore(e)
		restore(before)
	}
	// The rows from here on are cut off.
	for j := i; j < len(ours); j++ {
		v.sql(`DELETE FROM alineo_events WHERE id = ?`, ours[j].ID)
	}
	look("truncation", e, ledger.DamageDeleted)
	for j := i; j < len(ours); j++ {
		restore(&ours[j])
	}
}

func digits(r rune) rune {
	if r < '0' || r > '9' {
		return ' '
	}
	return r
}

// TestVerifyChain damages our own tables.
func TestVerifyChain(t *testing.T) {
	t.Parallel()
	key := store.Key{Name: "run", SandboxID: "s"}
	const last = `last_id = (SELECT max(last_id) FROM alineo_host_segments)`
	for name, tc := range map[string]struct {
		statements []string
		kind       ledger.DamageKind
		heads      ledger.DamageKind // with the file of heads; empty: the same
		id         int64
	}{
		"a leaf":          {[]string{`UPDATE alineo_host_segments SET leaves = zeroblob(length(leaves)) WHERE first_id = 2`}, ledger.DamageChain, "", 2},
		"a hash":          {[]string{`UPDATE alineo_host_segments SET hash = zeroblob(32) WHERE first_id = 2`}, ledger.DamageChain, "", 2},
		"an id":           {[]string{`UPDATE alineo_host_segments SET segment_id = zeroblob(16) WHERE first_id = 2`}, ledger.DamageChain, "", 2},
		"a previous hash": {[]string{`UPDATE alineo_host_segments SET previous = zeroblob(32) WHERE first_id = 5`}, ledger.DamageChain, "", 5},
		"a segment gone":  {[]string{`DELETE FROM alineo_host_segments WHERE first_id = 2`}, ledger.DamageChain, "", 5},
		"the first gone":  {[]string{`DELETE FROM alineo_host_segments WHERE first_id = 1`}, ledger.DamageChain, "", 2},
		"the last gone":   {[]string{`DELETE FROM alineo_host_segments WHERE ` + last}, ledger.DamageHead, "", 0},
		"all gone":        {[]string{`DELETE FROM alineo_host_segments`}, ledger.DamageHead, "", 0},
		"the head's count": {
			[]string{`UPDATE alineo_host_heads SET entries = 5`}, ledger.DamageHead, "", 0,
		},
		"the head set back": {
			[]string{`UPDATE alineo_host_heads SET entries = 4, hash = (SELECT hash FROM alineo_host_segments WHERE first_id = 2)`}, ledger.DamageHead, "", 0,
		},
		"the end cut off": {
			[]string{`DELETE FROM alineo_events WHERE id >= 5`, `DELETE FROM alineo_host_segments WHERE first_id >= 5`}, ledger.DamageHead, "", 0,
		},
		"the end cut off and the head with it": {
			[]string{
				`DELETE FROM alineo_events WHERE id >= 5`, `DELETE FROM alineo_host_segments WHERE first_id >= 5`,
				`UPDATE alineo_host_heads SET entries = 4, hash = (SELECT hash FROM alineo_host_segments WHERE first_id = 2)`,
			},
			"", ledger.DamageCutBack, 0,
		},
		"everything gone": {
			[]string{`DELETE FROM alineo_events`, `DELETE FROM alineo_host_segments`, `DELETE FROM alineo_host_heads`}, "", ledger.DamageGone, 0,
		},
		"the chain gone, and the rows there": {
			[]string{`DELETE FROM alineo_host_segments`, `DELETE FROM alineo_host_heads`}, "", ledger.DamageCutBack, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVault(t)
			v.write(key, 1, 3, 3, 1)
			heads := v.heads()
			for _, s := range tc.statements {
				v.sql(s)
			}
			for with, heads := range map[string]*ledger.Heads{"": nil, "with heads": heads} {
				kind := tc.kind
				if heads != nil && tc.heads != "" {
					kind = tc.heads
				}
				_, reports := v.verify(heads)
				var d ledger.Damage
				if r := reports[key]; r != nil && r.Damage != nil {
					d = *r.Damage
				}
				if d.Kind != kind || tc.id != 0 && d.ID != tc.id {
					t.Errorf("%s: got %+v, want %q", with, d, kind)
				}
			}
			if _, err := ledger.VerifySandbox(t.Context(), v.st, key); err != nil {
				t.Error(err)
			}
			v.export() // it never fails
		})
	}
}

func TestVerifyForeignRows(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	rnd := newRand(t)
	keys := v.random(rnd, 6)
	want := map[store.Key]uint64{}
	for range 40 {
		key := keys[rnd.IntN(len(keys))]
		entries := v.entries(key)
		e := entries[rnd.IntN(len(entries))]
		v.foreign(store.Entry{
			TS: e.TS + rnd.Int64N(3) - 1, Name: key.Name, SandboxID: key.SandboxID, StepIndex: 1, Event: "theirs",
			Payload: json.RawMessage([]string{`{}`, `nothing`, `{"a":1,"a":1}`}[rnd.IntN(3)]),
		})
		want[key]++
		if rnd.IntN(3) == 0 {
			v.write(key, 1+rnd.IntN(3)) // ours and theirs by turns
		}
	}
	v.heads()
	for key, r := range v.whole(nil) {
		if r.Foreign != want[key] || r.Chained+r.Foreign != r.Entries {
			t.Errorf("%s: %+v, want %d foreign rows", key, r, want[key])
		}
	}
}

// TestVerifyWhileWriting verifies and exports a ledger that two writers append to all the while, and
// that loses sandboxes: nothing of it may be called damaged or foreign.
func TestVerifyWhileWriting(t *testing.T) {
	t.Parallel()
	v, to := newVault(t), newVault(t)
	ctx, cancel := context.WithCancel(t.Context())
	w := ledger.NewWriter(v.st, ledger.WriterOptions{MaxBatchRows: 3})
	var writers sync.WaitGroup
	for _, id := range []string{"a", "b", "c"} {
		writers.Go(func() {
			for ctx.Err() == nil {
				s, err := w.Open(ctx, store.Key{Name: "run", SandboxID: id})
				if err != nil {
					return
				}
				for range 50 {
					if err := s.Append(ctx, ledger.Event{Step: 1, Name: "step.x", Payload: json.RawMessage(`{"a":1}`)}); err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrConflict) {
						t.Error(err)
					}
				}
				if id == "c" {
					if _, err := v.st.DeleteSandbox(ctx, store.Key{Name: "run", SandboxID: id}); err != nil && ctx.Err() == nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for range 10 {
		_, reports := v.verify(nil)
		for key, r := range reports {
			// One that is deleted and begun anew each time it is looked at can't be judged, which Live says.
			if r.Foreign > 0 || r.Damage != nil && (!r.Live || key.SandboxID != "c") {
				t.Errorf("%s: %+v, %+v", key, r, r.Damage)
			}
		}
		var out bytes.Buffer
		r, err := ledger.Export(t.Context(), v.st, &out, ledger.ExportOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) { // of the one that is deleted there may be anything
			if (strings.Contains(line, `"broken":true`) || strings.HasPrefix(line, `{"unchained":`)) && (!strings.Contains(line, `"c"`) || r.Live == 0) {
				t.Errorf("an export of a ledger that is written to: %+v has %s", r, line)
			}
		}
		if _, err := ledger.CheckExport(bytes.NewReader(out.Bytes())); err != nil {
			t.Error(err)
		}
	}
	cancel()
	writers.Wait()
	if err := w.Close(context.Background()); err != nil {
		t.Error(err)
	}
	export, _ := v.export()
	to.load(export)
}

// deleting is a ledger of which a sandbox is deleted, and another of its name begun, before its rows are read.
type deleting struct {
	vaultStore
	once sync.Once
	then func()
}

func (d *deleting) Read(ctx context.Context, key store.Key, opts store.ReadOptions) (store.Page, error) {
	d.once.Do(d.then)
	return d.Ledger.Read(ctx, key, opts)
}

// A sandbox that is deleted between its segments and its rows is not called damaged, but alive.
func TestExportWhileDeleting(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"deleted": false, "begun anew": true} {
		v := newVault(t)
		key := store.Key{Name: "run", SandboxID: "c"}
		v.write(key, 3, 3, 3)
		st := &deleting{vaultStore: vaultStore{v.st, v.st}, then: func() {
			if _, err := v.st.DeleteSandbox(t.Context(), key); err != nil {
				t.Error(err)
			}
			if again {
				v.write(key, 2)
			}
		}}
		r, err := ledger.Export(t.Context(), st, io.Discard, ledger.ExportOptions{})
		if err != nil || r.Live != 1 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestHeadsFile(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.random(newRand(t), 5)
	heads := v.heads()
	var file, again bytes.Buffer
	n, err := heads.WriteTo(&file)
	if err != nil || n != int64(file.Len()) {
		t.Fatalf("%d of %d, %v", n, file.Len(), err)
	}
	read, err := ledger.ReadHeads(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = read.WriteTo(&again); err != nil || again.String() != file.String() || read.Len() != 5 {
		t.Errorf("got %s\nwant %s, %v", &again, &file, err)
	}
	for n := range file.Len() - 1 {
		if _, err := ledger.ReadHeads(bytes.NewReader(file.Bytes()[:n])); err == nil {
			t.Fatalf("the first %d bytes of it are accepted", n)
		}
	}
	if sum, _ := v.verify(read); sum.Heads != 5 || sum.Damaged != 0 {
		t.Errorf("got %+v", sum)
	}
	// One that is damaged gives no head to compare with later.
	v.sql(`UPDATE alineo_events SET event = 'edited' WHERE id = 1`)
	_, reports := v.verify(nil)
	later := &ledger.Heads{}
	for _, r := range reports {
		if added := later.Add(r); added != (r.Damage == nil) {
			t.Errorf("%s, damaged: %t, is added: %t", r.Key, r.Damage != nil, added)
		}
	}
	if later.Len() != 4 {
		t.Errorf("%d heads, want those of the 4 that are whole", later.Len())
	}
}

func TestVerifyUnknown(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	_, err := ledger.Verify(t.Context(), v.st, ledger.VerifyOptions{Keys: []store.Key{{Name: "a", SandboxID: "b"}}})
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	type bare struct{ store.Ledger }
	_, err = ledger.Verify(t.Context(), bare{v.st}, ledger.VerifyOptions{})
	if !errors.Is(err, store.ErrUnsupported) || !strings.Contains(err.Error(), "does not list the heads") {
		t.Errorf("got %v", err)
	}
}
