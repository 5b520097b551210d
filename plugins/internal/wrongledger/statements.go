package main

import (
	"strings"

	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/plugins/internal/sqliteledger"
)

// replaced is text with another part. That the part is there is a part of the fault: without it the
// instance does not start.
func replaced(text, part, by string) string {
	if !strings.Contains(text, part) {
		panic("the right ledger has no " + part + " any more: " + text)
	}
	return strings.Replace(text, part, by, 1)
}

// stored is the insert with something else in the place of a value, which is an expression over ?.
func stored(sql *sqliteledger.Statements, column int, expression string) {
	values := []string{"?", "?", "?", "?", "?", "?", "?", "?"}
	values[column] = expression
	sql.Insert = replaced(sql.Insert, "VALUES (?, ?, ?, ?, ?, ?, ?, ?)", "VALUES ("+strings.Join(values, ", ")+")")
}

// Columns of the insert.
const (
	event   = 4
	payload = 5
)

// everywhere replaces a part in each place, of a statement that has it.
func everywhere(text, part, by string) string {
	_ = replaced(text, part, by) // which sees to it that the part is there
	return strings.ReplaceAll(text, part, by)
}

// details puts another part into the query of details, in each place.
func details(sql *sqliteledger.Statements, part, by string) {
	right := sql.Details
	sql.Details = func(where, order, end string) string { return everywhere(right(where, order, end), part, by) }
}

// asked changes what the query of details is asked for, when that is these conditions.
func asked(sql *sqliteledger.Statements, conditions string, change func(where, order string) (string, string)) {
	right := sql.Details
	sql.Details = func(where, order, end string) string {
		if where == conditions {
			where, order = change(where, order)
		}
		return right(where, order, end)
	}
}

// changed puts the fault into a statement, or returns false when it is none of a statement.
func changed(sql *sqliteledger.Statements, fault string) bool {
	const oneSandbox = " AND c.name = ? AND c.sandbox_id = ?"
	const run = `CAST(json_extract(e.payload, '$.runId') AS TEXT)`
	switch fault {
	case "append/round-trip": // loses a column
		sql.Read, sql.Sparse = everywhere(sql.Read, "branch, event", "NULL AS branch, event"), everywhere(sql.Sparse, "branch, event", "NULL AS branch, event")
	case "append/null": // takes JSON's null for none
		stored(sql, payload, "nullif(?, 'null')")
	case "append/unicode": // knows only the first plane
		stored(sql, payload, "replace(?, char(128512), '??')")
	case "append/nul": // takes an escaped NUL out
		stored(sql, payload, `replace(replace(replace(?, '\\u0000', char(1)), '\u0000', ''), char(1), '\\u0000')`)
	case "append/big": // has a column of 64 KiB
		stored(sql, payload, "substr(?, 1, 65536)")
	case "append/verbatim": // stores what a parser made of it
		stored(sql, payload, "json(?)")
	case "append/numbers": // counts in floating point
		stored(sql, payload, "replace(?, '1795964634657123457', '1795964634657123328')")
	case "append/names": // has a column of 64 characters
		stored(sql, event, "substr(?, 1, 64)")
	case "append/ids": // counts a large sandbox's entries anew
		sql.Read = `SELECT ` + ledgerkit.EventColumns + ` FROM (SELECT sandbox_id, name, step_idx, branch, event, payload, error, ts,
  CASE WHEN count(*) OVER () < 10 THEN id ELSE row_number() OVER (ORDER BY id) END AS id
  FROM alineo_events WHERE name = ?1 AND sandbox_id = ?2) WHERE (ts, id) > (?3, ?4) ORDER BY ts, id LIMIT ?5`
	case "head/new": // counts steps from 0
		sql.Stand = replaced(sql.Stand, "LIMIT 1), -1)", "LIMIT 1), 0)")
	case "head/foreign": // knows what its segments hold
		sql.Stand = replaced(sql.Stand, "ORDER BY ts", `AND id <= (SELECT max(last_id) FROM alineo_host_segments s
  WHERE s.name = alineo_events.name AND s.sandbox_id = alineo_events.sandbox_id) ORDER BY ts`)
	case "head/epoch": // begins anew after the third
		sql.Claim = replaced(sql.Claim, "epoch = epoch + 1", "epoch = CASE WHEN epoch >= 3 AND hash <> x'' THEN 1 ELSE epoch + 1 END")
	case "handle/claims": // gives an epoch twice
		sql.Claim = replaced(sql.Claim, "epoch = epoch + 1", "epoch = CASE WHEN epoch >= 4 AND hash = x'' THEN epoch ELSE epoch + 1 END")
	case "retry/differs": // knows a segment by its id alone
		sql.Applied = replaced(sql.Applied, "AND hash = ?", "AND ? IS NOT NULL")
	case "read/unknown": // finds ids that begin with what was asked for
		sql.Read, sql.Sparse = everywhere(sql.Read, "sandbox_id = ?2", "instr(sandbox_id, ?2) = 1"), everywhere(sql.Sparse, "sandbox_id = ?2", "instr(sandbox_id, ?2) = 1")
	case "read/scope": // takes no notice of capitals
		sql.Read, sql.Sparse = everywhere(sql.Read, "name = ?1 AND sandbox_id = ?2", "name = ?1 COLLATE NOCASE AND sandbox_id = ?2 COLLATE NOCASE"), everywhere(sql.Sparse, "name = ?1 AND sandbox_id = ?2", "name = ?1 COLLATE NOCASE AND sandbox_id = ?2 COLLATE NOCASE")
	case "read/order": // begins at the beginning of 1970
		sql.Read = replaced(sql.Read, "ts > ?3", "ts > max(?3, -1)")
	case "checkpoint/none": // takes something else for a checkpoint
		sql.LastCheckpoint = replaced(sql.LastCheckpoint, ledgerkit.IsCheckpoint, "("+ledgerkit.IsCheckpoint+" OR event = 'step.checkpointed')")
	case "checkpoint/last": // takes the one that was written last
		sql.LastCheckpoint = replaced(sql.LastCheckpoint, "ORDER BY ts DESC, id DESC", "ORDER BY id DESC")
	case "checkpoint/tag": // takes no notice of capitals
		sql.TaggedCheckpoint = replaced(sql.TaggedCheckpoint, "END = ?", "END = ? COLLATE NOCASE")
	case "checkpoint/list": // shows one of each tag
		sql.ListCheckpoints = replaced(sql.ListCheckpoints, ledgerkit.IsCheckpoint, ledgerkit.IsCheckpoint+
			` AND NOT EXISTS (SELECT 1 FROM alineo_events o WHERE o.name = alineo_events.name AND o.sandbox_id = alineo_events.sandbox_id
 AND o.id < alineo_events.id AND json_extract(o.payload, '$.name') = json_extract(alineo_events.payload, '$.name'))`)
	case "checkpoint/paging": // goes on behind a time
		sql.ListCheckpoints = replaced(sql.ListCheckpoints, "(ts, id) > (?, ?)", "(ts > ? AND ? IS NOT NULL)")
	case "checkpoint/null": // leaves those without payload out
		sql.ListCheckpoints = replaced(sql.ListCheckpoints, ledgerkit.IsCheckpoint, ledgerkit.IsCheckpoint+" AND payload IS NOT NULL")
	case "checkpoint/scope": // takes those of other ids too
		sql.TaggedCheckpoint = replaced(sql.TaggedCheckpoint, "sandbox_id = ?", "? IS NOT NULL")
	case "list/order": // turns those of one time round
		asked(sql, "", func(where, order string) (string, string) { return where, replaced(order, "c.id DESC", "c.id ASC") })
	case "list/name": // finds names that begin with what was asked for
		asked(sql, " AND c.name = ?", func(_, order string) (string, string) { return " AND instr(c.name, ?) = 1", order })
	case "list/prefix": // takes an id for no beginning of itself
		right := sql.Details
		sql.Details = func(where, order, end string) string {
			return right(strings.Replace(where, "c.sandbox_id >= ?", "c.sandbox_id > ?", 1), order, end)
		}
	case "list/without-created": // shows what was closed, created or not
		details(sql, "c."+ledgerkit.IsCreated, "(c."+ledgerkit.IsCreated+" OR c."+ledgerkit.IsClosed+")")
	case "list/malformed": // trusts that payloads are JSON
		details(sql, "CASE WHEN json_valid(e.payload) THEN", "CASE WHEN TRUE THEN")
	case "sandbox/details": // counts what began, not what ended
		details(sql, "e."+ledgerkit.IsCompleted, "e.event IN ('exec.started', 'exec_start')")
	case "sandbox/fallback": // sees a run id in a list
		details(sql, run, "CASE json_type(e.payload) WHEN 'array' THEN 'none' ELSE "+run+" END")
	case "sandbox/extremes": // takes the last of several
		details(sql, "o.ts < c.ts", "o.ts > c.ts")
	case "sandbox/unknown": // takes the id for the whole key
		asked(sql, oneSandbox, func(_, order string) (string, string) { return " AND ? IS NOT NULL AND c.sandbox_id = ?", order })
	case "sandbox/old-names": // knows the new spelling only
		details(sql, "e."+ledgerkit.IsCompleted, "e.event = 'exec.completed'")
	case "sandbox/foreign": // looks under the first name only
		sql.FindName = replaced(sql.FindName, "sandbox_id = ?", "name = (SELECT min(name) FROM alineo_events) AND sandbox_id = ?")
	case "heads/list": // knows the time of the last segment only
		sql.Advance = replaced(sql.Advance, "max(max_ts, ?)", "?")
	case "heads/foreign": // lists its own
		sql.Maintenance.Heads = replaced(sql.Maintenance.Heads, "SELECT name, sandbox_id FROM known UNION", "")
	case "segments/list": // takes no notice of who is behind it in a batch
		sql.Segment = replaced(sql.Segment, "m - ?3, m - ?3 - ?4 + 1", "m, m - ?4 + 1")
	case "tombstones/list": // does not say when
		sql.Delete.Tombstone = replaced(sql.Delete.Tombstone, "CAST(unixepoch('subsec') * 1000 AS INTEGER)", "0")
	case "tombstones/again": // knows the last deletion only
		sql.Delete.Tombstone = replaced(sql.Delete.Tombstone, "entries + excluded.entries", "excluded.entries")
	case "usage/foreign": // knows the new spelling only
		sql.Maintenance.Usage = replaced(sql.Maintenance.Usage, ledgerkit.IsCreated, "event = 'sandbox.created'")
	case "environment/round-trip": // changes an image's name
		sql.Environments.Save = replaced(sql.Environments.Save, "(?, ?, ?, ?)", "(?, ?, replace(?, ':', '-'), ?)")
	case "environment/upsert": // keeps the first
		before, _, _ := strings.Cut(sql.Environments.Save, "DO UPDATE")
		sql.Environments.Save = before + "DO NOTHING"
	case "environment/list": // sorts by name
		sql.Environments.List = replaced(sql.Environments.List, "ORDER BY built_at DESC, name", "ORDER BY name")
	case "environment/delete": // deletes all
		sql.Environments.Delete = replaced(sql.Environments.Delete, "name = ?", "? IS NOT NULL")
	default:
		return false
	}
	return true
}
