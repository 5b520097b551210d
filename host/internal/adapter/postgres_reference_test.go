package adapter_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
)

// What the reference's PostgreSQL adapter does when it connects, in the older generation and now.
const (
	referenceTables = `CREATE TABLE IF NOT EXISTS alineo_events (id BIGSERIAL PRIMARY KEY, sandbox_id TEXT NOT NULL, name TEXT NOT NULL,
 step_idx INTEGER NOT NULL, branch INTEGER, event TEXT NOT NULL, payload JSONB, error TEXT, ts BIGINT NOT NULL);
CREATE TABLE IF NOT EXISTS alineo_environments (name TEXT PRIMARY KEY, snapshot_id TEXT NOT NULL, image TEXT NOT NULL, built_at BIGINT NOT NULL);`
	referenceOld = referenceTables + `CREATE INDEX IF NOT EXISTS alineo_events_sandbox_id ON alineo_events(sandbox_id);
CREATE INDEX IF NOT EXISTS alineo_events_name ON alineo_events(name);`
	referenceNow = `DROP INDEX IF EXISTS alineo_events_sandbox_id; DROP INDEX IF EXISTS alineo_events_name;` + referenceTables + `
CREATE INDEX IF NOT EXISTS alineo_events_name_sandbox_ts ON alineo_events(name, sandbox_id, ts, id);
UPDATE alineo_events SET event = CASE event WHEN 'sandbox_created' THEN 'sandbox.created' WHEN 'exec_complete' THEN 'exec.completed' ELSE event END
 WHERE event IN ('sandbox_created', 'exec_complete');`
)

// loadFixture copies a ledger that the reference wrote with SQLite to where its PostgreSQL adapter
// would have written it.
func loadFixture(t *testing.T, file, dsn, tables string) {
	t.Helper()
	from, err := sql.Open("sqlite", "file:"+file+"?immutable=1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	to, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = to.Close(context.Background()) }()
	if _, err := to.Exec(t.Context(), tables); err != nil {
		t.Fatal(err)
	}
	for table, columns := range map[string]string{
		"alineo_events":       "id, sandbox_id, name, step_idx, branch, event, payload, error, ts",
		"alineo_environments": "name, snapshot_id, image, built_at",
	} {
		rows, err := from.QueryContext(t.Context(), "SELECT "+columns+" FROM "+table)
		if err != nil {
			t.Fatal(err)
		}
		n := strings.Count(columns, ",") + 1
		for rows.Next() {
			cells, into := make([]any, n), make([]any, n)
			for i := range cells {
				into[i] = &cells[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			if _, err := to.Exec(t.Context(), "INSERT INTO "+table+"("+columns+") VALUES ($"+strings.Join(strings.Split("123456789"[:n], ""), ", $")+")", cells...); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := to.Exec(t.Context(), "SELECT setval('alineo_events_id_seq', (SELECT max(id) FROM alineo_events))"); err != nil {
		t.Fatal(err)
	}
}

// contents is all that a ledger answers, with payloads as values: JSONB keeps no order of keys.
type contents struct {
	Sandboxes    []store.Details
	Entries      []store.Entry
	Payloads     []any
	Checkpoints  map[string][]store.Checkpoint
	Environments []store.Environment
	Execs        map[string]any // as values, too
}

// differs says which part of two ledgers' contents is not the same.
func (c contents) differs(other contents) []string {
	var parts []string
	a, b := reflect.ValueOf(c), reflect.ValueOf(other)
	for i := range a.NumField() {
		if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			parts = append(parts, fmt.Sprintf("%s: %.300v and %.300v", a.Type().Field(i).Name, a.Field(i), b.Field(i)))
		}
	}
	return parts
}

// value is what JSON says, without its order of keys.
func value(t *testing.T, from []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(from, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func read(t *testing.T, l store.Ledger) contents {
	t.Helper()
	c := contents{Checkpoints: map[string][]store.Checkpoint{}, Execs: map[string]any{}}
	page, err := l.ListSandboxes(t.Context(), store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Sandboxes = page.Sandboxes
	for e, err := range ledger.ReadAll(t.Context(), l) {
		if err != nil {
			t.Fatal(err)
		}
		var payload any
		if e.Payload != nil {
			payload = value(t, e.Payload)
		}
		e.Payload = nil
		c.Entries, c.Payloads = append(c.Entries, e), append(c.Payloads, payload)
	}
	for i := range c.Sandboxes {
		key := store.Key{Name: c.Sandboxes[i].Name, SandboxID: c.Sandboxes[i].SandboxID}
		c.Checkpoints[key.String()] = []store.Checkpoint{}
		for checkpoint, err := range ledger.Checkpoints(t.Context(), l, key) {
			if err != nil {
				t.Fatal(err)
			}
			checkpoint.ID = 0
			c.Checkpoints[key.String()] = append(c.Checkpoints[key.String()], checkpoint)
		}
		replay, err := ledger.BuildReplay(t.Context(), l, key, ledger.ReplayOptions{})
		var none *ledger.NoCheckpointError
		switch {
		case err == nil:
			text, err := json.Marshal(replay.Results)
			if err != nil {
				t.Fatal(err)
			}
			c.Execs[key.String()] = value(t, text)
		case !errors.As(err, &none):
			t.Fatal(err)
		}
	}
	if c.Environments, err = l.ListEnvironments(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestPostgresReadsReferenceLedgers reads what the reference wrote, as two hosts that migrate at once,
// and finds what the SQLite ledger finds in the same file; then goes on with it.
func TestPostgresReadsReferenceLedgers(t *testing.T) {
	t.Parallel()
	for file, tables := range map[string]string{
		"reference-dotted.db": referenceNow, "reference-snake.db": referenceOld, "reference-snake-migrated.db": referenceNow,
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			rt := newRuntime(t)
			path := filepath.Join("..", "..", "ledger", "testdata", file)
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			mine := filepath.Join(t.TempDir(), file)
			if err := os.WriteFile(mine, content, 0o600); err != nil {
				t.Fatal(err)
			}
			lite, err := openSQLite(t.Context(), rt, mine, "normal")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = lite.Close(context.Background()) })
			want := read(t, lite)
			if len(want.Sandboxes) < 8 || len(want.Execs) < 3 {
				t.Fatalf("the fixture has %d sandboxes, %d of them with execs", len(want.Sandboxes), len(want.Execs))
			}

			name, dsn := pgtest.Server(t).Database(t)
			loadFixture(t, path, dsn, tables)
			hosts := []store.Ledger{openLedger(t, rt, dsn), openLedger(t, rt, dsn)}
			var group sync.WaitGroup
			for _, l := range hosts {
				group.Go(func() {
					if _, err := l.ListEnvironments(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			for i, l := range hosts {
				if diff := read(t, l).differs(want); diff != nil {
					t.Errorf("host %d and SQLite read %q", i, diff)
				}
			}
			var old string
			if err := pgtest.Server(t).Conn(t, name).QueryRow(t.Context(), `SELECT coalesce(string_agg(indexname, ' '), '') FROM pg_indexes
				WHERE indexname IN ('alineo_events_sandbox_id', 'alineo_events_name')`).Scan(&old); err != nil || old != "" {
				t.Errorf("older indexes %q, %v", old, err)
			}
			// Going on: the head knows where the reference left it.
			key := store.Key{Name: want.Sandboxes[0].Name, SandboxID: want.Sandboxes[0].SandboxID}
			w := ledger.NewWriter(hosts[0], ledger.WriterOptions{})
			s, err := w.Open(t.Context(), key)
			if err == nil {
				err = s.Append(t.Context(), ledger.Event{Step: -1, Name: store.EventSandboxPaused})
			}
			if err := errors.Join(err, w.Close(t.Context())); err != nil {
				t.Fatal(err)
			}
			page, err := hosts[1].Read(t.Context(), key, store.ReadOptions{})
			if err != nil || page.Entries[len(page.Entries)-1].Event != store.EventSandboxPaused {
				t.Errorf("%+v, %v", page.Entries, err)
			}
		})
	}
}
