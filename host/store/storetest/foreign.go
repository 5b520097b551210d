package storetest

import (
	"encoding/json"
	"strconv"

	"github.com/alineo-labs/alineo-host/host/store"
)

// Foreign is how the reference client, which is another program, writes to the base table that it and
// the bundled ledgers share: for a Storage.Insert that runs these statements one by one.
type Foreign struct {
	Probe  string // is an error unless the table is there
	Create string // makes the table unless it is there
	Insert string // with the parameters of Row
	json   bool   // the payload's type holds nothing that is no JSON
}

// ForeignSQLite returns the statements for SQLite.
func ForeignSQLite() Foreign {
	return Foreign{
		Probe: `SELECT count(*) FROM alineo_events WHERE 1 = 0`,
		Create: `CREATE TABLE IF NOT EXISTS alineo_events (id INTEGER PRIMARY KEY AUTOINCREMENT,
 sandbox_id TEXT NOT NULL, name TEXT NOT NULL, step_idx INTEGER NOT NULL, branch INTEGER, event TEXT NOT NULL,
 payload TEXT, error TEXT, ts INTEGER NOT NULL)`,
		Insert: `INSERT INTO alineo_events(sandbox_id, name, step_idx, branch, event, payload, error, ts)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
	}
}

// ForeignPostgres returns the statements for PostgreSQL, for the schema that is searched first.
func ForeignPostgres() Foreign {
	return Foreign{
		Probe: `SELECT count(*) FROM alineo_events WHERE 1 = 0`,
		Create: `CREATE TABLE IF NOT EXISTS alineo_events (id BIGSERIAL PRIMARY KEY,
 sandbox_id TEXT NOT NULL, name TEXT NOT NULL, step_idx INTEGER NOT NULL, branch INTEGER, event TEXT NOT NULL,
 payload JSONB, error TEXT, ts BIGINT NOT NULL)`,
		Insert: `INSERT INTO alineo_events(sandbox_id, name, step_idx, branch, event, payload, error, ts)
 VALUES ($1, $2, $3, $4, $5, CAST($6 AS jsonb), $7, $8)`,
		json: true,
	}
}

// Row returns the parameters of Insert: each a string, an int64 or nil.
func (f Foreign) Row(e *store.Entry) [8]any {
	row := [8]any{e.SandboxID, e.Name, e.StepIndex, nil, e.Event, nil, nil, e.TS}
	if e.Branch != nil {
		row[3] = *e.Branch
	}
	switch {
	case e.Payload == nil:
	case f.json && !json.Valid(e.Payload):
		row[5] = strconv.Quote(string(e.Payload)) // which is JSON and no object
	default:
		row[5] = string(e.Payload)
	}
	if e.Error != nil {
		row[6] = *e.Error
	}
	return row
}
