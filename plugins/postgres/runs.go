package main

import (
	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/plugins/internal/runkit"
)

// runDialect is how PostgreSQL says what durable runs are kept with, in the tables of a schema.
func runDialect(place string) runkit.Dialect {
	return runkit.Dialect{
		Prefix: place, Now: `floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint`,
		Token: `replace(gen_random_uuid()::text, '-', '')`, Bytes: ` COLLATE "C"`, Integer: "BIGINT", Blob: "BYTEA",
		Skip: " FOR UPDATE SKIP LOCKED", Small: " WITH (fillfactor = 50)",
		Insert: `INSERT INTO {}alineo_host_log_events(run_id, place, ts, kind, data) VALUES ($1, $2::bigint - $3::bigint, {now}, $4, $5)`,
		InsertMany: `INSERT INTO {}alineo_host_log_events(run_id, place, ts, kind, data)
 SELECT u.run_id, $2::bigint - u.behind, {now}, u.kind, u.data
 FROM unnest($1::text[], $3::bigint[], $4::text[], $5::bytea[]) AS u(run_id, behind, kind, data)`,
	}
}

// runDatabase is where the stores of durable runs work, beside the ledger.
type runDatabase struct {
	ledgerkit.Database
	ledger *ledger
}

// EnsureRuns makes the tables of durable runs at first use, with all that comes before them: what of that
// is only for speed the ledger may do without for a while, runs can't.
func (d runDatabase) EnsureRuns() error {
	l := d.ledger
	t := &l.tables
	if t.ready {
		return nil
	}
	if err := l.ensure(); err != nil || t.ready {
		return err
	}
	if t.version < runs {
		if err := l.upgrade(); err != nil {
			return err
		}
	}
	if t.version < runs {
		return &abi.Error{Code: abi.CodeUnavailable, Message: ledgerkit.NoRuns}
	}
	return nil
}

// runStores are the stores of durable runs.
func (l *ledger) runStores() runkit.Stores {
	return runkit.New(runDatabase{db, l}, func() runkit.Statements { return runkit.NewStatements(runDialect(l.sql.place)) })
}
