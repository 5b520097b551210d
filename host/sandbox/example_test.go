package sandbox_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/internal/nativeledger"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// A run that is interrupted after its checkpoint and gone on with elsewhere: what had been done
// answers from the ledger.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "ledger-")
	check(err)
	defer func() { _ = os.RemoveAll(dir) }()
	st, err := nativeledger.Open(filepath.Join(dir, "ledger.db"), nativeledger.Options{})
	check(err)
	defer func() { _ = st.Close(ctx) }()
	writer := ledger.NewWriter(st, ledger.WriterOptions{})
	defer func() { _ = writer.Close(ctx) }()
	client, err := sandbox.New(sandbox.Options{
		Wire: wireClient(shared.Transport()), Store: st, Ledger: writer, Image: "host",
	})
	check(err)

	program := func(sb *sandbox.Handle) {
		for _, command := range []string{"echo built > /tmp/state; echo building", "cat /tmp/state"} {
			result, err := sb.Run(ctx, command, sandbox.ExecOptions{})
			check(err)
			fmt.Printf("%d: %s (replayed: %v)\n", result.Seq, result.Stdout[:len(result.Stdout)-1], result.Replayed)
			if result.Seq == 1 && !result.Replayed {
				_, err := sb.Checkpoint(ctx, "built")
				check(err)
			}
		}
	}
	first, err := client.Create(ctx, sandbox.CreateOptions{Name: "job"})
	check(err)
	program(first)
	check(first.Close(ctx))

	second, err := client.Resume(ctx, first.ID(), sandbox.ResumeOptions{Tag: "built"})
	check(err)
	program(second)
	check(second.Close(ctx))
	// Output:
	// 1: building (replayed: false)
	// 2: built (replayed: false)
	// 1: building (replayed: true)
	// 2: built (replayed: false)
}
