//go:build !wasip1 && !tinygo.wasm

package alineo_test

import (
	"fmt"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// notes is a ledger that keeps entries in a database called "notes".
type notes struct {
	alineo.Unimplemented // answers what is missing with "unsupported"

	insert alineo.Step
}

// Append binds the batch, which stays on the host, to one INSERT.
func (n *notes) Append(req *abi.LedgerAppendRequest) (*abi.LedgerAppendReply, error) {
	_, err := alineo.SQL("notes").Write(n.insert.ForEach(req.Entries))
	return &abi.LedgerAppendReply{}, err
}

func plugin() alineo.Plugin {
	return alineo.Plugin{
		Manifest: abi.Manifest{
			Name: "notes", Version: "1.0.0",
			Capabilities: []abi.Want{{Name: "sql", Resource: "notes", Reason: "keeps the entries"}},
		},
		Ledger: &notes{
			insert: alineo.Statement("INSERT INTO notes(name, event, payload) VALUES (?, ?, ?)",
				alineo.Columns(abi.EntryName, abi.EntryEvent, abi.EntryPayload)...).Many(2),
		},
	}
}

// host stands in for the host and prints what it is asked.
type host struct{}

func (host) Call(op abi.Op, req []byte) (abi.Code, []byte) {
	var program abi.SQLExec
	if err := program.Unmarshal(req); err != nil {
		panic(err)
	}
	for _, step := range program.Steps {
		fmt.Println(op, program.Database, step.Batch, step.ManySQL)
	}
	return abi.CodeOK, (&abi.SQLExecReply{Steps: make([]abi.SQLStepResult, len(program.Steps))}).AppendTo(nil)
}

func (host) Log(level alineo.Level, line string) { fmt.Println(level, line) }

// A plugin calls Serve in an init function. A test does that itself, and puts a double in the place of the
// host.
func Example() {
	defer alineo.Attach(host{})()
	alineo.Serve(plugin())

	var reply abi.LedgerAppendReply
	fmt.Println(alineo.Dispatch(abi.OpLedgerAppend, &abi.LedgerAppendRequest{Entries: 3, EntryCount: 2}, &reply))
	fmt.Println(alineo.Dispatch(abi.OpLedgerRead, &abi.LedgerReadRequest{}, nil))
	// Output:
	// sql.exec notes 3 INSERT INTO notes(name, event, payload) VALUES (?, ?, ?), (?, ?, ?)
	// <nil>
	// unsupported: this plugin has no operation ledger.read
}

func ExampleMultiRow() {
	sql, ok := alineo.MultiRow("INSERT INTO t(a, b) VALUES (?, ?) ON CONFLICT DO NOTHING", 3)
	fmt.Println(ok, sql)
	// Output: true INSERT INTO t(a, b) VALUES (?, ?), (?, ?), (?, ?) ON CONFLICT DO NOTHING
}
