package sqliteledger

import (
	"strings"

	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
)

// The table is not strict: others may have put a text where a time belongs, and texts are behind all
// numbers. Listings pass such a row over; where entries are read it has the time 0.
const (
	isTimed    = `ts < ''`
	isTimeless = `ts >= ''`
)

// columns are those of an entry but the time. The table is not strict, so that others may have put
// anything into them: the host takes it as well as it can. Five CASTs a row are a tenth of the time of
// reading it.
const columns = `id, sandbox_id, name, step_idx, branch, event, payload, error`

// Statements are the ledger's, where they run with parameters of their own. They are a value so that
// a test can put a wrong one in.
type Statements struct {
	Claim, Stand, Head                                string
	Advance, Insert, Segment, Above, Below, Applied   string
	Read, Sparse, Timeless, ReadAll, Last, LastAll    string
	LastCheckpoint, TaggedCheckpoint, ListCheckpoints string
	FindName, FewIDs                                  string
	Delete                                            DeleteSQL
	Environments                                      ledgerkit.EnvironmentSQL
	Maintenance                                       ledgerkit.MaintenanceSQL
	// Details sums up sandboxes by their first created entries c: more conditions, the order and what
	// follows it.
	Details func(where, order, end string) string
}

// sparse is later for where few entries have the time ?3: it looks at all of them again, and is quicker
// than putting two halves together.
const sparse = `SELECT ` + columns + `, ts FROM alineo_events WHERE name = ?1 AND sandbox_id = ?2 AND ts >= ?3 AND ` + isTimed + `
 AND NOT (ts = ?3 AND id <= ?4)`

// later is what of a sandbox's entries with a time is behind (?3, ?4). (ts, id) > (?3, ?4) would use the
// index for ts only, and many entries may have the same.
const later = `SELECT ` + columns + `, ts FROM alineo_events WHERE name = ?1 AND sandbox_id = ?2 AND ts = ?3 AND id > ?4
 UNION ALL
 SELECT ` + columns + `, ts FROM alineo_events WHERE name = ?1 AND sandbox_id = ?2 AND ts > ?3 AND ` + isTimed

// gap is the event of a row that no transaction leaves.
const gap = "alineo_host.gap"

const byTime = ` ORDER BY ts, id LIMIT ?5`

// first is Read for the beginning of a sandbox's entries, where those without a time are.
func (s *Statements) first() string {
	return strings.Replace(s.Read, byTime, s.Timeless+byTime, 1)
}

// bareMaintenance is Maintenance for the reference's tables alone: with empty ones in the place of ours.
func (s *Statements) bareMaintenance() ledgerkit.MaintenanceSQL {
	none := strings.NewReplacer(
		"alineo_host_heads", "(SELECT '' AS name, '' AS sandbox_id, 0 AS epoch, x'' AS hash, x'' AS segment_id, 0 AS entries, 0 AS max_ts WHERE FALSE)",
		"alineo_host_segments", `(SELECT '' AS name, '' AS sandbox_id, 0 AS last_id, 0 AS first_id, x'' AS segment_id, x'' AS previous, x'' AS hash,
 x'' AS leaves WHERE FALSE)`,
		"alineo_host_tombstones", "(SELECT '' AS name, '' AS sandbox_id, 0 AS entries, x'' AS hash, 0 AS deleted_at WHERE FALSE)")
	bare := s.Maintenance
	for _, sql := range []*string{&bare.Heads, &bare.Segments, &bare.Tombstones} {
		*sql = none.Replace(*sql)
	}
	return bare
}

// Standard returns the right statements.
func Standard() Statements {
	return Statements{
		Claim: `INSERT INTO alineo_host_heads(name, sandbox_id, epoch, segment_id, hash, max_ts, entries)
 VALUES (?, ?, 1, x'', x'', 0, 0)
 ON CONFLICT(name, sandbox_id) DO UPDATE SET epoch = epoch + 1 WHERE NOT (` + strings.ReplaceAll(isDeleting, "h.", "") + `)
 RETURNING epoch, segment_id, hash, entries`,

		// The base table, not the head, says where a ledger stands: others may have written to it. Two looks
		// into indexes, however large it is.
		Stand: `SELECT coalesce((SELECT CAST(step_idx AS INTEGER) FROM alineo_events WHERE name = ?1 AND sandbox_id = ?2 AND event <> 'exec.output'
  AND step_idx < '' ORDER BY step_idx DESC LIMIT 1), -1),
 coalesce((SELECT ts FROM alineo_events WHERE name = ?1 AND sandbox_id = ?2 AND ` + isTimed + ` ORDER BY ts DESC LIMIT 1), 0)`,

		Advance: `UPDATE alineo_host_heads SET segment_id = ?, hash = ?, max_ts = max(max_ts, ?), entries = entries + ?
 WHERE name = ? AND sandbox_id = ? AND epoch = ? AND hash = ?`,

		Insert: `INSERT INTO alineo_events(sandbox_id, name, step_idx, branch, event, payload, error, ts)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,

		// Ids are those that the insert before it gave: within the transaction they are the highest. No
		// segment gets what the one before it had. The LIMIT keeps the condition out of the look at the highest.
		Segment: `INSERT INTO alineo_host_segments(name, sandbox_id, last_id, first_id, segment_id, previous, hash, leaves)
 SELECT ?1, ?2, m - ?3, m - ?3 - ?4 + 1, ?5, ?6, ?7, ?8 FROM (SELECT max(id) AS m FROM alineo_events LIMIT 1)
 WHERE m - ?3 - ?4 >= coalesce((SELECT max(last_id) FROM alineo_host_segments WHERE name = ?1 AND sandbox_id = ?2), -1)`,

		Above: `INSERT INTO alineo_events(id, sandbox_id, name, step_idx, event, ts)
 SELECT last, '', '', -1, '` + gap + `', 0 FROM (SELECT max(last_id) AS last FROM alineo_host_segments WHERE name = ?1 AND sandbox_id = ?2)
 WHERE last > (SELECT coalesce(max(id), 0) FROM alineo_events)`,
		Below: `DELETE FROM alineo_events WHERE name = '' AND sandbox_id = '' AND event = '` + gap + `'`,

		// A retry is mostly of the last segment, so the search begins there.
		Applied: `SELECT 1 FROM alineo_host_segments WHERE name = ? AND sandbox_id = ? AND segment_id = ? AND hash = ?
 ORDER BY last_id DESC LIMIT 1`,

		Head: `SELECT 1 FROM alineo_host_heads WHERE name = ? AND sandbox_id = ?`,

		Read:   later + byTime,
		Sparse: sparse + byTime,
		Timeless: ` UNION ALL
 SELECT ` + columns + `, 0 FROM alineo_events WHERE name = ?1 AND sandbox_id = ?2 AND ` + isTimeless + `
  AND (?3 < 0 OR ?3 = 0 AND id > ?4)`,

		ReadAll: `SELECT ` + columns + `, CASE WHEN ` + isTimed + ` THEN CAST(ts AS INTEGER) ELSE 0 END FROM alineo_events WHERE id > ? ORDER BY id LIMIT ?`,

		Last: lastSQL(`SELECT `+columns+`, ts FROM alineo_events WHERE name = ?1 AND sandbox_id = ?2 AND `+isTimed+`
   UNION ALL
   SELECT `+columns+`, 0 FROM alineo_events WHERE name = ?1 AND sandbox_id = ?2 AND `+isTimeless,
			`ts DESC, id DESC`, `ts, id`),
		LastAll: lastSQL(`SELECT `+columns+`, CASE WHEN `+isTimed+` THEN CAST(ts AS INTEGER) ELSE 0 END AS ts FROM alineo_events WHERE ?1 = '' AND ?2 = ''`,
			`id DESC`, `id`),

		LastCheckpoint: `SELECT ` + columns + `, ts FROM alineo_events
 WHERE name = ? AND sandbox_id = ? AND ` + notOutput + ledgerkit.IsCheckpoint + ` AND ` + isTimed + ` ORDER BY ts DESC, id DESC LIMIT 1`,

		TaggedCheckpoint: `SELECT ` + columns + `, ts FROM alineo_events
 WHERE name = ? AND sandbox_id = ? AND ` + notOutput + ledgerkit.IsCheckpoint + ` AND ` + isTimed + `
 AND CASE WHEN json_valid(payload) THEN json_extract(payload, '$.name') END = ?
 ORDER BY ts DESC, id DESC LIMIT 1`,

		ListCheckpoints: `SELECT
 coalesce(CASE WHEN json_valid(payload) THEN CAST(json_extract(payload, '$.snapshotId') AS TEXT) END, ''),
 CASE WHEN json_valid(payload) THEN CAST(json_extract(payload, '$.name') AS TEXT) END, ts, id
 FROM alineo_events WHERE name = ? AND sandbox_id = ? AND ` + notOutput + ledgerkit.IsCheckpoint + ` AND ` + isTimed + ` AND (ts, id) > (?, ?)
 ORDER BY ts, id LIMIT ?`,

		FindName: `SELECT name FROM alineo_events WHERE sandbox_id = ? AND ` + notOutput + ledgerkit.IsCreated + ` AND ` + isTimed + `
 ORDER BY ts DESC, id DESC LIMIT 1`,

		FewIDs: ledgerkit.CountFew(`SELECT 1 FROM alineo_events WHERE sandbox_id >= ? AND sandbox_id < ? AND ` + notOutput + ledgerkit.IsCreated),

		Delete: deleteSQL(),

		Environments: ledgerkit.EnvironmentSQL{
			Get:  `SELECT ` + ledgerkit.EnvironmentColumns + ` FROM alineo_environments WHERE name = ?`,
			List: `SELECT ` + ledgerkit.EnvironmentColumns + ` FROM alineo_environments ORDER BY built_at DESC, name`,
			Save: `INSERT INTO alineo_environments(` + ledgerkit.EnvironmentColumns + `) VALUES (?, ?, ?, ?)
 ON CONFLICT(name) DO UPDATE SET snapshot_id = excluded.snapshot_id, image = excluded.image, built_at = excluded.built_at`,
			Delete: `DELETE FROM alineo_environments WHERE name = ?`,
		},
		Maintenance: ledgerkit.MaintenanceSQL{
			// Of the entries it reads the first of each sandbox.
			Heads: `WITH RECURSIVE known(name, sandbox_id) AS (
  SELECT name, sandbox_id FROM alineo_events WHERE id = ` + nextSandbox("?1", "?2") + `
  UNION ALL
  SELECT e.name, e.sandbox_id FROM known CROSS JOIN alineo_events e WHERE e.id = ` + nextSandbox("known.name", "known.sandbox_id") + `
  LIMIT ?3)
 SELECT k.name, k.sandbox_id, coalesce(epoch, 0), coalesce(hash, x''), CASE WHEN hash <> x'' THEN segment_id ELSE x'' END, coalesce(entries, 0), coalesce(max_ts, 0)
 FROM (SELECT name, sandbox_id FROM known UNION SELECT * FROM (SELECT name, sandbox_id FROM alineo_host_heads h
   WHERE (name, sandbox_id) > (?1, ?2) AND (entries > 0 OR ` + isDeleting + `) ORDER BY name, sandbox_id LIMIT ?3)) k
 LEFT JOIN alineo_host_heads h ON h.name = k.name AND h.sandbox_id = k.sandbox_id
 ORDER BY k.name, k.sandbox_id LIMIT ?3`,
			Segments: `SELECT first_id, last_id, segment_id, previous, hash, leaves FROM alineo_host_segments
 WHERE name = ?1 AND sandbox_id = ?2 AND last_id > ?3 AND NOT EXISTS (SELECT 1 ` + headOf + ` AND ` + isDeleting + `) ORDER BY last_id LIMIT ?4`,
			Tombstones: `SELECT name, sandbox_id, entries, hash, deleted_at FROM alineo_host_tombstones
 WHERE (name, sandbox_id) > (?, ?) ORDER BY name, sandbox_id LIMIT ?`,
			// A time that is none counts as an entry without one.
			Usage: `SELECT count(*), coalesce(sum(coalesce(octet_length(payload), 0) + coalesce(octet_length(error), 0)), 0),
 coalesce(min(ts) FILTER (WHERE ` + isTimed + `), 0), coalesce(max(ts) FILTER (WHERE ` + isTimed + `), 0),
 count(*) FILTER (WHERE ` + ledgerkit.IsCreated + `), count(*) FILTER (WHERE ` + ledgerkit.IsClosed + `)
 FROM alineo_events WHERE name = ? AND sandbox_id = ?`,
			// Counting is reading an index from end to end: not for large tables.
			Stats: `SELECT CASE WHEN (SELECT coalesce(max(id), 0) FROM alineo_events) - (SELECT coalesce(min(id), 0) FROM alineo_events) < 2000000
  THEN (SELECT count(*) FROM alineo_events) ELSE -1 END,
 (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)`,
		},
		Details: detailsSQL,
	}
}

// lastSQL is the last ?3 entries of a scope, forwards, as far as they have ?4 bytes together. The very
// last is there whatever it has.
func lastSQL(scope, backwards, forwards string) string {
	return `SELECT ` + ledgerkit.EventColumns + ` FROM (
  SELECT *, row_number() OVER (ORDER BY ` + backwards + `) AS n,
   sum(100 + coalesce(octet_length(payload), 0) + coalesce(octet_length(error), 0)) OVER (ORDER BY ` + backwards + `) AS size
  FROM (` + scope + ` ORDER BY ` + backwards + ` LIMIT ?3))
 WHERE n = 1 OR size <= ?4 ORDER BY ` + forwards
}

// nextSandbox is the first entry of the sandbox behind a key. Of (name, sandbox_id) > (…) SQLite walks along
// all the entries that the key itself has.
func nextSandbox(name, id string) string {
	return `coalesce(
   (SELECT n.id FROM alineo_events n WHERE n.name = ` + name + ` AND n.sandbox_id > ` + id + ` ORDER BY n.sandbox_id, n.ts, n.id LIMIT 1),
   (SELECT n.id FROM alineo_events n WHERE n.name > ` + name + ` ORDER BY n.name, n.sandbox_id, n.ts, n.id LIMIT 1))`
}

// ofCreated is what a key of the created entries' payloads says, the highest when there are several. A
// payload that is not JSON counts as empty.
func ofCreated(key string) string {
	return `(SELECT max(CASE WHEN json_valid(e.payload) THEN CAST(json_extract(e.payload, '$.` + key + `') AS TEXT) END)
   FROM alineo_events e WHERE e.name = c.name AND e.sandbox_id = c.sandbox_id AND ` + of("e", ledgerkit.IsCreated) + ` AND e.ts < '')`
}

// isClosed is about the sandbox whose first created entry is c.
func isClosed() string {
	return `EXISTS (SELECT 1 FROM alineo_events e WHERE e.name = c.name AND e.sandbox_id = c.sandbox_id
  AND ` + of("e", ledgerkit.IsClosed) + ` AND e.ts < '')`
}

// detailsSQL sums up sandboxes, newest first. A sandbox is found by its first created entry c, which
// where is about; what its entries say is looked up for those that are shown. order is c's, so that an
// index of it is used or not, and end is what follows. Of two upper bounds SQLite uses the index for one,
// which is to be that of where: hence the plus.
func detailsSQL(where, order, end string) string {
	return `SELECT name, sandbox_id, CASE WHEN closed IS NULL THEN 'running' ELSE 'completed' END,
 started, closed, execs, coalesce(run_id, sandbox_id), resource_id, team_id, parent, created_id
 FROM (SELECT c.name, c.sandbox_id, c.ts AS started, c.id AS created_id,
  (SELECT max(e.ts) FROM alineo_events e WHERE e.name = c.name AND e.sandbox_id = c.sandbox_id AND ` + of("e", ledgerkit.IsClosed) + `
   AND e.ts < '') AS closed,
  (SELECT count(*) FROM alineo_events e WHERE e.name = c.name AND e.sandbox_id = c.sandbox_id AND ` + of("e", ledgerkit.IsCompleted) + `) AS execs,
  ` + ofCreated("runId") + ` AS run_id, ` + ofCreated("resourceId") + ` AS resource_id,
  ` + ofCreated("teamId") + ` AS team_id, ` + ofCreated("parentSandboxId") + ` AS parent
  FROM alineo_events c WHERE ` + of("c", ledgerkit.IsCreated) + ` AND +c.ts < ''
   AND NOT EXISTS (SELECT 1 FROM alineo_events o WHERE o.name = c.name AND o.sandbox_id = c.sandbox_id AND ` + of("o", ledgerkit.IsCreated) + `
    AND o.ts < '' AND (o.ts < c.ts OR o.ts = c.ts AND o.id < c.id))` + where + `
  ORDER BY ` + order + end + `)`
}
