package sqliteledger

import (
	"strconv"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// isDeleting is about a head h whose sandbox's deletion has not ended. A head without a hash has no
// segment either, so what stands in its place is a mark.
const (
	isDeleting = `h.hash = x'' AND h.segment_id <> x''`
	mark       = `x'64656c6574696e67'` // "deleting"
)

const headOf = `FROM alineo_host_heads h WHERE h.name = ?1 AND h.sandbox_id = ?2`

// left is whether anything of a sandbox is left.
const left = `(EXISTS (SELECT 1 FROM alineo_events WHERE name = ?1 AND sandbox_id = ?2)
  OR EXISTS (SELECT 1 FROM alineo_host_segments WHERE name = ?1 AND sandbox_id = ?2))`

// goes are the entries of one piece: the oldest, as far as they fit.
func goes() string {
	return `SELECT id FROM (SELECT id, row_number() OVER (ORDER BY ts, id) AS n,
   sum(100 + coalesce(octet_length(payload), 0) + coalesce(octet_length(error), 0)) OVER (ORDER BY ts, id) AS size
   FROM (SELECT id, ts, payload, error FROM alineo_events WHERE name = ?1 AND sandbox_id = ?2
    ORDER BY ts, id LIMIT ` + strconv.Itoa(ledgerkit.PieceEntries) + `)) WHERE n = 1 OR size <= ` + strconv.Itoa(ledgerkit.PieceBytes)
}

// DeleteSQL are the statements of a piece of a deletion, in their order. Each has the key.
type DeleteSQL struct {
	Tombstone, Events, Segments string
	// Mark is for all pieces but the last, and makes a head where there is none; Reset is for the last.
	Mark, Reset string
	More        string // the answer
}

// deleteSQL returns the right ones.
func deleteSQL() DeleteSQL {
	return DeleteSQL{
		Tombstone: `INSERT INTO alineo_host_tombstones(name, sandbox_id, entries, hash, deleted_at)
 SELECT ?1, ?2, n, coalesce((SELECT h.hash ` + headOf + `), x''), CAST(unixepoch('subsec') * 1000 AS INTEGER)
 FROM (SELECT count(*) AS n FROM (` + goes() + `)) WHERE n > 0
 ON CONFLICT(name, sandbox_id) DO UPDATE SET entries = entries + excluded.entries, deleted_at = excluded.deleted_at,
  hash = CASE WHEN EXISTS (SELECT 1 ` + headOf + ` AND ` + isDeleting + `) THEN hash ELSE excluded.hash END`,
		Events: `DELETE FROM alineo_events WHERE id IN (` + goes() + `)`,
		Segments: `DELETE FROM alineo_host_segments WHERE name = ?1 AND sandbox_id = ?2 AND last_id IN (SELECT last_id
 FROM alineo_host_segments WHERE name = ?1 AND sandbox_id = ?2 ORDER BY last_id LIMIT ` + strconv.Itoa(ledgerkit.PieceSegments) + `)`,
		// The head stays and its epoch goes up: whoever drove the sandbox can't append any more.
		Mark: `INSERT INTO alineo_host_heads(name, sandbox_id, epoch, segment_id, hash, max_ts, entries)
 SELECT ?1, ?2, 1, ` + mark + `, x'', 0, 0 WHERE ` + left + `
 ON CONFLICT(name, sandbox_id) DO UPDATE SET
  epoch = epoch + 1, segment_id = excluded.segment_id, hash = x'', max_ts = 0, entries = 0`,
		Reset: `UPDATE alineo_host_heads SET epoch = epoch + 1, segment_id = x'', hash = x'', max_ts = 0, entries = 0
 WHERE name = ?1 AND sandbox_id = ?2 AND NOT ` + left,
		More: `SELECT ` + left,
	}
}

// DeleteSandbox removes a piece of a sandbox, or what is left of it, and leaves a tombstone.
func (l *Ledger) DeleteSandbox(req *abi.SandboxRequest) (*abi.DeleteReply, error) {
	if err := l.tables.ensure(); err != nil {
		return nil, err
	}
	sql, pair := &l.sql.Delete, ledgerkit.Key(req.Key)
	done, err := l.tables.Write(
		alineo.Statement(sql.Tombstone, pair...), alineo.Statement(sql.Events, pair...), alineo.Statement(sql.Segments, pair...),
		alineo.Statement(sql.Mark, pair...), alineo.Statement(sql.Reset, pair...), alineo.Query(sql.More, pair...),
	)
	if err != nil {
		return nil, err
	}
	return ledgerkit.Deleted(done, 1, 5)
}
