package sqliteledger

import (
	"bytes"
	"math"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// Read returns a page of one sandbox's entries, or of all when the key is empty.
func (l *Ledger) Read(req *abi.LedgerReadRequest) (*abi.RowsReply, error) {
	if err := l.tables.readable(); err != nil {
		return nil, err
	}
	cursor, dense := cutDense(req.Cursor)
	ts, id, err := ledgerkit.ParseCursor(cursor)
	if err != nil {
		return nil, err
	}
	if req.Last > 0 {
		sql := l.sql.Last
		if req.Key == (abi.SandboxKey{}) {
			sql = l.sql.LastAll
		}
		return ledgerkit.Last(&l.tables, req, sql, ledgerkit.Key(req.Key)...)
	}
	limit, oneMore := ledgerkit.Limit(req.Limit)
	var step alineo.Step
	switch {
	case req.Key == abi.SandboxKey{}:
		step = alineo.Keep(l.sql.ReadAll, alineo.Int(id), oneMore)
	case ts > 0 && !dense:
		step = alineo.Keep(l.sql.Sparse, append(ledgerkit.Key(req.Key), alineo.Int(ts), alineo.Int(id), oneMore)...)
	case ts > 0:
		step = alineo.Keep(l.sql.Read, append(ledgerkit.Key(req.Key), alineo.Int(ts), alineo.Int(id), oneMore)...)
	default:
		step = alineo.Keep(l.readFirst, append(ledgerkit.Key(req.Key), alineo.Int(ts), alineo.Int(id), oneMore)...)
	}
	page, err := ledgerkit.Page(&l.tables, step.Limit(limit, req.MaxBytes), cursor, abi.RowTS, abi.RowID)
	if err == nil && len(cursor) > 0 && req.Key != (abi.SandboxKey{}) && bytes.HasPrefix(page.Cursor, cursor[:timeSize]) {
		page.Cursor = append(page.Cursor[:cursorSize:cursorSize], denseMark)
	}
	return page, err
}

// A cursor of Read is that of ledgerkit, and has a mark behind it when all of the page that it is behind
// had one time: many entries may have it still.
const (
	timeSize   = 8
	cursorSize = 16
	denseMark  = 1
)

// cutDense takes the mark off.
func cutDense(cursor []byte) (_ []byte, dense bool) {
	if len(cursor) == cursorSize+1 && cursor[cursorSize] == denseMark {
		return cursor[:cursorSize], true
	}
	return cursor, false
}

// LastCheckpoint returns the newest checkpoint, of one tag when it has one.
func (l *Ledger) LastCheckpoint(req *abi.LastCheckpointRequest) (*abi.RowsReply, error) {
	if err := l.tables.readable(); err != nil {
		return nil, err
	}
	if req.Tag == "" {
		return ledgerkit.All(&l.tables, l.sql.LastCheckpoint, ledgerkit.Key(req.Key)...)
	}
	return ledgerkit.All(&l.tables, l.sql.TaggedCheckpoint, append(ledgerkit.Key(req.Key), alineo.Text(req.Tag))...)
}

// ListCheckpoints returns a page of the checkpoints in the order in which they were made.
func (l *Ledger) ListCheckpoints(req *abi.SandboxPageRequest) (*abi.RowsReply, error) {
	if err := l.tables.readable(); err != nil {
		return nil, err
	}
	return ledgerkit.Checkpoints(&l.tables, req, l.sql.ListCheckpoints)
}

// ListSandboxes lists newest first. Filters apply in the reference's order, the limit last.
func (l *Ledger) ListSandboxes(req *abi.ListSandboxesRequest) (*abi.RowsReply, error) {
	if err := l.tables.readable(); err != nil {
		return nil, err
	}
	if req.Limit != nil && *req.Limit == 0 {
		return &abi.RowsReply{Cursor: req.Cursor}, nil
	}
	var list query
	if err := list.filter(req); err != nil {
		return nil, err
	}
	limit, oneMore := ledgerkit.Limit(ledgerkit.Listed(req.Limit))
	step := alineo.Keep(l.sql.Details(list.where, list.order, " LIMIT ?"), append(list.params, oneMore)...).Limit(limit, 0)
	return ledgerkit.Page(&l.tables, step, req.Cursor, abi.SandboxStarted, abi.SandboxCreatedID)
}

// newestFirst is the order of an index, which is then read in it. fewOnly is the same order without
// that: those that a condition finds are few, and are sorted.
const (
	newestFirst = "c.ts DESC, c.id DESC"
	fewOnly     = "+c.ts DESC, +c.id DESC"
)

// query is what a listing asks for.
type query struct {
	where, order string
	params       []abi.SQLParam
}

func (q *query) and(condition string, params ...abi.SQLParam) {
	q.where += " AND " + condition
	q.params = append(q.params, params...)
}

// filter takes the filters of a request.
func (q *query) filter(req *abi.ListSandboxesRequest) error {
	q.order = newestFirst
	if req.RunID != "" {
		run := alineo.Text(req.RunID)
		// A run has few sandboxes: they are found by its index, and then sorted.
		q.and("(c.name, c.sandbox_id) IN (SELECT r.name, r.sandbox_id FROM alineo_events r WHERE "+of("r", ledgerkit.IsCreated)+" AND "+runOf("r.")+" = ?)", run)
		q.and("coalesce("+ofCreated("runId")+", c.sandbox_id) = ?", run)
		q.order = fewOnly
	}
	if req.Name != "" {
		q.and("c.name = ?", alineo.Text(req.Name))
	}
	latest := int64(math.MaxInt64) // one bound, for which an index is used
	if req.Before != nil {
		if *req.Before == math.MinInt64 {
			q.and("FALSE")
		} else {
			latest = *req.Before - 1
		}
	}
	if len(req.Cursor) > 0 {
		ts, id, err := ledgerkit.ParseCursor(req.Cursor)
		if err != nil {
			return err
		}
		latest = min(latest, ts)
		q.and("(+c.ts, +c.id) < (?, ?)", alineo.Int(ts), alineo.Int(id))
	}
	if latest < math.MaxInt64 {
		q.and("c.ts <= ?", alineo.Int(latest))
	}
	switch req.Status {
	case "":
	case "running":
		q.and("NOT " + isClosed())
	case "completed":
		q.and(isClosed())
	default:
		q.and("FALSE") // nothing has another status
	}
	for _, f := range [...]struct{ key, value string }{{"resourceId", req.ResourceID}, {"teamId", req.TeamID}} {
		if f.value != "" {
			q.and(ofCreated(f.key)+" = ?", alineo.Text(f.value))
		}
	}
	return nil
}

// GetSandbox returns one sandbox, or no row.
func (l *Ledger) GetSandbox(req *abi.SandboxRequest) (*abi.RowsReply, error) {
	if err := l.tables.readable(); err != nil {
		return nil, err
	}
	return ledgerkit.All(&l.tables, l.sql.Details(" AND c.name = ? AND c.sandbox_id = ?", fewOnly, ""), ledgerkit.Key(req.Key)...)
}

// FindSandbox finds a sandbox's name by its id, and then its details.
func (l *Ledger) FindSandbox(req *abi.FindSandboxRequest) (*abi.RowsReply, error) {
	if err := l.tables.readable(); err != nil {
		return nil, err
	}
	var name abi.Value
	found, err := ledgerkit.Row(&l.tables, l.sql.FindName, []abi.SQLParam{alineo.Text(req.SandboxID)}, &name)
	if err != nil || !found {
		return &abi.RowsReply{}, err
	}
	return l.GetSandbox(&abi.SandboxRequest{Key: abi.SandboxKey{Name: name.String(), SandboxID: req.SandboxID}})
}
