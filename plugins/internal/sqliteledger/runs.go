package sqliteledger

import (
	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/plugins/internal/runkit"
)

// now is SQLite's clock, Unix milliseconds.
const now = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`

// runDialect is how SQLite says what durable runs are kept with.
func runDialect() runkit.Dialect {
	return runkit.Dialect{
		Question: true, Now: now, Token: `lower(hex(randomblob(16)))`,
		Integer: "INTEGER", Blob: "BLOB", Rows: " WITHOUT ROWID", Small: " WITHOUT ROWID",
		Insert: `INSERT INTO alineo_host_log_events(run_id, place, ts, kind, data) VALUES (?, ? - ?, {now}, ?, ?)`,
	}
}

// RunStatements are the right ones for durable runs.
func RunStatements() runkit.Statements { return runkit.NewStatements(runDialect()) }

// RunStores returns the stores of durable runs that lie beside a ledger, with these statements.
func (l *Ledger) RunStores(statements func() runkit.Statements) runkit.Stores {
	return runkit.New(&l.tables, statements)
}

// runTables are the statements of the version that brings durable runs.
func runTables() []string {
	d := runDialect()
	return runkit.Schema(&d)
}

// EnsureRuns makes the tables of durable runs at first use, with all that comes before them: what of that
// is only for speed the ledger may do without for a while, runs can't.
func (t *tables) EnsureRuns() error {
	if t.ready {
		return nil
	}
	if err := t.ensure(); err != nil || t.ready {
		return err
	}
	if t.version < runs {
		if err := t.upgrade(); err != nil {
			return err
		}
	}
	if t.version < runs {
		return &abi.Error{Code: abi.CodeUnavailable, Message: ledgerkit.NoRuns}
	}
	return nil
}
