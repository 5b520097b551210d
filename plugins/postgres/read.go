package main

import (
	"strconv"
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// Read returns a page of one sandbox's entries, or of all when the key is empty.
func (l *ledger) Read(req *abi.LedgerReadRequest) (*abi.RowsReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	ts, id, err := ledgerkit.ParseCursor(req.Cursor)
	if err != nil {
		return nil, err
	}
	var last abi.Value
	if req.Key == (abi.SandboxKey{}) {
		// In a transaction of its own: what is read after it is at least as new.
		if last, err = ledgerkit.One(db, l.sql.horizon); err != nil {
			return nil, err
		}
	}
	if req.Last > 0 {
		if req.Key == (abi.SandboxKey{}) {
			return ledgerkit.Last(db, req, l.sql.lastAll, alineo.Int(last.Int))
		}
		return ledgerkit.Last(db, req, l.sql.last, ledgerkit.Key(req.Key)...)
	}
	limit, oneMore := ledgerkit.Limit(req.Limit)
	var step alineo.Step
	if req.Key == (abi.SandboxKey{}) {
		step = alineo.Keep(l.sql.readAll, alineo.Int(id), alineo.Int(last.Int), oneMore)
	} else {
		step = alineo.Keep(l.sql.read, append(ledgerkit.Key(req.Key), alineo.Int(ts), alineo.Int(id), oneMore)...)
	}
	return ledgerkit.Page(db, step.Limit(limit, req.MaxBytes), req.Cursor, abi.RowTS, abi.RowID)
}

// LastCheckpoint returns the newest checkpoint, of one tag when it has one.
func (l *ledger) LastCheckpoint(req *abi.LastCheckpointRequest) (*abi.RowsReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	if req.Tag == "" {
		return ledgerkit.All(db, l.sql.lastCheckpoint, ledgerkit.Key(req.Key)...)
	}
	return ledgerkit.All(db, l.sql.taggedCheckpoint, append(ledgerkit.Key(req.Key), alineo.Text(req.Tag))...)
}

// ListCheckpoints returns a page of the checkpoints in the order in which they were made.
func (l *ledger) ListCheckpoints(req *abi.SandboxPageRequest) (*abi.RowsReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	return ledgerkit.Checkpoints(db, req, l.sql.listCheckpoints)
}

// ListSandboxes lists newest first. Filters apply in the reference's order, the limit last.
func (l *ledger) ListSandboxes(req *abi.ListSandboxesRequest) (*abi.RowsReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	if req.Limit != nil && *req.Limit == 0 {
		return &abi.RowsReply{Cursor: req.Cursor}, nil
	}
	sql, params, err := l.listSQL(req)
	if err != nil {
		return nil, err
	}
	step := alineo.Keep(sql, params...)
	if req.Limit != nil {
		limit, oneMore := ledgerkit.Limit(*req.Limit)
		params = append(params, oneMore)
		step = alineo.Keep(sql+" LIMIT "+parameter(params), params...).Limit(limit, 0)
	}
	return ledgerkit.Page(db, step, req.Cursor, abi.SandboxStarted, abi.SandboxCreatedID)
}

// parameter is the name of the last of these parameters.
func parameter(params []abi.SQLParam) string { return "$" + strconv.Itoa(len(params)) }

// listSQL is the query of a listing without its limit.
func (l *ledger) listSQL(req *abi.ListSandboxesRequest) (sql string, params []abi.SQLParam, err error) {
	var where, outer strings.Builder
	bind := func(p abi.SQLParam) string {
		params = append(params, p)
		return parameter(params)
	}
	if req.Name != "" {
		where.WriteString(" AND c.name = " + bind(alineo.Text(req.Name)))
	}
	if req.Before != nil {
		where.WriteString(" AND c.ts < " + bind(alineo.Int(*req.Before)))
	}
	if len(req.Cursor) > 0 {
		ts, id, err := ledgerkit.ParseCursor(req.Cursor)
		if err != nil {
			return "", nil, err
		}
		where.WriteString(" AND (c.ts, c.id) < (" + bind(alineo.Int(ts)) + ", " + bind(alineo.Int(id)) + ")")
	}
	switch req.Status {
	case "":
	case "running":
		outer.WriteString(" AND s.closed IS NULL")
	case "completed":
		outer.WriteString(" AND s.closed IS NOT NULL")
	default:
		outer.WriteString(" AND FALSE") // nothing has another status
	}
	for _, f := range [...]struct{ column, value string }{
		{"coalesce(s.run_id, c.sandbox_id)", req.RunID}, {"s.resource_id", req.ResourceID}, {"s.team_id", req.TeamID},
	} {
		if f.value != "" {
			outer.WriteString(" AND " + f.column + " = " + bind(alineo.Text(f.value)))
		}
	}
	return l.sql.details(where.String(), outer.String()), params, nil
}

// GetSandbox returns one sandbox, or no row.
func (l *ledger) GetSandbox(req *abi.SandboxRequest) (*abi.RowsReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	return ledgerkit.All(db, l.sql.details(" AND c.name = $1 AND c.sandbox_id = $2", ""), ledgerkit.Key(req.Key)...)
}

// FindSandbox finds a sandbox's name by its id, and then its details.
func (l *ledger) FindSandbox(req *abi.FindSandboxRequest) (*abi.RowsReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	var name abi.Value
	found, err := ledgerkit.Row(db, l.sql.findName, []abi.SQLParam{alineo.Text(req.SandboxID)}, &name)
	if err != nil || !found {
		return &abi.RowsReply{}, err
	}
	return l.GetSandbox(&abi.SandboxRequest{Key: abi.SandboxKey{Name: name.String(), SandboxID: req.SandboxID}})
}

// DeleteSandbox removes a sandbox and leaves a tombstone.
func (l *ledger) DeleteSandbox(req *abi.SandboxRequest) (*abi.DeleteReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	pair := ledgerkit.Key(req.Key)
	// The head first: an append that is under way is waited for, and one that comes later is refused.
	done, err := db.Write(
		alineo.Statement(l.sql.lockHead, pair...),
		alineo.Statement(l.sql.tombstone, pair...),
		alineo.Statement(l.sql.deleteEvents, pair...),
		alineo.Statement(l.sql.deleteSegments, pair...),
		alineo.Statement(l.sql.resetHead, pair...),
	)
	if err != nil {
		return nil, err
	}
	return &abi.DeleteReply{Rows: done.Steps[2].Affected}, nil
}
