package main

import (
	"strings"

	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
)

// maintenanceSQL are the statements for those who operate the ledger. Its text is for literals that
// name tables.
func maintenanceSQL(in func(string) string, inText string) ledgerkit.MaintenanceSQL {
	size := func(table string) string {
		return `coalesce(pg_total_relation_size(to_regclass('` + inText + table + `')), 0)`
	}
	return ledgerkit.MaintenanceSQL{
		// Names are compared byte by byte, which an index in the order of a language is of no use for: a page looks
		// at the first entry of each sandbox that there is, and then sorts. quickSQL is for where there is another.
		Heads: in(headsSQL(`{}alineo_host_heads h WHERE entries > 0 OR `+isDeleting, `ORDER BY name, sandbox_id LIMIT 1`, `TRUE`,
			`(k.name COLLATE "C", k.sandbox_id COLLATE "C") > ($1, $2)`, `k.name COLLATE "C", k.sandbox_id COLLATE "C"`, ``)),
		Segments: in(`SELECT first_id, last_id, segment_id, previous, hash, leaves FROM {}alineo_host_segments s
 WHERE name = $1 AND sandbox_id = $2 AND last_id > $3 AND NOT EXISTS (SELECT 1 ` + headOf + ` AND ` + isDeleting + `) ORDER BY last_id LIMIT $4`),
		Tombstones: in(tombstonesSQL(byteOrder)),
		Usage: in(`SELECT count(*), coalesce(sum(coalesce(octet_length(payload::text), 0) + coalesce(octet_length(error), 0)), 0)::bigint,
 coalesce(min(ts), 0), coalesce(max(ts), 0),
 count(*) FILTER (WHERE ` + ledgerkit.IsCreated + `), count(*) FILTER (WHERE ` + ledgerkit.IsClosed + `)
 FROM {}alineo_events WHERE name = $1 AND sandbox_id = $2`),
		// Counting is reading an index from end to end: not for large tables.
		Stats: in(`SELECT CASE WHEN (SELECT coalesce(max(id), 0) FROM {}alineo_events) - (SELECT coalesce(min(id), 0) FROM {}alineo_events) < 1000000
  THEN (SELECT count(*) FROM {}alineo_events) ELSE -1 END, ` +
			size("alineo_events") + ` + ` + size("alineo_environments") + ` + ` + size("alineo_host_heads") + ` + ` +
			size("alineo_host_segments") + ` + ` + size("alineo_host_tombstones") + ` + ` + size("alineo_host_schema") + ` + ` +
			size("sandbox_instances") + ` + ` + size("alineo_host_runs") + ` + ` + size("alineo_host_logs") + ` + ` +
			size("alineo_host_log_events") + ` + ` + size("alineo_host_locks")),
	}
}

// quickSQL are the pages of heads and tombstones where an index has names and ids in the order of bytes, which
// is that of the columns with this collation: then they read the sandboxes that they show.
func quickSQL(collate string) (heads, tombstones string) {
	key := func(table string) string {
		return table + "name" + collate + ", " + table + "sandbox_id" + collate
	}
	heads = headsSQL(`(SELECT name, sandbox_id FROM {}alineo_host_heads h
   WHERE (`+key("")+`) > ($1, $2) AND (entries > 0 OR `+isDeleting+`) ORDER BY `+key("")+` LIMIT $3) h`,
		`WHERE (`+key("")+`) > ($1, $2) ORDER BY `+key("")+` LIMIT 1`, `known.n < $3`, `TRUE`, key("k."), collate)
	return heads, tombstonesSQL(collate)
}

// tombstonesSQL is a page of tombstones, in the order of the columns with this collation.
func tombstonesSQL(collate string) string {
	key := "name" + collate + ", sandbox_id" + collate
	return `SELECT name, sandbox_id, entries, hash, deleted_at FROM {}alineo_host_tombstones t
 WHERE (` + key + `) > ($1, $2) ORDER BY ` + key + ` LIMIT $3`
}

// headsSQL is a page of heads: of the sandboxes that have an entry, of which first is the first and going
// says whether there is a next one, and of those that others have.
func headsSQL(others, first, going, where, order, collate string) string {
	return `WITH RECURSIVE known(name, sandbox_id, n) AS (
  (SELECT name, sandbox_id, 1::bigint FROM {}alineo_events ` + first + `)
  UNION ALL
  SELECT n.name, n.sandbox_id, known.n + 1 FROM known CROSS JOIN LATERAL (SELECT e.name, e.sandbox_id FROM {}alineo_events e
   WHERE (e.name` + collate + `, e.sandbox_id` + collate + `) > (known.name` + collate + `, known.sandbox_id` + collate + `)
   ORDER BY e.name` + collate + `, e.sandbox_id` + collate + ` LIMIT 1) n WHERE ` + going + `)
 SELECT k.name, k.sandbox_id, coalesce(h.epoch, 0), coalesce(h.hash, ''), CASE WHEN h.hash <> '' THEN h.segment_id ELSE '' END, coalesce(h.entries, 0), coalesce(h.max_ts, 0)
 FROM (SELECT name, sandbox_id FROM known UNION SELECT name, sandbox_id FROM ` + others + `) k
 LEFT JOIN {}alineo_host_heads h ON h.name = k.name AND h.sandbox_id = k.sandbox_id
 WHERE ` + where + ` ORDER BY ` + order + ` LIMIT $3`
}

// byteOrder behind a column makes its order that of bytes.
const byteOrder = ` COLLATE "C"`

// orderSQL asks whether the columns are ordered by bytes, and whether there are indexes that are. Of collations by
// name those of the C library alone are sure; one that ICU makes may have the name, too.
func orderSQL(inText string) string {
	return `SELECT d.datcollate IN ('C', 'POSIX', 'C.UTF-8', 'C.utf8') AND coalesce(to_jsonb(d)->>'datlocprovider', 'c') IN ('c', 'b')
 AND NOT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = to_regclass('` + inText + `alineo_events') AND a.attname IN ('name', 'sandbox_id')
  AND a.attcollation <> (SELECT oid FROM pg_collation WHERE collname = 'default')),
 to_regclass('` + inText + `alineo_host_events_bytes') IS NOT NULL
 FROM pg_database d WHERE d.datname = current_database()`
}

// bareSQL are the same for the reference's tables alone: with empty ones in the place of ours.
func bareSQL(in func(string) string, inText string) ledgerkit.MaintenanceSQL {
	none := strings.NewReplacer(
		"{}alineo_host_heads", `(SELECT ''::text AS name, ''::text AS sandbox_id, 0::bigint AS epoch, ''::bytea AS hash, ''::bytea AS segment_id,
  0::bigint AS entries, 0::bigint AS max_ts WHERE FALSE)`,
		"{}alineo_host_segments", `(SELECT ''::text AS name, ''::text AS sandbox_id, 0::bigint AS last_id, 0::bigint AS first_id, ''::bytea AS segment_id,
  ''::bytea AS previous, ''::bytea AS hash, ''::bytea AS leaves WHERE FALSE)`,
		"{}alineo_host_tombstones", `(SELECT ''::text AS name, ''::text AS sandbox_id, 0::bigint AS entries, ''::bytea AS hash, 0::bigint AS deleted_at WHERE FALSE)`)
	return maintenanceSQL(func(sql string) string { return in(none.Replace(sql)) }, inText)
}

// lastSQL is the last rows of a scope, forwards, as far as they have so many bytes together. The very
// last is there whatever it has.
func lastSQL(scope, backwards, forwards, rows, bytes string) string {
	return `SELECT ` + ledgerkit.EventColumns + ` FROM (
  SELECT *, row_number() OVER (ORDER BY ` + backwards + `) AS n,
   sum(100 + coalesce(octet_length(payload::text), 0) + coalesce(octet_length(error), 0)) OVER (ORDER BY ` + backwards + `) AS size
  FROM (SELECT ` + ledgerkit.EventColumns + ` FROM {}alineo_events WHERE ` + scope + ` ORDER BY ` + backwards + ` LIMIT ` + rows + `) newest) sized
 WHERE n = 1 OR size <= ` + bytes + ` ORDER BY ` + forwards
}
