package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/nativeledger"
)

// A ledger is exported, brought into another one, and verified there.
func ExampleExport() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "ledger-example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	open := func(name string) *nativeledger.Ledger {
		st, err := nativeledger.Open(filepath.Join(dir, name), nativeledger.Options{})
		if err != nil {
			panic(err)
		}
		return st
	}
	from, to := open("from.db"), open("to.db")
	defer from.Close(ctx) //nolint:errcheck // nothing is lost here
	defer to.Close(ctx)   //nolint:errcheck // nothing is lost here

	w := ledger.NewWriter(from, ledger.WriterOptions{})
	s, err := w.Open(ctx, store.Key{Name: "demo", SandboxID: "sandbox-1"})
	if err != nil {
		panic(err)
	}
	if err := s.Append(ctx, ledger.Event{Step: -1, Name: store.EventSandboxCreated, Payload: json.RawMessage(`{"runId":"r"}`)}); err != nil {
		panic(err)
	}
	if err := w.Close(ctx); err != nil {
		panic(err)
	}

	var file bytes.Buffer
	exported, err := ledger.Export(ctx, from, &file, ledger.ExportOptions{})
	if err != nil {
		panic(err)
	}
	imported, err := ledger.Import(ctx, to, bytes.NewReader(file.Bytes()), ledger.ImportOptions{})
	if err != nil {
		panic(err)
	}
	verified, err := ledger.Verify(ctx, to, ledger.VerifyOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(exported.Entries, "exported,", imported.Written, "written,", verified.Damaged, "damaged")
	// Output: 1 exported, 1 written, 0 damaged
}
