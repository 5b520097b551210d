package durable_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/engine"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/internal/nativeledger"
)

var shared *engine.Engine

func TestMain(m *testing.M) {
	engine.Init()
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
	shared, err = engine.Open(ctx, engine.Options{DataDir: dir, AllowReduced: true})
	if err != nil {
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

func server(t testing.TB) *durable.Server {
	t.Helper()
	native, err := nativeledger.Open(filepath.Join(t.TempDir(), "ledger.db"), nativeledger.Options{Synchronous: "off"})
	if err != nil {
		t.Fatal(err)
	}
	wire, err := opensandbox.New(opensandbox.Options{BaseURL: shared.BaseURL(), Transport: shared.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	w := ledger.NewWriter(native, ledger.WriterOptions{})
	client, err := sandbox.New(sandbox.Options{Wire: wire, Store: native, Ledger: w, Image: "host"})
	if err != nil {
		t.Fatal(err)
	}
	return durable.NewServer(client, wire, 0)
}

func TestFirst(t *testing.T) {
	t.Parallel()
	runs, err := durable.New(durable.Options{Machines: server(t), Stores: durable.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	defer runs.Close(t.Context())
	began := time.Now()
	_, err = runs.Start(t.Context(), durable.StartOptions{RunID: "run-1", ThreadID: "thread", Command: "echo one; sleep 0.5; echo two; printf three; exit 3"})
	if err != nil {
		t.Fatal(err)
	}
	v, err := runs.Attach(t.Context(), "run-1", durable.AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	var out strings.Builder
	for {
		e, err := v.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Log(time.Since(began), e.Offset, e.Kind, string(e.Data), e.Lost)
		if e.Kind == durable.EventOutput {
			out.Write(e.Data)
		}
	}
	if out.String() != "one\ntwo\nthree\n" {
		t.Errorf("got %q", out.String())
	}
}
