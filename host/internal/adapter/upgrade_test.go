package adapter_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/alineo-labs/alineo-host/host/internal/adapter"
	"github.com/alineo-labs/alineo-host/host/internal/capability/postgres"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/host/store/storetest"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
)

// place is a database that hosts and other programs have in common.
type place struct {
	foreign storetest.Foreign
	open    func() *adapter.Ledger          // another host's ledger
	exec    func(statement string) error    // as another program
	text    func(statement string) string   // the first value that a query gives
	held    func() (reader *adapter.Ledger) // a ledger of a host that can't write here
	guest   *plugin.Plugin                  // of the ledger that was opened last
	version string                          // of the newest tables
	later   string                          // of tables that are too new
	// query runs a statement of the reference's, whose parameters are $1 and so on, as another program.
	query func(statement string, args ...any) ([][]any, error)
}

// openStores opens another host's stores of durable runs.
func (at *place) openStores() adapter.Stores {
	at.open()
	return adapter.NewStores(at.guest)
}

// eachPlace runs a test in either database, which is empty.
func eachPlace(t *testing.T, test func(t *testing.T, at *place)) {
	t.Helper()
	rt := newRuntime(t)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, sqlitePlace(t, rt))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, postgresPlace(t, rt))
	})
}

func sqlitePlace(t *testing.T, rt *plugin.Runtime) *place {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ledger.db")
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(60000)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	at := new(place)
	open := func(patience time.Duration) *adapter.Ledger {
		granted, err := sqlite.Open(sqlite.Options{Path: file, Synchronous: "normal", BusyTimeout: patience})
		if err != nil {
			t.Fatal(err)
		}
		at.guest = guestOn(t, rt, "sqlite", granted, patient)
		return adapter.NewLedger(at.guest)
	}
	*at = place{
		foreign: storetest.ForeignSQLite(), version: "4", later: "5",
		open: func() *adapter.Ledger { return open(time.Minute) },
		exec: func(s string) error { _, err := db.ExecContext(t.Context(), s); return err },
		text: func(s string) (text string) {
			if err := db.QueryRowContext(t.Context(), s).Scan(&text); err != nil {
				t.Errorf("%s: %v", s, err)
			}
			return text
		},
		query: func(statement string, args ...any) ([][]any, error) {
			return liteRows(t.Context(), db, strings.NewReplacer("$", "?", "::jsonb", "").Replace(statement), args)
		},
		// Another program writes all the time.
		held: func() *adapter.Ledger {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = tx.Rollback() })
			return open(time.Millisecond)
		},
	}
	return at
}

func postgresPlace(t *testing.T, rt *plugin.Runtime) *place {
	t.Helper()
	server := pgtest.Server(t)
	name, dsn := server.Database(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	at := new(place)
	open := func(dsn string) *adapter.Ledger {
		granted, err := postgres.Open(postgres.Options{DSN: dsn, PoolSize: 4})
		if err != nil {
			t.Fatal(err)
		}
		at.guest = guestOn(t, rt, "postgres", granted, patient)
		return adapter.NewLedger(at.guest)
	}
	*at = place{
		foreign: storetest.ForeignPostgres(), version: "5", later: "6",
		open: func() *adapter.Ledger { return open(dsn) },
		exec: func(s string) error { _, err := conn.Exec(t.Context(), s); return err },
		text: func(s string) (text string) {
			if err := conn.QueryRow(t.Context(), s).Scan(&text); err != nil {
				t.Errorf("%s: %v", s, err)
			}
			return text
		},
		query: func(statement string, args ...any) ([][]any, error) {
			rows, err := conn.Query(t.Context(), statement, args...)
			if err != nil {
				return nil, err
			}
			return pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]any, error) { return row.Values() })
		},
		// A role that may read what there is.
		held: func() *adapter.Ledger {
			role := name + "_reader"
			if _, err := server.Conn(t, name).Exec(t.Context(), "CREATE ROLE "+role+" LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO "+role); err != nil {
				t.Fatal(err)
			}
			return open(server.DSN(role, name))
		},
	}
	return at
}

// liteRows runs a statement and returns its rows.
func liteRows(ctx context.Context, db *sql.DB, statement string, args []any) (all [][]any, err error) {
	rows, err := db.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		cells, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		all = append(all, cells)
	}
	return all, rows.Err()
}

// must runs statements as another program.
func (at *place) must(t *testing.T, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if err := at.exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// old is a sandbox as the reference's older generation wrote it.
const old = `INSERT INTO alineo_events(sandbox_id, name, step_idx, event, payload, ts) VALUES
 ('old', 'run', -1, 'sandbox_created', '{"runId":"r"}', 10), ('old', 'run', 3, 'exec_start', '{}', 11), ('old', 'run', 3, 'exec_complete', '{}', 12),
 ('old', 'run', -1, 'checkpoint_created', '{"snapshotId":"snap","name":"tag"}', 13), ('old', 'run', 4, 'step_start', NULL, 14)`

// TestUpgradeAtOnce lets four hosts bring tables of version 1 up to date at once. What the reference wrote
// is renamed, and what segments hold is not.
func TestUpgradeAtOnce(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, at *place) {
		at.must(t, at.foreign.Create, old)
		first, err := claim(t.Context(), at.open(), "run", "own")
		if err != nil {
			t.Fatal(err)
		}
		s := first.segment(4, "")
		names := "step_start checkpoint snapshot exec_event"
		for i, name := range strings.Fields(names) {
			s.Entries[i].Event = name
		}
		if err := first.l.Append(t.Context(), &store.Batch{Segments: []store.Segment{s}}); err != nil {
			t.Fatal(err)
		}
		// As version 1 left it, but for the indexes that it had.
		at.must(t, "UPDATE alineo_host_schema SET version = 1", "DROP INDEX alineo_host_marks", "DROP INDEX alineo_host_steps",
			"CREATE INDEX IF NOT EXISTS alineo_host_created_sandbox ON alineo_events(sandbox_id, ts, id) WHERE event = 'sandbox.created'",
			"UPDATE alineo_events SET event = 'sandbox_created' WHERE event = 'sandbox.created'")
		var group sync.WaitGroup
		start := make(chan struct{})
		for range 4 {
			l := at.open()
			group.Go(func() {
				<-start
				d, err := l.FindSandbox(t.Context(), "old")
				if err != nil || d.ExecCount != 1 || d.RunID != "r" {
					t.Errorf("%+v, %v", d, err)
				}
				head, err := l.OpenLedger(t.Context(), store.Key{Name: "run", SandboxID: "old"})
				if err != nil || head.LastStep != 4 || head.MaxTS != 14 || head.Entries != 0 {
					t.Errorf("%+v, %v", head, err)
				}
			})
		}
		close(start)
		group.Wait()
		if v := at.text("SELECT CAST(version AS TEXT) FROM alineo_host_schema"); v != at.version {
			t.Errorf("version %s", v)
		}
		if n := at.text("SELECT CAST(count(*) AS TEXT) FROM alineo_events WHERE sandbox_id = 'old' AND event NOT LIKE '%.%'"); n != "0" {
			t.Errorf("%s events of the older generation have their old names", n)
		}
		page, err := first.l.Read(t.Context(), first.key, store.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range page.Entries {
			got = append(got, page.Entries[i].Event)
		}
		if strings.Join(got, " ") != names {
			t.Errorf("the host's own events are %q, want %q", got, names)
		}
	})
}

// TestUpgradeGivesWay asks for older tables to be brought up to date while another program holds them. Who
// waits for a table keeps others from writing to it, so it is not waited for long, and reading goes on.
func TestUpgradeGivesWay(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	name, dsn := server.Database(t)
	rt := newRuntime(t)
	if _, err := openLedger(t, rt, dsn).ListEnvironments(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := server.Conn(t, name)
	for _, statement := range []string{"UPDATE alineo_host_schema SET version = 1", "DROP INDEX alineo_host_steps", old, "BEGIN", old} {
		if _, err := other.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	d, err := openLedger(t, rt, dsn).FindSandbox(t.Context(), "old")
	if took := time.Since(began); err != nil || d.ExecCount != 1 || took > patient.Deadline/3 {
		t.Errorf("%+v after %s, %v", d, took, err)
	}
	if _, err := other.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if stats, err := openLedger(t, rt, dsn).(store.Maintenance).Stats(t.Context()); err != nil || stats.SchemaVersion < 4 {
		t.Errorf("afterwards: %+v, %v", stats, err)
	}
}

// TestBareTables reads what the reference wrote where no table of ours can be made, and says so to who
// wants to write.
func TestBareTables(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, at *place) {
		environments := "CREATE TABLE alineo_environments (name TEXT PRIMARY KEY, snapshot_id TEXT NOT NULL, image TEXT NOT NULL, built_at BIGINT NOT NULL)"
		at.must(t, at.foreign.Create, environments, old, "INSERT INTO alineo_environments VALUES ('env', 'snap', 'image', 5)")
		l := at.held()
		key := store.Key{Name: "run", SandboxID: "old"}
		for range 2 {
			list, err := l.ListSandboxes(t.Context(), store.ListOptions{})
			if err != nil || len(list.Sandboxes) != 1 || list.Sandboxes[0].RunID != "r" || list.Sandboxes[0].ExecCount != 1 {
				t.Errorf("listing: %+v, %v", list, err)
			}
			if d, err := l.FindSandbox(t.Context(), "old"); err != nil || d.Name != "run" {
				t.Errorf("finding: %+v, %v", d, err)
			}
			if page, err := l.Read(t.Context(), key, store.ReadOptions{}); err != nil || len(page.Entries) != 5 {
				t.Errorf("reading: %+v, %v", page, err)
			}
			if e, err := l.LastCheckpoint(t.Context(), key, "tag"); err != nil || e.TS != 13 {
				t.Errorf("the last checkpoint: %+v, %v", e, err)
			}
			if page, err := l.ListCheckpoints(t.Context(), key, store.ReadOptions{}); err != nil || len(page.Checkpoints) != 1 {
				t.Errorf("checkpoints: %+v, %v", page, err)
			}
			if page, err := l.ListHeads(t.Context(), store.ReadOptions{}); err != nil || len(page.Heads) != 1 || page.Heads[0].Epoch != 0 {
				t.Errorf("heads: %+v, %v", page, err)
			}
			if page, err := l.ListSegments(t.Context(), key, store.ReadOptions{}); err != nil || len(page.Segments) != 0 {
				t.Errorf("segments: %+v, %v", page, err)
			}
			if page, err := l.ListTombstones(t.Context(), store.ReadOptions{}); err != nil || len(page.Tombstones) != 0 {
				t.Errorf("tombstones: %+v, %v", page, err)
			}
			if usage, err := l.Usage(t.Context(), key); err != nil || usage.Entries != 5 {
				t.Errorf("usage: %+v, %v", usage, err)
			}
			if stats, err := l.Stats(t.Context()); err != nil || stats.Entries != 5 || stats.SchemaVersion != 0 || stats.StorageBytes <= 0 {
				t.Errorf("stats: %+v, %v", stats, err)
			}
			if env, err := l.GetEnvironment(t.Context(), "env"); err != nil || env.Image != "image" {
				t.Errorf("the environment: %+v, %v", env, err)
			}
			for doing, err := range map[string]error{
				"claiming": func() error { _, err := l.OpenLedger(t.Context(), key); return err }(),
				"deleting": func() error { _, err := l.DeleteSandbox(t.Context(), key); return err }(),
				"saving":   l.SaveEnvironment(t.Context(), store.Environment{Name: "x"}),
			} {
				if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrUnsupported) {
					t.Errorf("%s: %v", doing, err)
				}
				t.Logf("%s: %v", doing, err)
			}
		}
	})
}
