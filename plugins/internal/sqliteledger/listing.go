package sqliteledger

import (
	"math"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// ListSandboxes lists newest first. Filters apply in the reference's order, the limit last.
func (l *Ledger) ListSandboxes(req *abi.ListSandboxesRequest) (*abi.RowsReply, error) {
	if err := l.tables.readable(); err != nil {
		return nil, err
	}
	if req.Limit != nil && *req.Limit == 0 {
		return &abi.RowsReply{Cursor: req.Cursor}, nil
	}
	var list query
	if err := list.begin(&l.tables, l.sql.FewIDs, req); err != nil {
		return nil, err
	}
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
	few          bool   // they are found by the beginnings of their ids,
	behind       string // which are before this
}

// begin looks how many sandboxes have ids with the beginning that is asked for.
func (q *query) begin(db ledgerkit.Database, sql string, req *abi.ListSandboxesRequest) (err error) {
	if req.IDPrefix != "" && req.RunID == "" {
		q.few, q.behind, err = ledgerkit.Few(db, sql, req.IDPrefix)
	}
	return err
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
	plus := "" // before a column that no index is to be used for
	switch {
	case req.IDPrefix == "":
	case q.few:
		q.and("c.sandbox_id >= ? AND c.sandbox_id < ?", alineo.Text(req.IDPrefix), alineo.Text(q.behind))
		q.order, plus = fewOnly, "+"
	default:
		q.and("instr(c.sandbox_id, ?) = 1", alineo.Text(req.IDPrefix))
	}
	if req.Name != "" {
		q.and(plus+"c.name = ?", alineo.Text(req.Name))
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
		q.and(plus+"c.ts <= ?", alineo.Int(latest))
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
