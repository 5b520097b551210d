package adapter_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/host/store/storetest"
)

// runsOf opens the plugin's stores on a file, with a run.
func runsOf(b *testing.B) storetest.Stores {
	b.Helper()
	s, err := stores(openSQLite(b.Context(), newRuntime(b), filepath.Join(b.TempDir(), "runs.db"), "normal"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	if _, _, err := s.Runs.CreateOrGet(b.Context(), store.NewRun{ID: "run-1", ThreadID: "t"}); err != nil {
		b.Fatal(err)
	}
	return s
}

// nativeRuns are the same tables, filled through database/sql.
func nativeRuns(b *testing.B) *sql.DB {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "native.db")+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { _ = db.Close() })
	for _, s := range []string{
		`CREATE TABLE logs (run_id TEXT PRIMARY KEY, epoch INTEGER, tail INTEGER, closed INTEGER) WITHOUT ROWID`,
		`CREATE TABLE events (run_id TEXT, place INTEGER, ts INTEGER, kind TEXT, data BLOB, PRIMARY KEY (run_id, place)) WITHOUT ROWID`,
		`INSERT INTO logs VALUES ('run-1', 1, 0, 0)`,
	} {
		if _, err := db.Exec(s); err != nil {
			b.Fatal(err)
		}
	}
	return db
}

// BenchmarkRunLog appends lines to a run's log through the plugin, and in Go with the same statements. line
// is what one takes.
func BenchmarkRunLog(b *testing.B) {
	for _, n := range []int{1, 32, 256} {
		events := make([]store.LogEvent, n)
		for i := range events {
			events[i] = store.LogEvent{Kind: "stdout", Data: payload}
		}
		perLine := func(b *testing.B) {
			b.Helper()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/line")
		}
		b.Run(fmt.Sprintf("batch-%d/plugin", n), func(b *testing.B) {
			s := runsOf(b)
			for b.Loop() {
				if _, err := s.Log.Append(b.Context(), store.LogAppend{RunID: "run-1", Epoch: 1, Events: events}); err != nil {
					b.Fatal(err)
				}
			}
			perLine(b)
		})
		b.Run(fmt.Sprintf("batch-%d/native", n), func(b *testing.B) {
			db := nativeRuns(b)
			for b.Loop() {
				if err := nativeAppend(b.Context(), db, events); err != nil {
					b.Fatal(err)
				}
			}
			perLine(b)
		})
	}
}

func nativeAppend(ctx context.Context, db *sql.DB, events []store.LogEvent) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var tail int
	err = tx.QueryRowContext(ctx, `UPDATE logs SET epoch = ?1, tail = tail + ?2 WHERE run_id = 'run-1' AND epoch <= ?1 AND closed = 0 RETURNING tail`, 1, len(events)).Scan(&tail)
	if err != nil {
		return err
	}
	insert, err := tx.PrepareContext(ctx, `INSERT INTO events VALUES (?, ?, CAST(unixepoch('subsec') * 1000 AS INTEGER), ?, ?)`)
	if err != nil {
		return err
	}
	for i := range events {
		if _, err := insert.ExecContext(ctx, "run-1", tail-len(events)+i+1, events[i].Kind, events[i].Data); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// BenchmarkRunClaim claims a run again and again.
func BenchmarkRunClaim(b *testing.B) {
	s := runsOf(b)
	for b.Loop() {
		if claim, err := s.Runs.Claim(b.Context(), "run-1"); err != nil || claim.Outcome != store.Claimed {
			b.Fatal(claim, err)
		}
	}
}

// BenchmarkRunLock takes a lock and releases it.
func BenchmarkRunLock(b *testing.B) {
	s := runsOf(b)
	for b.Loop() {
		got, err := s.Locks.TryAcquire(b.Context(), "run-driver:run-1", "host", 1<<40)
		if err != nil || !got.Acquired {
			b.Fatal(got, err)
		}
		if ok, err := s.Locks.Release(b.Context(), "run-driver:run-1", got.Token); err != nil || !ok {
			b.Fatal(ok, err)
		}
	}
}
