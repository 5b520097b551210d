package main

import (
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
)

// statements are the ledger's, for the tables of one schema.
type statements struct {
	place string // stands before the names of tables

	there, baseThere, version, spread, lockMigration string
	noTimeout, lockTimeout, absent, still            string
	schemaThere, makeSchema, rename                  string
	addVersion, setVersion                           string
	schema, indexes, byteIndexes                     []string

	claim, stand                                                string
	mark, advance, advanceMany, insert, insertMany              string
	segment, segmentMany, applied                               string
	read, horizon, readAll, last, lastAll                       string
	lastCheckpoint, taggedCheckpoint, listCheckpoints, findName string

	remove       deleteSQL
	environments ledgerkit.EnvironmentSQL
	maintenance  ledgerkit.MaintenanceSQL
	bare         ledgerkit.MaintenanceSQL // for the reference's tables alone
	order        string                   // asks how names are ordered, and for indexes in the order of bytes

	// quick are the pages of maintenance that such an index is of use for.
	quick func(collate string) (heads, tombstones string)

	details func(where, order string) string
	fewIDs  func(collate string) string
}

// Ids of a batch's entries, in the order in which they were inserted, are passed on from the insert to
// the segments as a setting that ends with the transaction.
const ids = `alineo_host.ids`

// newStatements writes the statements for one schema.
func newStatements(schemaName string) statements {
	place := `"` + strings.ReplaceAll(schemaName, `"`, `""`) + `".`
	inText := strings.ReplaceAll(place, `'`, `''`)
	literal := `'` + strings.ReplaceAll(schemaName, `'`, `''`) + `'`
	in := func(sql string) string { return strings.ReplaceAll(sql, "{}", place) }
	hash := fnv.New32a()
	hash.Write([]byte("alineo_host " + schemaName)) //nolint:errcheck // it never fails
	// Advisory locks share their numbers with other programs of the database; two that meet by accident
	// wait for one another, and nothing else comes of it.
	lock := strconv.Itoa(int(int32(hash.Sum32())))

	s := statements{
		place: place,

		there:     `SELECT to_regclass('` + inText + `alineo_host_schema') IS NOT NULL`,
		baseThere: `SELECT to_regclass('` + inText + `alineo_events') IS NOT NULL`,
		version:   in(`SELECT version FROM {}alineo_host_schema WHERE id = 1`),

		// One host migrates; the others wait here, and find that it is done. They ask the catalog: what
		// to_regclass answers may be as old as the transaction.
		lockMigration: `SELECT pg_advisory_xact_lock(` + lock + `, -1)`,
		absent: `SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = ` + literal + ` AND c.relname = 'alineo_host_schema')`,
		schemaThere: `SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = ` + literal + `)`,
		makeSchema:  `CREATE SCHEMA IF NOT EXISTS ` + strings.TrimSuffix(place, "."),
		// How many entries there are at most, without counting them.
		spread: in(`SELECT coalesce((SELECT max(id) FROM {}alineo_events) - (SELECT min(id) FROM {}alineo_events) + 1, 0)`),
		// Another host may have been faster.
		still: in(`SELECT 1 FROM {}alineo_host_schema WHERE id = 1 AND version = $1`),
		// An index over a large table takes longer than the statements of every day may.
		noTimeout: `SELECT set_config('statement_timeout', '0', true)`,
		// Whoever appends holds the table until it commits, and who asks for it after this waits too.
		lockTimeout: `SELECT set_config('lock_timeout', '2s', true)`,
		rename:      in(ledgerkit.RenameSQL("{}alineo_events", "{}alineo_host_segments")),
		setVersion:  in(`UPDATE {}alineo_host_schema SET version = $1 WHERE id = 1`),
		addVersion:  in(`INSERT INTO {}alineo_host_schema(id, version) VALUES (1, ` + strconv.Itoa(firstVersion) + `)`),

		claim: in(`INSERT INTO {}alineo_host_heads AS h (name, sandbox_id, epoch, segment_id, hash, max_ts, entries)
 VALUES ($1, $2, 1, '', '', 0, 0)
 ON CONFLICT (name, sandbox_id) DO UPDATE SET epoch = h.epoch + 1 WHERE NOT (` + isDeleting + `)
 RETURNING epoch, segment_id, hash, entries`),

		// The base table, not the head, says where a ledger stands: others may have written to it. Two looks
		// into indexes, however large it is.
		stand: in(`SELECT coalesce((SELECT step_idx FROM {}alineo_events WHERE name = $1 AND sandbox_id = $2 AND event <> 'exec.output'
  ORDER BY step_idx DESC LIMIT 1), -1)::bigint,
 coalesce((SELECT ts FROM {}alineo_events WHERE name = $1 AND sandbox_id = $2 ORDER BY ts DESC LIMIT 1), 0)`),

		// Every append says from which id on its entries will lie, until it is committed: who reads all
		// sandboxes goes no further than that.
		mark: in(`SELECT pg_advisory_xact_lock_shared(` + lock + `, ((last_value - CASE WHEN is_called THEN 0 ELSE 1 END) & 2147483647)::integer) FROM {}alineo_events_id_seq`),

		advance: in(`UPDATE {}alineo_host_heads SET segment_id = $1, hash = $2, max_ts = greatest(max_ts, $3), entries = entries + $4
 WHERE name = $5 AND sandbox_id = $6 AND epoch = $7 AND hash = $8`),
		advanceMany: in(`UPDATE {}alineo_host_heads h
 SET segment_id = u.segment_id, hash = u.hash, max_ts = greatest(h.max_ts, u.max_ts), entries = h.entries + u.entries
 FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::bytea[])
  AS u(segment_id, hash, max_ts, entries, name, sandbox_id, epoch, previous)
 WHERE h.name = u.name AND h.sandbox_id = u.sandbox_id AND h.epoch = u.epoch AND h.hash = u.previous`),

		insert: in(`WITH added AS (
  INSERT INTO {}alineo_events(sandbox_id, name, step_idx, branch, event, payload, error, ts)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id)
 SELECT set_config('` + ids + `', concat_ws(',', nullif(current_setting('` + ids + `', true), ''), id), true) FROM added`),
		// A function in FROM gives its rows in order, and so they get their ids.
		insertMany: in(`WITH added AS (
  INSERT INTO {}alineo_events(sandbox_id, name, step_idx, branch, event, payload, error, ts)
  SELECT * FROM unnest($1::text[], $2::text[], $3::int[], $4::int[], $5::text[], $6::jsonb[], $7::text[], $8::bigint[])
  RETURNING id)
 SELECT set_config('` + ids + `', string_agg(id::text, ',' ORDER BY id), true) FROM added`),

		segment: in(`WITH given AS MATERIALIZED (SELECT string_to_array(current_setting('` + ids + `'), ',')::bigint[] AS ids)
 INSERT INTO {}alineo_host_segments(name, sandbox_id, last_id, first_id, segment_id, previous, hash, leaves)
 SELECT $1, $2, ids[cardinality(ids) - $3::int], ids[cardinality(ids) - $3::int - $4::int + 1], $5, $6, $7, $8 FROM given`),
		segmentMany: in(`WITH given AS MATERIALIZED (SELECT string_to_array(current_setting('` + ids + `'), ',')::bigint[] AS ids)
 INSERT INTO {}alineo_host_segments(name, sandbox_id, last_id, first_id, segment_id, previous, hash, leaves)
 SELECT u.name, u.sandbox_id, ids[cardinality(ids) - u.after], ids[cardinality(ids) - u.after - u.entries + 1],
  u.segment_id, u.previous, u.hash, u.leaves
 FROM given, unnest($1::text[], $2::text[], $3::int[], $4::int[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[])
  AS u(name, sandbox_id, after, entries, segment_id, previous, hash, leaves)`),

		applied: in(`SELECT 1 FROM {}alineo_host_segments WHERE name = $1 AND sandbox_id = $2 AND segment_id = $3 AND hash = $4`),

		read: in(`SELECT ` + ledgerkit.EventColumns + ` FROM {}alineo_events
 WHERE name = $1 AND sandbox_id = $2 AND (ts, id) > ($3, $4) ORDER BY ts, id LIMIT $5`),

		// The last id that was given out, or less when an append is under way that was given a smaller one.
		// The subquery is evaluated first: what begins to append after it gets larger ids.
		horizon: in(`WITH given AS MATERIALIZED (SELECT last_value AS id FROM {}alineo_events_id_seq)
 SELECT given.id - coalesce((SELECT max((given.id - objid::bigint) & 2147483647) FROM pg_locks
  WHERE locktype = 'advisory' AND classid = ` + strconv.FormatUint(uint64(hash.Sum32()), 10) + ` AND objsubid = 2 AND objid <= 2147483647
   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())), 0), pg_is_in_recovery() FROM given`),
		readAll: in(`SELECT ` + ledgerkit.EventColumns + ` FROM {}alineo_events WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3`),

		last:    in(lastSQL(`name = $1 AND sandbox_id = $2`, `ts DESC, id DESC`, `ts, id`, `$3`, `$4`)),
		lastAll: in(lastSQL(`id <= $1`, `id DESC`, `id`, `$2`, `$3`)),

		lastCheckpoint: in(`SELECT ` + ledgerkit.EventColumns + ` FROM {}alineo_events
 WHERE name = $1 AND sandbox_id = $2 AND ` + ledgerkit.IsCheckpoint + ` ORDER BY ts DESC, id DESC LIMIT 1`),
		taggedCheckpoint: in(`SELECT ` + ledgerkit.EventColumns + ` FROM {}alineo_events
 WHERE name = $1 AND sandbox_id = $2 AND ` + ledgerkit.IsCheckpoint + ` AND payload->>'name' = $3 ORDER BY ts DESC, id DESC LIMIT 1`),
		listCheckpoints: in(`SELECT coalesce(payload->>'snapshotId', ''), payload->>'name', ts, id
 FROM {}alineo_events WHERE name = $1 AND sandbox_id = $2 AND ` + ledgerkit.IsCheckpoint + ` AND (ts, id) > ($3, $4)
 ORDER BY ts, id LIMIT $5`),

		findName: in(`SELECT name FROM {}alineo_events WHERE sandbox_id = $1 AND ` + ledgerkit.IsCreated + ` ORDER BY ts DESC, id DESC LIMIT 1`),

		remove: newDeleteSQL(in),

		maintenance: maintenanceSQL(in, inText),
		bare:        bareSQL(in, inText),
		order:       orderSQL(inText),

		environments: ledgerkit.EnvironmentSQL{
			Get:  in(`SELECT ` + ledgerkit.EnvironmentColumns + ` FROM {}alineo_environments WHERE name = $1`),
			List: in(`SELECT ` + ledgerkit.EnvironmentColumns + ` FROM {}alineo_environments ORDER BY built_at DESC, name`),
			Save: in(`INSERT INTO {}alineo_environments(` + ledgerkit.EnvironmentColumns + `) VALUES ($1, $2, $3, $4)
 ON CONFLICT (name) DO UPDATE SET snapshot_id = excluded.snapshot_id, image = excluded.image, built_at = excluded.built_at`),
			Delete: in(`DELETE FROM {}alineo_environments WHERE name = $1`),
		},
	}
	for i := range schema {
		s.schema = append(s.schema, in(schema[i]))
	}
	for i := range oldIndexes {
		s.indexes = append(s.indexes, in(oldIndexes[i]))
	}
	for i := range indexes {
		s.indexes = append(s.indexes, in(indexes[i]))
	}
	for i := range byteIndexes {
		s.byteIndexes = append(s.byteIndexes, in(byteIndexes[i]))
	}
	s.quick = func(collate string) (heads, tombstones string) {
		heads, tombstones = quickSQL(collate)
		return in(heads), in(tombstones)
	}
	s.fewIDs = func(collate string) string {
		return in(ledgerkit.CountFew(`SELECT 1 FROM {}alineo_events WHERE ` + idsBetween("sandbox_id"+collate, "$1", "$2") + ` AND ` + ledgerkit.IsCreated))
	}
	s.details = func(where, order string) string { return in(detailsSQL(where, order)) }
	return s
}

// runOf is the run of the sandbox whose first created entry is c, the highest when its created entries
// name several.
func runOf() string { return `coalesce(` + ofCreated("runId") + `, c.sandbox_id)` }

// ofCreated is what a key of the created entries' payloads says.
func ofCreated(key string) string {
	return `(SELECT max(e.payload->>'` + key + `') FROM {}alineo_events e WHERE e.name = c.name AND e.sandbox_id = c.sandbox_id AND e.` + ledgerkit.IsCreated + `)`
}

// isClosed is about the sandbox whose first created entry is c.
const isClosed = `EXISTS (SELECT 1 FROM {}alineo_events e WHERE e.name = c.name AND e.sandbox_id = c.sandbox_id AND e.` + ledgerkit.IsClosed + `)`

// newestFirst is the order of an index, which is then read in it. fewOnly is the same order without
// that: those that a condition finds are few, and are sorted.
const (
	newestFirst = "c.ts DESC, c.id DESC"
	fewOnly     = "c.ts + 0 DESC, c.id + 0 DESC"
)

// detailsSQL sums up sandboxes, newest first. A sandbox is found by its first created entry c, which
// where is about; what its entries say is looked up for those that are shown.
func detailsSQL(where, order string) string {
	return `SELECT c.name, c.sandbox_id, CASE WHEN s.closed IS NULL THEN 'running' ELSE 'completed' END,
  c.ts, s.closed, s.execs, s.run_id, s.resource_id, s.team_id, s.parent, c.id
 FROM {}alineo_events c
 CROSS JOIN LATERAL (SELECT
   (SELECT max(e.ts) FROM {}alineo_events e WHERE e.name = c.name AND e.sandbox_id = c.sandbox_id AND e.` + ledgerkit.IsClosed + `) AS closed,
   (SELECT count(*) FROM {}alineo_events e WHERE e.name = c.name AND e.sandbox_id = c.sandbox_id AND e.` + ledgerkit.IsCompleted + `) AS execs,
   ` + runOf() + ` AS run_id, ` + ofCreated("resourceId") + ` AS resource_id,
   ` + ofCreated("teamId") + ` AS team_id, ` + ofCreated("parentSandboxId") + ` AS parent) s
 WHERE c.` + ledgerkit.IsCreated + ` AND NOT EXISTS (SELECT 1 FROM {}alineo_events o
   WHERE o.name = c.name AND o.sandbox_id = c.sandbox_id AND o.` + ledgerkit.IsCreated + ` AND (o.ts, o.id) < (c.ts, c.id))` +
		where + `
 ORDER BY ` + order
}
