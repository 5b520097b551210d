package main

import (
	"strconv"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// isDeleting is about a head h whose sandbox's deletion has not ended. A head without a hash has no
// segment either, so what stands in its place is a mark.
const (
	isDeleting = `h.hash = '' AND h.segment_id <> ''`
	deleting   = `'deleting'::bytea`
)

const headOf = `FROM {}alineo_host_heads h WHERE h.name = $1 AND h.sandbox_id = $2`

// left is whether anything of a sandbox is left.
const left = `(EXISTS (SELECT 1 FROM {}alineo_events WHERE name = $1 AND sandbox_id = $2)
  OR EXISTS (SELECT 1 FROM {}alineo_host_segments WHERE name = $1 AND sandbox_id = $2))`

// deleteSQL are the statements of a piece of a deletion, in their order. Each has the key, the tombstone
// how many entries went before it.
type deleteSQL struct {
	lock, events, tombstone, segments string
	// mark is for all pieces but the last, and makes a head where there is none; reset is for the last.
	mark, reset string
	more        string // the answer
}

func newDeleteSQL(in func(string) string) deleteSQL {
	return deleteSQL{
		// The head first: an append that is under way is waited for, and one that comes later is refused.
		lock: in(`SELECT 1 ` + headOf + ` FOR UPDATE`),
		// The oldest, as far as they fit.
		events: in(`WITH goes AS MATERIALIZED (SELECT id FROM (SELECT id, row_number() OVER w AS n,
   sum(100 + coalesce(pg_column_size(payload), 0) + coalesce(pg_column_size(error), 0)) OVER w AS size
   FROM (SELECT id, ts, payload, error FROM {}alineo_events WHERE name = $1 AND sandbox_id = $2
    ORDER BY ts, id LIMIT ` + strconv.Itoa(ledgerkit.PieceEntries) + `) oldest
   WINDOW w AS (ORDER BY ts, id)) sized WHERE n = 1 OR size <= ` + strconv.Itoa(ledgerkit.PieceBytes) + `),
 gone AS (DELETE FROM {}alineo_events e USING goes WHERE e.id = goes.id RETURNING 1)
 SELECT count(*) FROM gone`),
		tombstone: in(`INSERT INTO {}alineo_host_tombstones AS t (name, sandbox_id, entries, hash, deleted_at)
 SELECT $1, $2, $3::bigint, coalesce((SELECT h.hash ` + headOf + `), ''), floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
 WHERE $3::bigint > 0
 ON CONFLICT (name, sandbox_id) DO UPDATE SET entries = t.entries + excluded.entries, deleted_at = excluded.deleted_at,
  hash = CASE WHEN EXISTS (SELECT 1 ` + headOf + ` AND ` + isDeleting + `) THEN t.hash ELSE excluded.hash END`),
		segments: in(`DELETE FROM {}alineo_host_segments WHERE name = $1 AND sandbox_id = $2 AND last_id IN (SELECT last_id
 FROM {}alineo_host_segments WHERE name = $1 AND sandbox_id = $2 ORDER BY last_id LIMIT ` + strconv.Itoa(ledgerkit.PieceSegments) + `)`),
		// The head stays and its epoch goes up: whoever drove the sandbox can't append any more.
		mark: in(`INSERT INTO {}alineo_host_heads AS h (name, sandbox_id, epoch, segment_id, hash, max_ts, entries)
 SELECT $1, $2, 1, ` + deleting + `, ''::bytea, 0, 0 WHERE ` + left + `
 ON CONFLICT (name, sandbox_id) DO UPDATE SET
  epoch = h.epoch + 1, segment_id = excluded.segment_id, hash = '', max_ts = 0, entries = 0`),
		reset: in(`UPDATE {}alineo_host_heads SET epoch = epoch + 1, segment_id = '', hash = '', max_ts = 0, entries = 0
 WHERE name = $1 AND sandbox_id = $2 AND NOT ` + left),
		more: in(`SELECT ` + left),
	}
}

// DeleteSandbox removes a piece of a sandbox, or what is left of it, and leaves a tombstone.
func (l *ledger) DeleteSandbox(req *abi.SandboxRequest) (*abi.DeleteReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	sql, pair := &l.sql.remove, ledgerkit.Key(req.Key)
	const events, more = 1, 6
	done, err := db.Write(
		alineo.Statement(sql.lock, pair...),
		alineo.Query(sql.events, pair...),
		alineo.Statement(sql.tombstone, append(pair[:2:2], alineo.Result(events, 0))...),
		alineo.Statement(sql.segments, pair...),
		alineo.Statement(sql.mark, pair...),
		alineo.Statement(sql.reset, pair...),
		alineo.Query(sql.more, pair...),
	)
	if err != nil {
		return nil, err
	}
	var removed, left abi.Value
	if _, err := alineo.FirstRow(done.Steps[events].Rows, &removed); err != nil {
		return nil, err
	}
	if _, err := alineo.FirstRow(done.Steps[more].Rows, &left); err != nil {
		return nil, err
	}
	return &abi.DeleteReply{Rows: uint64(removed.Int), More: left.Int != 0}, nil
}
