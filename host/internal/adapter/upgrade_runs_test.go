package adapter_test

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/adapter"
	"github.com/alineo-labs/alineo-host/host/store"
)

// TestRunTablesComeOnce lets four hosts use runs at once on tables of version 3, which has none. A later
// version is left alone.
func TestRunTablesComeOnce(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, at *place) {
		first := at.openStores()
		if _, err := first.Locks.TryAcquire(t.Context(), "key", "a", 1<<40); err != nil {
			t.Fatal(err)
		}
		version := "SELECT CAST(version AS TEXT) FROM alineo_host_schema"
		if v := at.text(version); v != at.version {
			t.Errorf("version %s", v)
		}
		// As version 3 left it, in a database where an application keeps its instances.
		at.must(t, "UPDATE alineo_host_schema SET version = 3", "DROP TABLE alineo_host_runs", "DROP TABLE alineo_host_logs",
			"DROP TABLE alineo_host_log_events", "DROP TABLE alineo_host_locks", "DROP INDEX alineo_host_instances_updated",
			"INSERT INTO sandbox_instances VALUES ('foreign', 'docker', 'sb-9', NULL, 't', 'r', 5)")
		var group sync.WaitGroup
		start := make(chan struct{})
		made := make([]bool, 4)
		for i := range made {
			s := at.openStores()
			group.Go(func() {
				<-start
				var err error
				if _, made[i], err = s.Runs.CreateOrGet(t.Context(), store.NewRun{ID: "run-1", ThreadID: "t"}); err != nil {
					t.Error(err)
				}
				got, ok, err := s.Instances.Get(t.Context(), "foreign")
				if err != nil || !ok || got.ProviderSandboxID != "sb-9" || got.LatestSnapshotID != nil || got.LatestRunID == nil {
					t.Errorf("%+v, %v, %v", got, ok, err)
				}
			})
		}
		close(start)
		group.Wait()
		n := 0
		for i := range made {
			if made[i] {
				n++
			}
		}
		if v := at.text(version); n != 1 || v != at.version {
			t.Errorf("%d made the run, version %s", n, v)
		}

		at.must(t, "UPDATE alineo_host_schema SET version = "+at.later)
		later := at.openStores()
		for range 2 {
			_, _, err := later.Runs.Get(t.Context(), "run-1")
			if !errors.Is(err, store.ErrUnsupported) || !strings.Contains(err.Error(), "version "+at.later) {
				t.Errorf("a later version: %v", err)
			}
		}
	})
}

// TestRunsNeedTables says why runs can't be kept where no table of ours can be made, and leaves the ledger
// what it can do.
func TestRunsNeedTables(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, at *place) {
		at.must(t, at.foreign.Create, old)
		l := at.held()
		s := adapter.NewStores(at.guest)
		_, _, runErr := s.Runs.Get(t.Context(), "run-1")
		_, appendErr := s.Log.Append(t.Context(), store.LogAppend{RunID: "run-1", Epoch: 1})
		for doing, err := range map[string]error{"getting a run": runErr, "appending": appendErr} {
			if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrUnsupported) {
				t.Errorf("%s: %v", doing, err)
			}
			t.Logf("%s: %v", doing, err)
		}
		if page, err := l.Read(t.Context(), store.Key{Name: "run", SandboxID: "old"}, store.ReadOptions{}); err != nil || len(page.Entries) != 5 {
			t.Errorf("reading the ledger: %+v, %v", page, err)
		}
	})
}

// TestRunsWaitForTheUpgrade: where a large ledger of version 1 can't be brought up to date in a call, the
// ledger goes on without, and runs are refused until there was the time.
func TestRunsWaitForTheUpgrade(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t)
	file := filepath.Join(t.TempDir(), "ledger.db")
	if _, err := patientSQLite(t, rt, file, time.Minute).ListEnvironments(t.Context()); err != nil {
		t.Fatal(err)
	}
	onFile(t, file, "UPDATE alineo_host_schema SET version = 1", "DROP TABLE IF EXISTS alineo_host_runs",
		`INSERT INTO alineo_events(id, sandbox_id, name, step_idx, event, ts) VALUES
		(1, 'a', 'run', -1, 'sandbox.created', 1), (9000000, 'a', 'run', -1, 'exec.completed', 2)`, version)
	hasty := patientSQLite(t, rt, file, 10*time.Second) // 9,000,000 entries may take 90 s
	s, err := stores(hasty, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, _, err := s.Runs.Get(t.Context(), "run-1")
		if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "the database has no tables of durable runs") {
			t.Errorf("a run in a ledger of version 1: %v", err)
		}
		if d, err := hasty.FindSandbox(t.Context(), "a"); err != nil || d.ExecCount != 1 {
			t.Errorf("finding a sandbox: %+v, %v", d, err)
		}
	}
	s, err = stores(patientSQLite(t, rt, file, 10*time.Minute), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, created, err := s.Runs.CreateOrGet(t.Context(), store.NewRun{ID: "run-1", ThreadID: "t"}); err != nil || !created {
		t.Errorf("with the time that it takes: %v, %v", created, err)
	}
}
