package main

import "github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"

// schemaVersion is the version of the tables of our own. A database with a higher one is refused
// untouched.
const (
	firstVersion  = 1 // the tables
	renamed       = 2 // the old names renamed, and indexes
	indexed       = 3 // other indexes
	runs          = 4 // the tables of durable runs
	bytewise      = 5 // indexes in the order of bytes, where the database has another
	schemaVersion = bytewise
)

// schema makes what is missing, in the schema that stands for {}. The two tables and the index behind
// them are the reference's; the two indexes that go are the reference's of an older generation.
var schema = [...]string{
	`DROP INDEX IF EXISTS {}alineo_events_sandbox_id`,
	`DROP INDEX IF EXISTS {}alineo_events_name`,
	`CREATE TABLE IF NOT EXISTS {}alineo_events (
  id          BIGSERIAL PRIMARY KEY,
  sandbox_id  TEXT      NOT NULL,
  name        TEXT      NOT NULL,
  step_idx    INTEGER   NOT NULL,
  branch      INTEGER,
  event       TEXT      NOT NULL,
  payload     JSONB,
  error       TEXT,
  ts          BIGINT    NOT NULL
)`,
	`CREATE INDEX IF NOT EXISTS alineo_events_name_sandbox_ts
  ON {}alineo_events(name, sandbox_id, ts, id)`,
	`CREATE TABLE IF NOT EXISTS {}alineo_environments (
  name        TEXT   PRIMARY KEY,
  snapshot_id TEXT   NOT NULL,
  image       TEXT   NOT NULL,
  built_at    BIGINT NOT NULL
)`,
	// One head a sandbox: who may write (epoch) and what was written last. Heads change with each
	// append, in the room that their pages keep.
	`CREATE TABLE {}alineo_host_heads (
  name       TEXT   NOT NULL,
  sandbox_id TEXT   NOT NULL,
  epoch      BIGINT NOT NULL,
  segment_id BYTEA  NOT NULL,
  hash       BYTEA  NOT NULL,
  max_ts     BIGINT NOT NULL,
  entries    BIGINT NOT NULL,
  PRIMARY KEY (name, sandbox_id)
) WITH (fillfactor = 50)`,
	// One row a segment: the chain of hashes over what we wrote.
	`CREATE TABLE {}alineo_host_segments (
  name       TEXT   NOT NULL,
  sandbox_id TEXT   NOT NULL,
  last_id    BIGINT NOT NULL,
  first_id   BIGINT NOT NULL,
  segment_id BYTEA  NOT NULL,
  previous   BYTEA  NOT NULL,
  hash       BYTEA  NOT NULL,
  leaves     BYTEA  NOT NULL,
  PRIMARY KEY (name, sandbox_id, last_id)
)`,
	// Hashes don't compress.
	`ALTER TABLE {}alineo_host_segments ALTER COLUMN leaves SET STORAGE EXTERNAL`,
	// What is left of a deleted sandbox.
	`CREATE TABLE {}alineo_host_tombstones (
  name       TEXT   NOT NULL,
  sandbox_id TEXT   NOT NULL,
  entries    BIGINT NOT NULL,
  hash       BYTEA  NOT NULL,
  deleted_at BIGINT NOT NULL,
  PRIMARY KEY (name, sandbox_id)
)`,
	`CREATE TABLE {}alineo_host_schema (
  id      INTEGER PRIMARY KEY CHECK (id = 1),
  version INTEGER NOT NULL
)`,
}

// indexes are over the few entries of a ledger that listings are about. Most of what is appended is
// output, which each of them tells by one comparison (decision 0018); that an event which is another is
// not output PostgreSQL finds out by itself.
var indexes = [...]string{
	`CREATE INDEX alineo_host_created ON {}alineo_events(ts, id) WHERE ` + notOutput + ledgerkit.IsCreated,
	`CREATE INDEX alineo_host_created_name ON {}alineo_events(name, ts, id) WHERE ` + notOutput + ledgerkit.IsCreated,
	`CREATE INDEX alineo_host_created_sandbox ON {}alineo_events(sandbox_id, ts, id) WHERE ` + notOutput + ledgerkit.IsCreated,
	`CREATE INDEX alineo_host_created_run ON {}alineo_events((coalesce(payload->>'runId', sandbox_id))) WHERE ` + notOutput + ledgerkit.IsCreated,
	`CREATE INDEX alineo_host_marks ON {}alineo_events(name, sandbox_id, event, ts, id)
 WHERE ` + notOutput + `(` + ledgerkit.IsCreated + ` OR ` + ledgerkit.IsClosed + ` OR ` + ledgerkit.IsCompleted + `)`,
	`CREATE INDEX alineo_host_checkpoints ON {}alineo_events(name, sandbox_id, ts, id) WHERE ` + notOutput + ledgerkit.IsCheckpoint,
	// How far a sandbox's steps go. An exec's output has the step that its start has.
	`CREATE INDEX alineo_host_steps ON {}alineo_events(name, sandbox_id, step_idx) WHERE event <> 'exec.output'`,
}

// notOutput is what an index asks first.
const notOutput = `event <> 'exec.output' AND `

// byteIndexes are for databases that order texts by a language: what is listed in the order of bytes, and ids
// by their beginning, find no use in any other index there. The first has every entry, because others may
// have written any one of a sandbox (decision 0026).
var byteIndexes = [...]string{
	`CREATE INDEX IF NOT EXISTS alineo_host_events_bytes ON {}alineo_events(name COLLATE "C", sandbox_id COLLATE "C")`,
	`CREATE INDEX IF NOT EXISTS alineo_host_created_bytes ON {}alineo_events(sandbox_id COLLATE "C", ts, id) WHERE ` + notOutput + ledgerkit.IsCreated,
	`CREATE INDEX IF NOT EXISTS alineo_host_heads_bytes ON {}alineo_host_heads(name COLLATE "C", sandbox_id COLLATE "C")`,
	`CREATE INDEX IF NOT EXISTS alineo_host_tombstones_bytes ON {}alineo_host_tombstones(name COLLATE "C", sandbox_id COLLATE "C")`,
}

// oldIndexes are those of earlier versions, which the new ones take the place of.
var oldIndexes = [...]string{
	`DROP INDEX IF EXISTS {}alineo_host_created`,
	`DROP INDEX IF EXISTS {}alineo_host_created_name`,
	`DROP INDEX IF EXISTS {}alineo_host_created_sandbox`,
	`DROP INDEX IF EXISTS {}alineo_host_created_run`,
	`DROP INDEX IF EXISTS {}alineo_host_marks`,
	`DROP INDEX IF EXISTS {}alineo_host_checkpoints`,
}
