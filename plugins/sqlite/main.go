package main

import (
	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// db is the database that the host grants, by the name under which the plugin asks for it.
const db alineo.SQL = "ledger"

// ledger is the plugin. Its state may be lost at any time: it only saves looking again.
type ledger struct {
	ready bool // the schema is there
	store *alineo.Program
}

func main() {}

func init() {
	alineo.Serve(alineo.Plugin{
		Manifest: abi.Manifest{
			Name: "sqlite", Version: "0.1.0", Kinds: []string{"ledger"},
			Capabilities: []abi.Want{{
				Name: "sql", Resource: string(db), Reason: "the ledger's tables are kept in it",
			}},
			ConfigSchema: `{"type":"object","additionalProperties":false}`,
			State:        abi.StateNone,
		},
		Configure: configure,
		Ledger:    &ledger{store: newAppend()},
	})
}

// configure accepts no key: path, synchronous and busy_timeout are the grant's, not the guest's.
func configure(req *abi.ConfigureRequest) (*abi.ConfigureReply, error) {
	var reply abi.ConfigureReply
	for _, key := range keys(req.Config) {
		reply.Diagnostics = append(reply.Diagnostics, abi.Diagnostic{
			Key: key, Message: "unknown key (the bundled SQLite ledger knows path, synchronous and busy_timeout)",
		})
	}
	return &reply, nil
}
