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

// What the reference asks for, in the meaning of its own statements.
const (
	referenceReads  = `SELECT id, ts, event, payload FROM alineo_events WHERE name = $1 AND sandbox_id = $2 ORDER BY ts ASC, id ASC`
	referenceAppend = `INSERT INTO alineo_events (sandbox_id, name, step_idx, branch, event, payload, error, ts) VALUES ($1, $2, $3, $4, $5, $6::jsonb, $7, $8)`
	referenceLast   = `SELECT id FROM alineo_events WHERE name = $1 AND sandbox_id = $2 AND event = 'sandbox.checkpoint_created' ORDER BY ts DESC, id DESC LIMIT 1`
	referenceLists  = `SELECT name, sandbox_id, MIN(ts) FILTER (WHERE event = 'sandbox.created') AS started, MAX(ts) FILTER (WHERE event = 'sandbox.closed'),
 COUNT(*) FILTER (WHERE event = 'exec.completed'), COALESCE(MAX(payload->>'runId') FILTER (WHERE event = 'sandbox.created'), sandbox_id)
 FROM alineo_events GROUP BY name, sandbox_id HAVING COUNT(*) FILTER (WHERE event = 'sandbox.created') > 0 ORDER BY started DESC`
	referenceTags    = `SELECT COALESCE(payload->>'snapshotId', ''), COALESCE(payload->>'name', ''), ts FROM alineo_events WHERE name = $1 AND sandbox_id = $2 AND event = 'sandbox.checkpoint_created' ORDER BY ts, id`
	referenceSaves   = `INSERT INTO alineo_environments (name, snapshot_id, image, built_at) VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO UPDATE SET snapshot_id = EXCLUDED.snapshot_id, image = EXCLUDED.image, built_at = EXCLUDED.built_at`
	referenceBuilds  = `SELECT name, snapshot_id, image, built_at FROM alineo_environments ORDER BY built_at DESC`
	referenceDeletes = `DELETE FROM alineo_events WHERE name = $1 AND sandbox_id = $2`
)

// TestReferenceUsesOurPostgres writes a ledger, lets the reference's statements connect to it, read
// it, add to it and delete from it, and reads what came of that.
func TestReferenceUsesOurPostgres(t *testing.T) {
	t.Parallel()
	_, dsn := pgtest.Server(t).Database(t)
	l := openLedger(t, newRuntime(t), dsn)
	key := store.Key{Name: "run", SandboxID: "s-1"}
	w := ledger.NewWriter(l, ledger.WriterOptions{})
	for _, id := range []string{key.SandboxID, "s-2"} {
		s, err := w.Open(t.Context(), store.Key{Name: "run", SandboxID: id})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []ledger.Event{
			{Step: -1, Name: store.EventSandboxCreated, Payload: json.RawMessage(`{"sandboxId":"` + id + `","runId":"r-` + id + `"}`)},
			{Step: 1, Name: store.EventExecStarted, Payload: json.RawMessage(`{"cmd":"true","seq":1}`)},
			{Step: 1, Name: store.EventExecOutput, Payload: json.RawMessage(`{"seq":1,"type":"stdout","text":"a\u0000b"}`)},
			{Step: 1, Name: store.EventExecCompleted, Payload: json.RawMessage(`{"exitCode":0,"seq":1}`)},
			{Step: -1, Name: store.EventCheckpointCreated, Payload: json.RawMessage(`{"snapshotId":"snap","name":"mid"}`)},
			{Step: -1, Name: store.EventSandboxClosed},
		} {
			if err := s.Append(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.SaveEnvironment(t.Context(), store.Environment{Name: "py", SnapshotID: "snap", Image: "python", BuiltAt: 5}); err != nil {
		t.Fatal(err)
	}
	ours := read(t, l)

	ref, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ref.Close(context.Background()) })
	if _, err := ref.Exec(t.Context(), referenceNow); err != nil {
		t.Fatalf("the reference connects: %v", err)
	}
	if diff := read(t, l).differs(ours); diff != nil {
		t.Errorf("after the reference connected, and before: %q", diff)
	}
	rows := func(query string, args ...any) [][]any {
		t.Helper()
		r, err := ref.Query(t.Context(), query, args...)
		if err != nil {
			t.Fatal(err)
		}
		all, err := pgx.CollectRows(r, func(row pgx.CollectableRow) ([]any, error) { return row.Values() })
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	all := rows(referenceReads, key.Name, key.SandboxID)
	if len(all) != 6 || all[0][2] != store.EventSandboxCreated || all[5][2] != store.EventSandboxClosed || all[5][3] != nil {
		t.Errorf("readAll: %v", all)
	} else if frame, ok := all[2][3].(map[string]any); !ok || frame["type"] != "stdout" || frame["text"] != "a␀b" {
		t.Errorf("a frame with a NUL, which it can't hold: %v", all[2][3])
	}
	if got := rows(referenceLast, key.Name, key.SandboxID); len(got) != 1 || got[0][0] != all[4][0] {
		t.Errorf("lastCheckpoint: %v", got)
	}
	if got := rows(referenceTags, key.Name, key.SandboxID); len(got) != 1 || got[0][0] != "snap" || got[0][1] != "mid" {
		t.Errorf("listCheckpoints: %v", got)
	}
	list := rows(referenceLists)
	if len(list) != len(ours.Sandboxes) {
		t.Fatalf("listAllSandboxDetails: %v", list)
	}
	for i, d := range ours.Sandboxes {
		if got := list[i]; got[0] != d.Name || got[1] != d.SandboxID || got[2] != d.StartedAt || got[4] != d.ExecCount || got[5] != d.RunID || got[3] != d.CompletedAt {
			t.Errorf("listAllSandboxDetails: %v, want %+v", got, d)
		}
	}
	if got := rows(referenceBuilds); len(got) != 1 || !reflect.DeepEqual(got[0], []any{"py", "snap", "python", int64(5)}) {
		t.Errorf("listEnvironments: %v", got)
	}
	// It adds, replaces and deletes.
	for _, change := range [][]any{
		{referenceAppend, key.SandboxID, key.Name, 2, nil, store.EventExecStarted, `{"cmd":"theirs","seq":2}`, nil, all[5][1].(int64) + 5},
		{referenceSaves, "py", "snap-2", "python", 6},
		{referenceDeletes, "run", "s-2"},
	} {
		if _, err := ref.Exec(t.Context(), change[0].(string), change[1:]...); err != nil {
			t.Fatal(err)
		}
	}
	after := read(t, l)
	if len(after.Sandboxes) != 1 || len(after.Entries) != 7 || after.Entries[6].StepIndex != 2 || after.Environments[0].SnapshotID != "snap-2" {
		t.Errorf("after its changes: %+v", after)
	}
	head, err := l.OpenLedger(t.Context(), key)
	if err != nil || head.LastStep != 2 || head.MaxTS != all[5][1].(int64)+5 {
		t.Errorf("the head does not see its entry: %+v, %v", head, err)
	}
}
