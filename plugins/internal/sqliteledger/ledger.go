package sqliteledger

import (
	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/plugins/internal/runkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// database is what the host grants, by the name under which the plugin asks for it.
const database alineo.SQL = "ledger"

// Ledger is the plugin's ledger. Its state may be lost at any time: it only saves looking again.
type Ledger struct {
	ledgerkit.Environments
	ledgerkit.Maintenance

	tables tables
	sql    Statements
	store  *alineo.Program
	// storeAbove is store for when the newest entries were deleted by others.
	storeAbove *alineo.Program

	readFirst string
}

var _ Operations = (*Ledger)(nil)

// New returns the ledger with these statements.
func New(sql Statements) *Ledger {
	l := &Ledger{sql: sql, readFirst: sql.first()}
	l.store, l.storeAbove = newAppend(&l.sql), newAppendAbove(&l.sql)
	l.Environments = ledgerkit.Environments{DB: &l.tables, Ensure: l.tables.ensure, Readable: l.tables.readable, SQL: &l.sql.Environments}
	l.Maintenance = ledgerkit.Maintenance{DB: &l.tables, SQL: l.maintenance, Most: ledgerkit.HeadsPage}
	return l
}

// Operations are those of a ledger that lacks none.
type Operations interface {
	alineo.Ledger
	alineo.Maintenance
}

// Plugin returns the plugin that serves a ledger, which may be a type of the caller's with Ledger in it, and
// the stores beside it.
func Plugin(ledger Operations, stores *runkit.Stores) alineo.Plugin {
	return alineo.Plugin{
		Manifest: abi.Manifest{
			Name: "sqlite", Version: "0.1.0",
			Capabilities: []abi.Want{{
				Name: "sql", Resource: string(database), Reason: "the tables of the ledger and of durable runs are kept in it",
			}},
			ConfigSchema: `{"type":"object","additionalProperties":false}`,
			State:        abi.StateNone,
		},
		Configure: configure,
		Ledger:    ledger, Maintenance: ledger,
		Instances: stores.Instances, Runs: stores.Runs, RunLog: stores.Log, Locks: stores.Locks,
		Optional: runkit.Optional(),
	}
}

// configure accepts no key: path, synchronous and busy_timeout are the grant's, not the guest's.
func configure(req *abi.ConfigureRequest) (*abi.ConfigureReply, error) {
	var reply abi.ConfigureReply
	for _, m := range ledgerkit.Members(req.Config) {
		reply.Diagnostics = append(reply.Diagnostics, abi.Diagnostic{
			Key: m.Key, Message: "unknown key (the bundled SQLite ledger knows path, synchronous and busy_timeout)",
		})
	}
	return &reply, nil
}

// maintenance returns the statements for the tables that are there.
func (l *Ledger) maintenance() (*ledgerkit.MaintenanceSQL, int64, error) {
	if err := l.tables.readable(); err != nil {
		return nil, 0, err
	}
	if l.tables.bare {
		bare := l.sql.bareMaintenance()
		return &bare, 0, nil
	}
	return &l.sql.Maintenance, l.tables.version, nil
}
