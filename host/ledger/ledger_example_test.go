package ledger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/nativeledger"
)

func Example() {
	dir, err := os.MkdirTemp("", "ledger-example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	st, err := nativeledger.Open(filepath.Join(dir, "ledger.db"), nativeledger.Options{})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	defer st.Close(ctx) //nolint:errcheck // nothing is lost here
	w := ledger.NewWriter(st, ledger.WriterOptions{})

	key := store.Key{Name: "demo", SandboxID: "sandbox-1"}
	s, err := w.Open(ctx, key)
	if err != nil {
		panic(err)
	}
	for _, ev := range []ledger.Event{
		{Step: -1, Name: store.EventSandboxCreated, Payload: json.RawMessage(`{"sandboxId":"sandbox-1","runId":"r"}`)},
		{Step: 1, Name: store.EventExecStarted, Payload: json.RawMessage(`{"cmd":"echo hello","seq":1}`)},
		{Step: 1, Name: store.EventExecOutput, Payload: json.RawMessage(`{"seq":1,"type":"stdout","text":"hello"}`)},
		{Step: 1, Name: store.EventExecCompleted, Payload: json.RawMessage(`{"exitCode":0,"seq":1}`)},
		{Step: -1, Name: store.EventCheckpointCreated, Payload: json.RawMessage(`{"snapshotId":"snap-1","name":"start"}`)},
	} {
		if err = s.Append(ctx, ev); err != nil {
			panic(err)
		}
	}
	if err = w.Close(ctx); err != nil {
		panic(err)
	}

	replay, err := ledger.BuildReplay(ctx, st, key, ledger.ReplayOptions{Tag: "start"})
	if err != nil {
		panic(err)
	}
	x := replay.Results[1]
	fmt.Printf("%s %q: exit code %d, %q, resumed from %s\n", x.Kind, x.Command, x.ExitCode, x.Stdout, replay.Checkpoint.SnapshotID)
	// Output: exec "echo hello": exit code 0, "hello\n", resumed from snap-1
}
