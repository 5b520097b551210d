package main

import (
	"strconv"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// ListSandboxes lists newest first. Filters apply in the reference's order, the limit last.
func (l *ledger) ListSandboxes(req *abi.ListSandboxesRequest) (*abi.RowsReply, error) {
	if err := l.readable(); err != nil {
		return nil, err
	}
	if req.Limit != nil && *req.Limit == 0 {
		return &abi.RowsReply{Cursor: req.Cursor}, nil
	}
	list, err := l.begin(req)
	if err != nil {
		return nil, err
	}
	if err := list.filter(req); err != nil {
		return nil, err
	}
	limit, oneMore := ledgerkit.Limit(ledgerkit.Listed(req.Limit))
	sql := l.sql.details(list.where, list.order)
	sql += " LIMIT " + list.bind(oneMore)
	return ledgerkit.Page(db, alineo.Keep(sql, list.params...).Limit(limit, 0), req.Cursor, abi.SandboxStarted, abi.SandboxCreatedID)
}

// query is what a listing asks for.
type query struct {
	where, order string
	params       []abi.SQLParam
	few          bool   // they are found by the beginnings of their ids,
	collate      string // in this order,
	behind       string // which are before this
}

// begin looks how many sandboxes have ids with the beginning that is asked for.
func (l *ledger) begin(req *abi.ListSandboxesRequest) (query, error) {
	var q query
	if req.IDPrefix == "" || req.RunID != "" {
		return q, nil
	}
	err := l.askOrder()
	if err == nil {
		q.collate = l.tables.order.collate
		q.few, q.behind, err = ledgerkit.Few(db, l.sql.fewIDs(q.collate), req.IDPrefix)
	}
	return q, err
}

// bind adds a parameter and returns its name.
func (q *query) bind(p abi.SQLParam) string {
	q.params = append(q.params, p)
	return "$" + strconv.Itoa(len(q.params))
}

// idsBetween is about ids from one text on and before another. PostgreSQL does not see which, and expects as many as
// of any: where one sandbox has most of the entries, it would take the created ones that lie around it for most.
func idsBetween(id, from, behind string) string {
	return id + " >= (SELECT " + from + "::text) AND " + id + " < (SELECT " + behind + "::text)"
}

// filter takes the filters of a request.
func (q *query) filter(req *abi.ListSandboxesRequest) error {
	q.order = newestFirst
	if req.RunID != "" {
		run := q.bind(alineo.Text(req.RunID))
		// A run has few sandboxes: they are found by its index, and then sorted.
		q.where += " AND (c.name, c.sandbox_id) IN (SELECT r.name, r.sandbox_id FROM {}alineo_events r WHERE r." + ledgerkit.IsCreated +
			" AND coalesce(r.payload->>'runId', r.sandbox_id) = " + run + ") AND " + runOf() + " = " + run
		q.order = fewOnly
	}
	ts, id, name := "c.ts", "c.id", "c.name"
	switch {
	case req.IDPrefix == "":
	case q.few:
		from, behind := q.bind(alineo.Text(req.IDPrefix)), q.bind(alineo.Text(q.behind))
		q.where += " AND " + idsBetween("c.sandbox_id"+q.collate, from, behind)
		// Expressions, for which there is no index.
		q.order, ts, id, name = fewOnly, "c.ts + 0", "c.id + 0", "c.name || ''"
	default:
		prefix := q.bind(alineo.Text(req.IDPrefix)) + "::text"
		// Of a CASE PostgreSQL expects that it is true of half of them, of an equation of a few.
		q.where += " AND CASE WHEN left(c.sandbox_id, length(" + prefix + ")) = " + prefix + " THEN TRUE ELSE FALSE END"
	}
	if req.Name != "" {
		q.where += " AND " + name + " = " + q.bind(alineo.Text(req.Name))
	}
	if req.Before != nil {
		q.where += " AND " + ts + " < " + q.bind(alineo.Int(*req.Before))
	}
	if len(req.Cursor) > 0 {
		lastTS, lastID, err := ledgerkit.ParseCursor(req.Cursor)
		if err != nil {
			return err
		}
		q.where += " AND (" + ts + ", " + id + ") < (" + q.bind(alineo.Int(lastTS)) + ", " + q.bind(alineo.Int(lastID)) + ")"
	}
	switch req.Status {
	case "":
	case "running":
		q.where += " AND NOT " + isClosed
	case "completed":
		q.where += " AND " + isClosed
	default:
		q.where += " AND FALSE" // nothing has another status
	}
	for _, f := range [...]struct{ key, value string }{{"resourceId", req.ResourceID}, {"teamId", req.TeamID}} {
		if f.value != "" {
			q.where += " AND " + ofCreated(f.key) + " = " + q.bind(alineo.Text(f.value))
		}
	}
	return nil
}
