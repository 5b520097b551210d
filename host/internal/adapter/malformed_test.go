package adapter_test

import (
	"context"
	"database/sql"
	"path/filepath"
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
