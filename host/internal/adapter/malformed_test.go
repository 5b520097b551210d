package adapter_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/store"
)

// TestMalformedRowsAreNotFatalToListings adds rows that another program got wrong: SQLite keeps a text
// in an integer column. The sandboxes beside them are listed as ever.
func TestMalformedRowsAreNotFatalToListings(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger.db")
	l, err := openSQLite(t.Context(), newRuntime(t), file, "normal")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if _, err := l.ListSandboxes(t.Context(), store.ListOptions{}); err != nil { // makes the schema
		t.Fatal(err)
	}
	good := []store.Entry{{TS: 7, Name: "run", SandboxID: "good", StepIndex: -1, Event: store.EventSandboxCreated}}
	if err := insertForeign(t.Context(), file, good); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), `INSERT INTO alineo_events(sandbox_id, name, step_idx, event, payload, ts) VALUES
		('bad', 'run', -1, 'sandbox.created', '{}', 'xyz'),
		('good', 'run', -1, 'sandbox.created', '{}', 'xyz'),
		('good', 'run', -1, 'sandbox.closed', NULL, 'xyz')`)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	page, err := l.ListSandboxes(t.Context(), store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Sandboxes) != 1 || page.Sandboxes[0].SandboxID != "good" || page.Sandboxes[0].StartedAt != 7 ||
		page.Sandboxes[0].Status != store.StatusRunning {
		t.Errorf("got %+v", page.Sandboxes)
	}
	if d, err := l.FindSandbox(t.Context(), "good"); err != nil || d.StartedAt != 7 {
		t.Errorf("finding: %+v, %v", d, err)
	}
}

// TestMalformedRowsAreRead reads past rows that another program got wrong, in pages of every size.
func TestMalformedRowsAreRead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger.db")
	l, err := openSQLite(t.Context(), newRuntime(t), file, "normal")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	key := store.Key{Name: "run", SandboxID: "id"}
	if _, err := l.OpenLedger(t.Context(), key); err != nil { // makes the schema
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), `INSERT INTO alineo_events(sandbox_id, name, step_idx, branch, event, payload, ts) VALUES
		('id', 'run', 3, NULL, 'a', '{}', 10),
		('id', 'run', 4, NULL, 'no time', '{}', 'xyz'),
		('id', 'run', 'x', 'y', 'no step', '{}', 20),
		('id', 'run', 5, NULL, 'no json', '{"a":', 20),
		('id', 'run', 6, NULL, 'blob', x'7b7d', 30),
		('id', 'run', 7, NULL, 'no time at all', NULL, x'00'),
		('id', 'run', 8, NULL, 'sandbox.checkpoint_created', '{"snapshotId":"s1"}', 'never'),
		('id', 'run', 9, NULL, 'sandbox.checkpoint_created', 'what?', 35),
		('id', 'run', 9, NULL, 'z', '{}', 40)`)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	const want = "no time, no time at all, sandbox.checkpoint_created, a, no step, no json, blob, sandbox.checkpoint_created, z"
	for limit := 1; limit <= 10; limit++ {
		var names []string
		opts := store.ReadOptions{Limit: limit}
		for {
			page, err := l.Read(t.Context(), key, opts)
			if err != nil {
				t.Fatalf("pages of %d: %v", limit, err)
			}
			for i := range page.Entries {
				names = append(names, page.Entries[i].Event)
			}
			if opts.Cursor = page.Cursor; !page.More {
				break
			}
		}
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("pages of %d:\n got %s\nwant %s", limit, got, want)
		}
	}
	all, err := l.ReadAll(t.Context(), store.ReadOptions{})
	if err != nil || len(all.Entries) != 9 {
		t.Errorf("all: %d entries, %v", len(all.Entries), err)
	}
	last, err := l.Read(t.Context(), key, store.ReadOptions{Last: 2})
	if err != nil || len(last.Entries) != 2 || last.Entries[1].Event != "z" {
		t.Errorf("the last: %+v, %v", last.Entries, err)
	}
	if every, err := l.Read(t.Context(), key, store.ReadOptions{Last: 20}); err != nil || len(every.Entries) != 9 {
		t.Errorf("the last 20: %d entries, %v", len(every.Entries), err)
	}
	// A checkpoint without a time is none.
	checkpoints, err := l.ListCheckpoints(t.Context(), key, store.ReadOptions{})
	if err != nil || len(checkpoints.Checkpoints) != 1 || checkpoints.Checkpoints[0].CreatedAt != 35 {
		t.Errorf("checkpoints: %+v, %v", checkpoints, err)
	}
	if e, err := l.LastCheckpoint(t.Context(), key, ""); err != nil || e.TS != 35 {
		t.Errorf("the last checkpoint: %+v, %v", e, err)
	}
	head, err := l.OpenLedger(t.Context(), key)
	if err != nil || head.MaxTS != 40 || head.LastStep != 9 || head.Entries != 0 { // none is in a segment
		t.Errorf("the head is %+v, %v", head, err)
	}
}
