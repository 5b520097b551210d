package main

import (
	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/plugins/internal/runkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// db is the database that the host grants, by the name under which the plugin asks for it.
const db alineo.SQL = "ledger"

// ledger is the plugin. Its state may be lost at any time: it only saves looking again.
type ledger struct {
	ledgerkit.Environments
	ledgerkit.Maintenance

	sql    statements
	tables tables
	store  *alineo.Program
}

func main() {}

func init() {
	l := &ledger{}
	l.Environments = ledgerkit.Environments{DB: db, Ensure: l.ensure, Readable: l.readable, SQL: &l.sql.environments}
	l.Maintenance = ledgerkit.Maintenance{DB: db, SQL: l.maintenanceSQL}
	l.use(defaultSchema)
	stores := l.runStores()
	alineo.Serve(alineo.Plugin{
		Manifest: abi.Manifest{
			Name: "postgres", Version: "0.1.0",
			Capabilities: []abi.Want{{
				Name: "sql", Resource: string(db), Reason: "the tables of the ledger and of durable runs are kept in it",
			}},
			ConfigSchema: `{"type":"object","additionalProperties":false,"properties":{"schema":{"type":"string","minLength":1,"maxLength":63}}}`,
			State:        abi.StateNone,
		},
		Configure: l.configure,
		Ledger:    l, Maintenance: l,
		Instances: stores.Instances, Runs: stores.Runs, RunLog: stores.Log, Locks: stores.Locks,
		Optional: runkit.Optional(),
	})
}

// use makes the statements for the tables of a schema.
func (l *ledger) use(schema string) {
	l.sql = newStatements(schema)
	l.store = newAppend(&l.sql)
	l.tables = tables{}
}
