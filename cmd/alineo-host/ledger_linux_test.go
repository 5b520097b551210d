package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// large makes a ledger of six sandboxes with 50,000 events each, as the reference would have written it.
func large(t *testing.T, file string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`CREATE TABLE alineo_events (id INTEGER PRIMARY KEY, sandbox_id TEXT NOT NULL, name TEXT NOT NULL, step_idx INTEGER NOT NULL,
 branch INTEGER, event TEXT NOT NULL, payload TEXT, error TEXT, ts INTEGER NOT NULL)`,
		`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i < 299999) INSERT INTO alineo_events(sandbox_id, name, step_idx, event, payload, ts)
 SELECT 'large-' || (i / 50000), 'job', 1, iif(i % 50000 = 0, 'sandbox.created', 'exec.output'), '{"seq":1,"type":"stdout","text":"line ' || i || '"}', 1000 + i FROM n`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLedgerOnTerminal works with a large ledger as a person does: there are bars, Ctrl-C ends what takes
// too long and leaves nothing behind, what was interrupted goes on, and what removes asks.
func TestLedgerOnTerminal(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("LEFT OUT: what is large takes minutes under the detector, and all of it is one goroutine's")
	}
	dir := t.TempDir()
	large(t, filepath.Join(dir, "large.db"))
	for name, file := range map[string]string{"alineo.toml": "large.db", "other.toml": "other.db"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("[plugins.sqlite.config]\npath = \""+file+"\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const ctrlC = "\x03"
	open := func(args ...string) *window {
		return openWindow(t, dir, 100, 30, append([]string{"ledger"}, args...)...)
	}
	stopped := func(w *window) {
		t.Helper()
		w.typeKeys(t, ctrlC)
		w.await(t, "stopped by interrupt")
		w.ends(t, exitInterrupted)
	}

	w := open("export", "-o", "all.jsonl")
	w.await(t, "exporting  [")
	stopped(w)
	if left, err := filepath.Glob(filepath.Join(dir, "*all.jsonl*")); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
	w = open("verify")
	w.await(t, "verifying  [")
	stopped(w)
	w = open("tail", "--follow", "-n", "1")
	w.await(t, "line 299999")
	stopped(w)

	w = open("export", "--sandbox", "large-3", "-o", "one.jsonl")
	w.await(t, "exporting  ")
	w.await(t, "exported 50000 events of 1 sandbox")
	w.ends(t, 0)
	w = open("-c", "other.toml", "import", "one.jsonl")
	w.await(t, "importing  ["+strings.Repeat("#", barCells/2+2)) // the half of it is looking
	stopped(w)
	w = open("-c", "other.toml", "import", "one.jsonl")
	w.await(t, "there already: ")
	w.await(t, "verified 1 sandbox")
	w.ends(t, 0)

	w = open("-c", "other.toml", "prune", "--keep", "0", "--include-running")
	w.await(t, "Remove 1 sandbox from ")
	w.typeKeys(t, "n\r")
	w.await(t, "nothing was removed")
	w.ends(t, exitFailed)
	w = open("-c", "other.toml", "prune", "--keep", "0", "--include-running")
	w.await(t, "[y/N]")
	w.typeKeys(t, "y\r")
	w.await(t, "removing  [")
	w.await(t, "removed 1 sandbox with 50000 events")
	w.ends(t, 0)
}
