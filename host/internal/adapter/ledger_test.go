package adapter_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/alineo-labs/alineo-host/host/internal/adapter"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/host/store/storetest"
	"github.com/alineo-labs/alineo-host/internal/testcache"
	"github.com/alineo-labs/alineo-host/plugins"
)

// runtime of all tests: compiling a standard-Go guest takes half a second once.
func newRuntime(tb testing.TB) *plugin.Runtime {
	tb.Helper()
	rt, err := plugin.NewRuntime(context.Background(), plugin.RuntimeOptions{CacheDir: testcache.Plugins()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := rt.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return rt
}

// opened is a store whose databases close with it.
type opened struct {
	*adapter.Ledger
	caps  *capability.Set
	guest *plugin.Plugin
}

// stores are the same guest's stores of durable runs.
func stores(l store.Ledger, err error) (storetest.Stores, error) {
	if err != nil {
		return storetest.Stores{}, err
	}
	o, ok := l.(opened)
	if !ok {
		return storetest.Stores{}, fmt.Errorf("%T is no opened plugin", l)
	}
	s := adapter.NewStores(o.guest)
	return storetest.Stores{Instances: s.Instances, Runs: s.Runs, Log: s.Log, Locks: s.Locks, Close: o.Close}, nil
}

func (o opened) Close(ctx context.Context) error {
	return errors.Join(o.Ledger.Close(ctx), o.caps.Close())
}

// patient are limits for tests, which share the machine with many others: a slow disk is no failure.
var patient = plugin.Limits{Deadline: time.Minute, StartDeadline: time.Minute}

// openSQLite opens the bundled SQLite ledger on a file, through its WebAssembly guest.
func openSQLite(ctx context.Context, rt *plugin.Runtime, file, synchronous string) (store.Ledger, error) {
	bundle, err := plugins.Find("sqlite")
	if err != nil {
		return nil, err
	}
	db, err := sqlite.Open(sqlite.Options{Path: file, Synchronous: synchronous})
	if err != nil {
		return nil, err
	}
	caps := capability.NewSet(capability.SetOptions{
		Plugin: "sqlite", Databases: map[string]capability.Database{"ledger": db},
	})
	p, err := rt.Load(ctx, plugin.Spec{Name: "sqlite", Wasm: bundle.Wasm, SHA256: bundle.SHA256, Caps: caps, Limits: patient})
	if err != nil {
		return nil, errors.Join(err, caps.Close())
	}
	return opened{adapter.NewLedger(p), caps, p}, nil
}

// insertForeign adds rows as the reference would: to the base table, past everything of ours.
func insertForeign(ctx context.Context, file string, entries []store.Entry) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS alineo_events (id INTEGER PRIMARY KEY AUTOINCREMENT,
		sandbox_id TEXT NOT NULL, name TEXT NOT NULL, step_idx INTEGER NOT NULL, branch INTEGER, event TEXT NOT NULL,
		payload TEXT, error TEXT, ts INTEGER NOT NULL)`)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	for _, e := range entries {
		var payload any
		if e.Payload != nil {
			payload = string(e.Payload)
		}
		_, err := db.ExecContext(ctx, `INSERT INTO alineo_events(sandbox_id, name, step_idx, branch, event, payload, error, ts)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, e.SandboxID, e.Name, e.StepIndex, e.Branch, e.Event, payload, e.Error, e.TS)
		if err != nil {
			return errors.Join(fmt.Errorf("inserting: %w", err), db.Close())
		}
	}
	return db.Close()
}

func TestSQLiteLedger(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t)
	storetest.Run(t, func(t storetest.T) storetest.Storage {
		file := filepath.Join(t.TempDir(), "sub", "ledger.db")
		return storetest.Storage{
			Open: func(ctx context.Context) (store.Ledger, error) { return openSQLite(ctx, rt, file, "full") },
			Insert: func(ctx context.Context, entries []store.Entry) error {
				return insertForeign(ctx, file, entries)
			},
			OpenStores: func(ctx context.Context) (storetest.Stores, error) { return stores(openSQLite(ctx, rt, file, "full")) },
		}
	}, append(storetest.AllFeatures(), storetest.StoreFeatures()...)...)
}

func TestSQLiteLedgerInMemory(t *testing.T) {
	t.Parallel()
	if raced {
		t.Skip("LEFT OUT: minutes, for the code that the suite on a file runs under the detector too")
	}
	rt := newRuntime(t)
	storetest.Run(t, func(storetest.T) storetest.Storage {
		return storetest.Storage{
			Open: func(ctx context.Context) (store.Ledger, error) { return openSQLite(ctx, rt, sqlite.Memory, "full") },
			OpenStores: func(ctx context.Context) (storetest.Stores, error) {
				return stores(openSQLite(ctx, rt, sqlite.Memory, "full"))
			},
		}
	}, append(storetest.StoreFeatures(), storetest.FeatureEnvironments, storetest.FeatureReadAll, storetest.FeatureVerbatim, storetest.FeatureMaintenance)...)
}
