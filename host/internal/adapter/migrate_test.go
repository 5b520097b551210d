package adapter_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/adapter"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/plugins"
)

// onFile runs statements on a file as another program would, and returns the first value of the last.
func onFile(t *testing.T, file string, statements ...string) (value string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for i, s := range statements {
		if i == len(statements)-1 {
			err = db.QueryRowContext(t.Context(), s).Scan(&value)
		} else {
			_, err = db.ExecContext(t.Context(), s)
		}
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return value
}

const (
	ownIndexes = `SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'alineo_events' AND name LIKE 'alineo_host_%' ORDER BY name)`
	allIndexes = "alineo_host_checkpoints alineo_host_created alineo_host_created_name alineo_host_created_run alineo_host_marks alineo_host_steps"
	version    = `SELECT version FROM alineo_host_schema`
)

// patientSQLite opens a ledger whose calls may take that long.
func patientSQLite(t *testing.T, rt *plugin.Runtime, file string, patience time.Duration) store.Ledger {
	t.Helper()
	bundle, err := plugins.Find("sqlite")
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(sqlite.Options{Path: file, Synchronous: "normal"})
	if err != nil {
		t.Fatal(err)
	}
	caps := capability.NewSet(capability.SetOptions{Plugin: "sqlite", Databases: map[string]capability.Database{"ledger": db}})
	p, err := rt.Load(t.Context(), plugin.Spec{
		Name: "sqlite", Wasm: bundle.Wasm, SHA256: bundle.SHA256, Caps: caps, Limits: plugin.Limits{Deadline: patience, StartDeadline: time.Minute},
	})
	if err != nil {
		t.Fatal(err)
	}
	l := opened{adapter.NewLedger(p), caps, p}
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return l
}

// TestMigrations brings a file of version 1 up to date, leaves one of a later version alone, and puts the
// indexes off where they take longer than a call may.
func TestMigrations(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t)
	file := filepath.Join(t.TempDir(), "ledger.db")
	list := func(l store.Ledger) error { _, err := l.ListSandboxes(t.Context(), store.ListOptions{}); return err }
	if err := list(patientSQLite(t, rt, file, time.Minute)); err != nil {
		t.Fatal(err)
	}
	if got := onFile(t, file, ownIndexes); got != allIndexes {
		t.Errorf("a new file has the indexes %q", got)
	}

	// As version 1 left it, with many entries.
	statements := []string{"UPDATE alineo_host_schema SET version = 1"}
	for index := range strings.FieldsSeq(allIndexes) {
		statements = append(statements, "DROP INDEX "+index)
	}
	statements = append(statements, `INSERT INTO alineo_events(id, sandbox_id, name, step_idx, event, ts) VALUES
		(1, 'a', 'run', -1, 'sandbox.created', 1), (9000000, 'a', 'run', -1, 'exec.completed', 2)`, version)
	onFile(t, file, statements...)
	hasty := patientSQLite(t, rt, file, 10*time.Second) // 9,000,000 entries may take 90 s
	if d, err := hasty.FindSandbox(t.Context(), "a"); err != nil || d.ExecCount != 1 {
		t.Errorf("finding without indexes: %+v, %v", d, err)
	}
	if got := onFile(t, file, version); got != "1" {
		t.Errorf("the version is %s although there was no time", got)
	}
	if stats, err := hasty.(store.Maintenance).Stats(t.Context()); err != nil || stats.SchemaVersion != 1 {
		t.Errorf("the version is told as %d, %v", stats.SchemaVersion, err)
	}
	if stats, err := patientSQLite(t, rt, file, 10*time.Minute).(store.Maintenance).Stats(t.Context()); err != nil || stats.SchemaVersion != 4 {
		t.Fatalf("the version is told as %d, %v", stats.SchemaVersion, err)
	}
	if indexes, v := onFile(t, file, ownIndexes), onFile(t, file, version); indexes != allIndexes || v != "4" {
		t.Errorf("version %s with the indexes %q", v, indexes)
	}

	// As a later plugin left it.
	onFile(t, file, "UPDATE alineo_host_schema SET version = 5", "DROP INDEX alineo_host_marks", version)
	for range 2 {
		if err := list(patientSQLite(t, rt, file, time.Minute)); !errors.Is(err, store.ErrUnsupported) || !strings.Contains(err.Error(), "version 5") {
			t.Errorf("a later version: %v", err)
		}
	}
	if got := onFile(t, file, ownIndexes); strings.Contains(got, "marks") {
		t.Errorf("a later version was not left alone: %q", got)
	}
}
