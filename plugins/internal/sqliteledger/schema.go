package sqliteledger

import "github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"

// schemaVersion is the version of the tables of our own. A file with a higher one is refused
// untouched.
const (
	firstVersion  = 1 // the tables
	renamed       = 2 // the old names renamed, and indexes
	indexed       = 3 // other indexes
	runs          = 4 // the tables of durable runs
	schemaVersion = runs
)

// schema makes what is missing. The first three statements are the reference's, word for word
// where SQLite keeps the words; the two indexes are the reference's of an older generation.
var schema = [...]string{
	`DROP INDEX IF EXISTS alineo_events_sandbox_id`,
	`DROP INDEX IF EXISTS alineo_events_name`,
	`CREATE TABLE IF NOT EXISTS alineo_events (
  id          INTEGER  PRIMARY KEY,
  sandbox_id  TEXT     NOT NULL,
  name        TEXT     NOT NULL,
  step_idx    INTEGER  NOT NULL,
  branch      INTEGER,
  event       TEXT     NOT NULL,
  payload     TEXT,
  error       TEXT,
  ts          INTEGER  NOT NULL
)`,
	`CREATE INDEX IF NOT EXISTS alineo_events_name_sandbox_ts
  ON alineo_events(name, sandbox_id, ts, id)`,
	`CREATE TABLE IF NOT EXISTS alineo_environments (
  name        TEXT    PRIMARY KEY,
  snapshot_id TEXT    NOT NULL,
  image       TEXT    NOT NULL,
  built_at    INTEGER NOT NULL
)`,
	// One head a sandbox: who may write (epoch) and what was written last.
	`CREATE TABLE IF NOT EXISTS alineo_host_heads (
  name       TEXT    NOT NULL,
  sandbox_id TEXT    NOT NULL,
  epoch      INTEGER NOT NULL,
  segment_id BLOB    NOT NULL,
  hash       BLOB    NOT NULL,
  max_ts     INTEGER NOT NULL,
  entries    INTEGER NOT NULL,
  PRIMARY KEY (name, sandbox_id)
) WITHOUT ROWID`,
	// One row a segment: the chain of hashes over what we wrote.
	`CREATE TABLE IF NOT EXISTS alineo_host_segments (
  name       TEXT    NOT NULL,
  sandbox_id TEXT    NOT NULL,
  last_id    INTEGER NOT NULL,
  first_id   INTEGER NOT NULL,
  segment_id BLOB    NOT NULL,
  previous   BLOB    NOT NULL,
  hash       BLOB    NOT NULL,
  leaves     BLOB    NOT NULL,
  PRIMARY KEY (name, sandbox_id, last_id)
) WITHOUT ROWID`,
	// What is left of a deleted sandbox.
	`CREATE TABLE IF NOT EXISTS alineo_host_tombstones (
  name       TEXT    NOT NULL,
  sandbox_id TEXT    NOT NULL,
  entries    INTEGER NOT NULL,
  hash       BLOB    NOT NULL,
  deleted_at INTEGER NOT NULL,
  PRIMARY KEY (name, sandbox_id)
) WITHOUT ROWID`,
}

// indexes are over the few entries of a ledger that listings are about, and come with version 2. Most of
// what is appended is output, which each of them tells by one comparison (decision 0018).
var indexes = [...]string{
	`CREATE INDEX IF NOT EXISTS alineo_host_created ON alineo_events(ts, id) WHERE ` + notOutput + ledgerkit.IsCreated,
	`CREATE INDEX IF NOT EXISTS alineo_host_created_name ON alineo_events(name, ts, id) WHERE ` + notOutput + ledgerkit.IsCreated,
	`CREATE INDEX IF NOT EXISTS alineo_host_created_run ON alineo_events(` + runOf("") + `) WHERE ` + notOutput + ledgerkit.IsCreated,
	// What a sandbox is known by, also by its id alone. SQLite sees that a query about one of these is about
	// the index; an IN of all it would not see through.
	`CREATE INDEX IF NOT EXISTS alineo_host_marks ON alineo_events(sandbox_id, event, name, ts, id)
 WHERE ` + notOutput + `(` + ledgerkit.IsCreated + ` OR ` + ledgerkit.IsClosed + ` OR ` + ledgerkit.IsCompleted + `)`,
	`CREATE INDEX IF NOT EXISTS alineo_host_checkpoints ON alineo_events(name, sandbox_id, ts, id) WHERE ` + notOutput + ledgerkit.IsCheckpoint,
	// How far a sandbox's steps go. An exec's output has the step that its start has.
	`CREATE INDEX IF NOT EXISTS alineo_host_steps ON alineo_events(name, sandbox_id, step_idx) WHERE event <> 'exec.output'`,
}

// oldIndexes are those of earlier versions, as far as they are none of this, or others.
var oldIndexes = [...]string{
	`DROP INDEX IF EXISTS alineo_host_heads_sandbox`,
	`DROP INDEX IF EXISTS alineo_host_created_sandbox`,
	`DROP INDEX IF EXISTS alineo_host_marks`,
}

// upgrade brings the tables of a version up to date. The names that the reference's older generation
// gave are changed once, when there is nothing yet but what it wrote.
func upgrade(from int64) []string {
	var statements []string
	if from < renamed {
		statements = append(statements, ledgerkit.RenameSQL("alineo_events", "alineo_host_segments"))
	}
	if from < indexed {
		statements = append(append(statements, oldIndexes[:]...), indexes[:]...)
	}
	return append(statements, runTables()...)
}

// notOutput is what an index asks first. A query that is to use it has to say the same.
const notOutput = `event <> 'exec.output' AND `

// of is a condition on the events of a table with this name, for which there is an index.
func of(table, condition string) string {
	return table + "." + notOutput + table + "." + condition
}

// runOf is the run that a created entry is of, which it does not say by itself when its payload is no
// JSON.
func runOf(table string) string {
	return `coalesce(CASE WHEN json_valid(` + table + `payload) THEN CAST(json_extract(` + table + `payload, '$.runId') AS TEXT) END, ` + table + `sandbox_id)`
}

const (
	sqlSchemaTable = `CREATE TABLE IF NOT EXISTS alineo_host_schema (
  id      INTEGER PRIMARY KEY CHECK (id = 1),
  version INTEGER NOT NULL
)`
	sqlSchemaThere   = `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'alineo_host_schema'`
	sqlBaseThere     = `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'alineo_events'`
	sqlSchemaVersion = `SELECT version FROM alineo_host_schema WHERE id = 1`
	sqlSchemaStill   = `SELECT 1 WHERE coalesce((SELECT version FROM alineo_host_schema WHERE id = 1), 0) = ?`
	sqlSchemaSet     = `INSERT INTO alineo_host_schema(id, version) VALUES (1, ?)
 ON CONFLICT(id) DO UPDATE SET version = max(version, excluded.version)`
	// How many entries there are at most, without counting them.
	sqlSpread = `SELECT coalesce((SELECT max(id) FROM alineo_events) - (SELECT min(id) FROM alineo_events) + 1, 0)`
)
