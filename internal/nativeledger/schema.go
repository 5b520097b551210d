package nativeledger

import (
	"context"
	"database/sql"
	"fmt"
)

var schema = [...]string{
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
	`CREATE TABLE IF NOT EXISTS alineo_host_tombstones (
  name       TEXT    NOT NULL,
  sandbox_id TEXT    NOT NULL,
  entries    INTEGER NOT NULL,
  hash       BLOB    NOT NULL,
  deleted_at INTEGER NOT NULL,
  PRIMARY KEY (name, sandbox_id)
) WITHOUT ROWID`,
}

// schemaVersion is the version of the product's tables that these are like.
const schemaVersion = 1

// migrate makes what is missing. Old event names are left alone: readers know both spellings.
func migrate(ctx context.Context, db *sql.DB) error {
	for _, statement := range schema {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("making the schema: %w", err)
		}
	}
	return nil
}

// Reading accepts the reference's older spelling too.
const (
	isCreated    = `event IN ('sandbox.created', 'sandbox_created')`
	isClosed     = `event IN ('sandbox.closed', 'sandbox_closed')`
	isCompleted  = `event IN ('exec.completed', 'exec_complete')`
	isCheckpoint = `event IN ('sandbox.checkpoint_created', 'checkpoint_created', 'snapshot')`
)

const (
	sqlClaim = `INSERT INTO alineo_host_heads(name, sandbox_id, epoch, segment_id, hash, max_ts, entries)
 VALUES (?, ?, 1, x'', x'', 0, 0)
 ON CONFLICT(name, sandbox_id) DO UPDATE SET epoch = epoch + 1
 RETURNING epoch, segment_id, hash, entries`
	sqlStand   = `SELECT coalesce(max(step_idx), -1), coalesce(max(ts), 0) FROM alineo_events WHERE name = ? AND sandbox_id = ?`
	sqlAdvance = `UPDATE alineo_host_heads SET segment_id = ?, hash = ?, max_ts = max(max_ts, ?), entries = entries + ?
 WHERE name = ? AND sandbox_id = ? AND epoch = ? AND hash = ?`
	sqlInsert = `INSERT INTO alineo_events(sandbox_id, name, step_idx, branch, event, payload, error, ts)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	sqlSegment = `INSERT INTO alineo_host_segments(name, sandbox_id, last_id, first_id, segment_id, previous, hash, leaves)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	sqlApplied = `SELECT count(*) FROM alineo_host_segments WHERE name = ? AND sandbox_id = ? AND segment_id = ? AND hash = ?`

	eventColumns = `id, sandbox_id, name, step_idx, branch, event, payload, error, ts`

	// Not (ts, id) > (?, ?): of that SQLite uses the index for ts only, and walks over every row of one
	// time again for each page.
	sqlRead = `SELECT ` + eventColumns + ` FROM (
  SELECT * FROM alineo_events WHERE name = ?1 AND sandbox_id = ?2 AND ts = ?3 AND id > ?4
  UNION ALL SELECT * FROM alineo_events WHERE name = ?1 AND sandbox_id = ?2 AND ts > ?3)
 ORDER BY ts, id LIMIT ?5`
	sqlLast           = `SELECT ` + eventColumns + ` FROM alineo_events WHERE name = ? AND sandbox_id = ? ORDER BY ts DESC, id DESC LIMIT ?`
	sqlLastAll        = `SELECT ` + eventColumns + ` FROM alineo_events ORDER BY id DESC LIMIT ?`
	sqlReadAll        = `SELECT ` + eventColumns + ` FROM alineo_events WHERE id > ? ORDER BY id LIMIT ?`
	sqlLastCheckpoint = `SELECT ` + eventColumns + ` FROM alineo_events
 WHERE name = ?1 AND sandbox_id = ?2 AND ` + isCheckpoint + `
 AND (?3 = '' OR CASE WHEN json_valid(payload) THEN json_extract(payload, '$.name') END = ?3)
 ORDER BY ts DESC, id DESC LIMIT 1`
	sqlListCheckpoints = `SELECT
 coalesce(CASE WHEN json_valid(payload) THEN json_extract(payload, '$.snapshotId') END, ''),
 coalesce(CASE WHEN json_valid(payload) THEN json_extract(payload, '$.name') END, ''), ts, id
 FROM alineo_events WHERE name = ? AND sandbox_id = ? AND ` + isCheckpoint + ` AND (ts, id) > (?, ?) ORDER BY ts, id LIMIT ?`

	// Filters come in the order: name, sandbox id, status, before, run, resource, team, cursor
	// (started, created), limit, beginning of ids; an empty or null one is not given.
	sqlDetails = `SELECT * FROM (SELECT name, sandbox_id,
  CASE WHEN closed IS NULL THEN 'running' ELSE 'completed' END AS status, started, coalesce(closed, 0), execs,
  coalesce(run_id, sandbox_id) AS run_id, coalesce(resource_id, '') AS resource_id, coalesce(team_id, '') AS team_id,
  coalesce(parent, ''), created_id
 FROM (SELECT c.*,
  (SELECT max(ts) FROM alineo_events e WHERE e.name = c.name AND e.sandbox_id = c.sandbox_id AND ` + isClosed + `) AS closed,
  (SELECT count(*) FROM alineo_events e WHERE e.name = c.name AND e.sandbox_id = c.sandbox_id AND ` + isCompleted + `) AS execs
  FROM (SELECT name, sandbox_id, min(ts) AS started, max(id) AS created_id,
   max(json_extract(doc, '$.runId')) AS run_id, max(json_extract(doc, '$.resourceId')) AS resource_id,
   max(json_extract(doc, '$.teamId')) AS team_id, max(json_extract(doc, '$.parentSandboxId')) AS parent
   FROM (SELECT id, name, sandbox_id, ts, CASE WHEN json_valid(payload) THEN payload ELSE '{}' END AS doc
    FROM alineo_events WHERE ` + isCreated + ` AND (?1 = '' OR name = ?1) AND (?2 = '' OR sandbox_id = ?2) AND instr(sandbox_id, ?11) = 1)
   GROUP BY name, sandbox_id) c))
 WHERE (?3 = '' OR status = ?3) AND (?4 IS NULL OR started < ?4) AND (?5 = '' OR run_id = ?5)
 AND (?6 = '' OR resource_id = ?6) AND (?7 = '' OR team_id = ?7)
 AND (?8 IS NULL OR (started, created_id) < (?8, ?9))
 ORDER BY started DESC, created_id DESC LIMIT ?10`

	sqlTombstone = `INSERT INTO alineo_host_tombstones(name, sandbox_id, entries, hash, deleted_at)
 SELECT ?1, ?2, n, coalesce((SELECT hash FROM alineo_host_heads WHERE name = ?1 AND sandbox_id = ?2), x''),
  CAST(unixepoch('subsec') * 1000 AS INTEGER)
 FROM (SELECT count(*) AS n FROM alineo_events WHERE name = ?1 AND sandbox_id = ?2) WHERE n > 0
 ON CONFLICT(name, sandbox_id) DO UPDATE SET
  entries = entries + excluded.entries, hash = excluded.hash, deleted_at = excluded.deleted_at`
	sqlDeleteEvents   = `DELETE FROM alineo_events WHERE name = ? AND sandbox_id = ?`
	sqlDeleteSegments = `DELETE FROM alineo_host_segments WHERE name = ? AND sandbox_id = ?`
	// The head stays, with its epoch moved on, so that no driver from before can write.
	sqlResetHead = `UPDATE alineo_host_heads SET epoch = epoch + 1, segment_id = x'', hash = x'', max_ts = 0, entries = 0
 WHERE name = ? AND sandbox_id = ?`

	environmentColumns   = `name, snapshot_id, image, built_at`
	sqlGetEnvironment    = `SELECT ` + environmentColumns + ` FROM alineo_environments WHERE name = ?`
	sqlListEnvironments  = `SELECT ` + environmentColumns + ` FROM alineo_environments ORDER BY built_at DESC, name`
	sqlDeleteEnvironment = `DELETE FROM alineo_environments WHERE name = ?`
	sqlSaveEnvironment   = `INSERT INTO alineo_environments(` + environmentColumns + `) VALUES (?, ?, ?, ?)
 ON CONFLICT(name) DO UPDATE SET snapshot_id = excluded.snapshot_id, image = excluded.image, built_at = excluded.built_at`

	// Of the entries it reads the first of each sandbox (without the pluses, which take the affinity away,
	// SQLite would use the index for the name only and walk over all that a name has). The empty key, which is no sandbox's, is before
	// all others.
	sqlListHeads = `WITH RECURSIVE known(name, sandbox_id) AS (
  SELECT * FROM (SELECT name, sandbox_id FROM alineo_events WHERE (name, sandbox_id) > (?1, ?2)
   ORDER BY name, sandbox_id, ts, id LIMIT 1)
  UNION ALL
  SELECT e.name, e.sandbox_id FROM known CROSS JOIN alineo_events e WHERE e.id = (SELECT n.id FROM alineo_events n
   WHERE (n.name, n.sandbox_id) > (+known.name, +known.sandbox_id) ORDER BY n.name, n.sandbox_id, n.ts, n.id LIMIT 1)
  LIMIT ?3)
 SELECT k.name, k.sandbox_id, coalesce(epoch, 0), coalesce(hash, x''), coalesce(segment_id, x''), coalesce(entries, 0), coalesce(max_ts, 0)
 FROM (SELECT name, sandbox_id FROM known UNION SELECT * FROM (SELECT name, sandbox_id FROM alineo_host_heads
   WHERE (name, sandbox_id) > (?1, ?2) AND entries > 0 ORDER BY name, sandbox_id LIMIT ?3)) k
 LEFT JOIN alineo_host_heads h ON h.name = k.name AND h.sandbox_id = k.sandbox_id
 ORDER BY k.name, k.sandbox_id LIMIT ?3`
	sqlListSegments = `SELECT first_id, last_id, segment_id, previous, hash, leaves FROM alineo_host_segments
 WHERE name = ? AND sandbox_id = ? AND last_id > ? ORDER BY last_id LIMIT ?`
	sqlListTombstones = `SELECT name, sandbox_id, entries, hash, deleted_at FROM alineo_host_tombstones
 WHERE (name, sandbox_id) > (?, ?) ORDER BY name, sandbox_id LIMIT ?`
	// A time that is none counts as an entry without one.
	sqlUsage = `SELECT count(*), coalesce(sum(coalesce(octet_length(payload), 0) + coalesce(octet_length(error), 0)), 0),
 coalesce(min(ts) FILTER (WHERE typeof(ts) = 'integer'), 0), coalesce(max(ts) FILTER (WHERE typeof(ts) = 'integer'), 0),
 count(*) FILTER (WHERE ` + isCreated + `) > 0, count(*) FILTER (WHERE ` + isClosed + `) > 0
 FROM alineo_events WHERE name = ? AND sandbox_id = ?`
	// Counting is reading an index from end to end: not for large tables.
	sqlStats = `SELECT CASE WHEN (SELECT coalesce(max(id), 0) FROM alineo_events) - (SELECT coalesce(min(id), 0) FROM alineo_events) < 5000000
  THEN (SELECT count(*) FROM alineo_events) ELSE -1 END,
 (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)`
)
