//go:build !race

package durabletest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/durable/durabletest"
	"github.com/alineo-labs/alineo-host/host/engine"
	"github.com/alineo-labs/alineo-host/host/internal/adapter"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/postgres"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store/storetest"
	"github.com/alineo-labs/alineo-host/internal/nativeledger"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
	"github.com/alineo-labs/alineo-host/internal/testcache"
	"github.com/alineo-labs/alineo-host/plugins"
)

// What all tests share: one engine, whose sandboxes are real, and one runtime for the plugins.
var (
	shared  *engine.Engine
	runtime *plugin.Runtime
)

func TestMain(m *testing.M) {
	engine.Init() // this binary is also its sandboxes' first process
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "durable-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	if shared, err = engine.Open(ctx, engine.Options{DataDir: filepath.Join(dir, "engine"), AllowReduced: true}); err == nil {
		runtime, err = plugin.NewRuntime(ctx, plugin.RuntimeOptions{CacheDir: testcache.Plugins()})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := pgtest.Main(m)
	for box, err := range wire().ListSandboxes(ctx, opensandbox.SandboxFilter{}) {
		if err == nil {
			fmt.Fprintln(os.Stderr, "a sandbox is left:", box.ID)
			err = wire().DeleteSandbox(ctx, box.ID)
			code = 1
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	if err := errors.Join(runtime.Close(ctx), shared.Close(ctx)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

func wire() *opensandbox.Client {
	client, err := opensandbox.New(opensandbox.Options{BaseURL: shared.BaseURL(), Transport: shared.Transport()})
	if err != nil {
		panic(err)
	}
	return client
}

// machines are the engine's sandboxes, with a ledger of their own.
func machines(tb storetest.T) durable.Machines {
	tb.Helper()
	native, err := nativeledger.Open(filepath.Join(tb.TempDir(), "ledger.db"), nativeledger.Options{Synchronous: "off"})
	if err != nil {
		tb.Errorf("%v", err)
		tb.FailNow()
	}
	writer := ledger.NewWriter(native, ledger.WriterOptions{})
	client, err := sandbox.New(sandbox.Options{
		Wire: wire(), Store: native, Ledger: writer, Image: "host", Resources: sandbox.Resources{CPU: "1", Memory: "256Mi"},
	})
	if err != nil {
		tb.Errorf("%v", err)
		tb.FailNow()
	}
	tb.Cleanup(func() {
		ctx := context.Background()
		if err := errors.Join(client.Close(ctx), writer.Close(ctx), native.Close(ctx)); err != nil {
			tb.Errorf("%v", err)
		}
	})
	return durable.NewServer(client, wire(), 0)
}

// opened is a guest with its database, as one more host would have it.
func opened(ctx context.Context, tb storetest.T, name string, db capability.Database) (durable.Stores, error) {
	bundle, err := plugins.Find(name)
	if err != nil {
		return durable.Stores{}, err
	}
	limits := plugin.DefaultLimits()
	limits.Deadline, limits.StartDeadline = time.Minute, time.Minute
	caps := capability.NewSet(capability.SetOptions{Plugin: name, Databases: map[string]capability.Database{"ledger": db}})
	p, err := runtime.Load(ctx, plugin.Spec{Name: name, Wasm: bundle.Wasm, SHA256: bundle.SHA256, Caps: caps, Limits: limits})
	if err != nil {
		return durable.Stores{}, errors.Join(err, caps.Close())
	}
	tb.Cleanup(func() {
		if err := errors.Join(p.Close(context.Background()), caps.Close()); err != nil {
			tb.Errorf("%v", err)
		}
	})
	s := adapter.NewStores(p)
	return durable.Stores{Instances: s.Instances, Runs: s.Runs, Log: s.Log, Locks: s.Locks}, nil
}

// handles opens two handles for a case, its own and one that all of its hosts have: more of them would say no
// more, and loading a plugin takes its time.
func handles(open func(context.Context) (durable.Stores, error)) func(context.Context) (durable.Stores, error) {
	var mu sync.Mutex
	var opened []durable.Stores
	return func(ctx context.Context) (durable.Stores, error) {
		mu.Lock()
		defer mu.Unlock()
		const most = 2
		if len(opened) == most {
			return opened[most-1], nil
		}
		stores, err := open(ctx)
		if err == nil {
			opened = append(opened, stores)
		}
		return stores, err
	}
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	durabletest.Run(t, func(t storetest.T) durabletest.Site {
		path := filepath.Join(t.TempDir(), "runs.db")
		return durabletest.Site{Machines: machines(t), Open: handles(func(ctx context.Context) (durable.Stores, error) {
			db, err := sqlite.Open(sqlite.Options{Path: path, Synchronous: "normal", BusyTimeout: time.Minute})
			if err != nil {
				return durable.Stores{}, err
			}
			return opened(ctx, t, "sqlite", db)
		})}
	})
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	fresh := func(st storetest.T) durabletest.Site {
		_, dsn := server.Database(st.(testing.TB))
		return durabletest.Site{Machines: machines(st), Open: handles(func(ctx context.Context) (durable.Stores, error) {
			db, err := postgres.Open(postgres.Options{DSN: dsn, PoolSize: 4})
			if err != nil {
				return durable.Stores{}, err
			}
			return opened(ctx, st, "postgres", db)
		})}
	}
	for _, c := range durabletest.Cases() {
		if !strings.HasPrefix(c.Name, "JN-") { // those are about the sandbox alone
			t.Run(c.Name, func(t *testing.T) { c.Run(t, fresh) })
		}
	}
}
