//go:build race

package durable_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/durable/durabletest"
	"github.com/alineo-labs/alineo-host/host/engine"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store/storetest"
	"github.com/alineo-labs/alineo-host/internal/nativeledger"
)

// Under the race detector plugins take minutes to be compiled. What it is to look at is this package: so the
// whole suite runs over stores in memory, in real sandboxes.

var shared *engine.Engine

func TestMain(m *testing.M) {
	engine.Init() // this binary is also its sandboxes' first process
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "durable-race-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	if shared, err = engine.Open(ctx, engine.Options{DataDir: dir, AllowReduced: true}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := shared.Close(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

func TestMemory(t *testing.T) {
	t.Parallel()
	durabletest.Run(t, func(t storetest.T) durabletest.Site {
		stores := durable.NewMemory()
		return durabletest.Site{
			Machines: machines(t),
			Open:     func(context.Context) (durable.Stores, error) { return stores, nil },
		}
	})
}

// machines are the engine's sandboxes, with a ledger of their own.
func machines(tb storetest.T) durable.Machines {
	tb.Helper()
	fail := func(err error) {
		if err != nil {
			tb.Errorf("%v", err)
			tb.FailNow()
		}
	}
	native, err := nativeledger.Open(filepath.Join(tb.TempDir(), "ledger.db"), nativeledger.Options{Synchronous: "off"})
	fail(err)
	wire, err := opensandbox.New(opensandbox.Options{BaseURL: shared.BaseURL(), Transport: shared.Transport()})
	fail(err)
	writer := ledger.NewWriter(native, ledger.WriterOptions{})
	client, err := sandbox.New(sandbox.Options{
		Wire: wire, Store: native, Ledger: writer, Image: "host", Resources: sandbox.Resources{CPU: "1", Memory: "256Mi"},
	})
	fail(err)
	tb.Cleanup(func() {
		ctx := context.Background()
		for _, err := range []error{client.Close(ctx), writer.Close(ctx), native.Close(ctx)} {
			if err != nil {
				tb.Errorf("%v", err)
			}
		}
	})
	return durable.NewServer(client, wire, 0)
}
