package adapter_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/alineo-labs/alineo-host/host/internal/adapter"
	"github.com/alineo-labs/alineo-host/host/internal/capability/postgres"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/host/store/storetest"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
)

// TestPostgresLedgerOfALanguage runs the cases about order where the database orders texts by a language.
func TestPostgresLedgerOfALanguage(t *testing.T) {
	t.Parallel()
	if raced {
		t.Skip("LEFT OUT: what is only here is statements; the detector sees the rest in the suite on SQLite")
	}
	_, dsn := pgtest.Server(t).Language(t)
	rt := newRuntime(t)
	var made atomic.Int64
	report := storetest.Check(t.Context(), func(storetest.T) storetest.Storage {
		schema := fmt.Sprintf("schema %d", made.Add(1))
		return storetest.Storage{
			Open: func(ctx context.Context) (store.Ledger, error) { return openPostgres(ctx, rt, dsn, schema) },
			Insert: func(ctx context.Context, entries []store.Entry) error {
				return insertReference(ctx, dsn, schema, entries)
			},
		}
	}, storetest.CheckOptions{Features: postgresFeatures, Match: func(c storetest.Case) bool {
		group, _, _ := strings.Cut(c.Name, "/")
		return slices.Contains([]string{"list", "sandbox", "heads", "tombstones", "maintenance"}, group)
	}})
	if report.Passed < 20 || report.Failed+report.NotRun > 0 {
		t.Errorf("%+v", report)
	}
}

// languageLedger is a ledger in a database, of a guest whose calls have that long.
type languageLedger struct {
	*adapter.Ledger
	stores adapter.Stores
}

// TestIndexesOfALanguage brings a database of version 4 up to date. It gets indexes in the order of bytes if
// it has another itself, and if there is the time.
func TestIndexesOfALanguage(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t)
	server := pgtest.Server(t)
	for order, c := range map[string]struct {
		database func(testing.TB) (name, dsn string)
		indexes  string
	}{
		"bytes":    {server.Database, ""},
		"language": {server.Language, "alineo_host_created_bytes alineo_host_events_bytes alineo_host_heads_bytes alineo_host_tombstones_bytes"},
	} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			_, dsn := c.database(t)
			conn, err := pgx.Connect(t.Context(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close(context.Background()) })
			open := func(deadline time.Duration) languageLedger {
				granted, err := postgres.Open(postgres.Options{DSN: dsn, PoolSize: 4})
				if err != nil {
					t.Fatal(err)
				}
				guest := guestOn(t, rt, "postgres", granted, plugin.Limits{Deadline: deadline, StartDeadline: time.Minute})
				return languageLedger{adapter.NewLedger(guest), adapter.NewStores(guest)}
			}
			is := func(when, version, indexes string) {
				t.Helper()
				var v, have string
				if err := conn.QueryRow(t.Context(), `SELECT (SELECT version::text FROM alineo_host_schema),
 (SELECT coalesce(string_agg(indexname, ' ' ORDER BY indexname COLLATE "C"), '') FROM pg_indexes WHERE indexname LIKE 'alineo_host_%bytes')`).Scan(&v, &have); err != nil {
					t.Fatal(err)
				}
				if v != version || have != indexes {
					t.Errorf("%s: version %s and indexes %q, want %s and %q", when, v, have, version, indexes)
				}
			}
			asked := func(when string, l languageLedger) {
				t.Helper()
				for range 3 {
					heads, err := l.ListHeads(t.Context(), store.ReadOptions{})
					if err != nil || len(heads.Heads) != 2 || heads.Heads[0].Key.SandboxID != "B" || heads.Heads[1].Key.SandboxID != "a" {
						t.Errorf("%s: heads %+v, %v, want B and a", when, heads, err)
					}
					list, err := l.ListSandboxes(t.Context(), store.ListOptions{IDPrefix: "B"})
					if err != nil || len(list.Sandboxes) != 1 || list.Sandboxes[0].SandboxID != "B" {
						t.Errorf("%s: sandboxes %+v, %v, want B", when, list, err)
					}
					if _, _, err := l.stores.Runs.Get(t.Context(), "run-1"); err != nil {
						t.Errorf("%s: a run: %v", when, err)
					}
				}
			}
			change := func(statements ...string) {
				t.Helper()
				for _, s := range statements {
					if _, err := conn.Exec(t.Context(), s); err != nil {
						t.Fatalf("%v\n%s", err, s)
					}
				}
			}
			first := open(time.Minute)
			if _, err := first.ListEnvironments(t.Context()); err != nil {
				t.Fatal(err)
			}
			is("new", "5", c.indexes)
			change(`INSERT INTO alineo_events(id, sandbox_id, name, step_idx, event, ts) VALUES
 (1, 'a', 'run', -1, 'sandbox.created', 1), (9000000, 'B', 'run', -1, 'sandbox.created', 2)`)
			asked("new", first)

			older := []string{
				"DROP INDEX IF EXISTS alineo_host_created_bytes, alineo_host_events_bytes, alineo_host_heads_bytes, alineo_host_tombstones_bytes",
				"UPDATE alineo_host_schema SET version = 4",
			}
			change(older...)
			kept := "5" // where nothing has to be built
			if c.indexes != "" {
				kept = "4"
			}
			asked("in haste", open(10*time.Second)) // 9,000,000 entries may take 90 s
			is("in haste", kept, "")
			change(append(older, "UPDATE alineo_host_schema SET version = 3", "DROP TABLE alineo_host_runs, alineo_host_logs, alineo_host_log_events, alineo_host_locks")...)
			asked("in haste, from version 3", open(10*time.Second))
			is("in haste, from version 3", kept, "")
			asked("at last", open(10*time.Minute))
			is("at last", "5", c.indexes)
		})
	}
}
