package sqliteledger

import (
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// Read returns a page of one sandbox's entries, or of all when the key is empty.
func (l *Ledger) Read(req *abi.LedgerReadRequest) (*abi.RowsReply, error) {
	if err := l.tables.ensure(); err != nil {
		return nil, err
	}
	ts, id, err := ledgerkit.ParseCursor(req.Cursor)
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
	if req.Key == (abi.SandboxKey{}) {
		step = alineo.Keep(l.sql.ReadAll, alineo.Int(id), oneMore)
	} else {
		step = alineo.Keep(l.sql.Read, append(ledgerkit.Key(req.Key), alineo.Int(ts), alineo.Int(id), oneMore)...)
	}
	return ledgerkit.Page(&l.tables, step.Limit(limit, req.MaxBytes), req.Cursor, abi.RowTS, abi.RowID)
}

// LastCheckpoint returns the newest checkpoint, of one tag when it has one.
func (l *Ledger) LastCheckpoint(req *abi.LastCheckpointRequest) (*abi.RowsReply, error) {
	if err := l.tables.ensure(); err != nil {
		return nil, err
	}
	if req.Tag == "" {
		return ledgerkit.All(&l.tables, l.sql.LastCheckpoint, ledgerkit.Key(req.Key)...)
	}
	return ledgerkit.All(&l.tables, l.sql.TaggedCheckpoint, append(ledgerkit.Key(req.Key), alineo.Text(req.Tag))...)
}

// ListCheckpoints returns a page of the checkpoints in the order in which they were made.
func (l *Ledger) ListCheckpoints(req *abi.SandboxPageRequest) (*abi.RowsReply, error) {
	if err := l.tables.ensure(); err != nil {
		return nil, err
	}
	return ledgerkit.Checkpoints(&l.tables, req, l.sql.ListCheckpoints)
}

// ListSandboxes lists newest first. Filters apply in the reference's order, the limit last.
func (l *Ledger) ListSandboxes(req *abi.ListSandboxesRequest) (*abi.RowsReply, error) {
	if err := l.tables.ensure(); err != nil {
		return nil, err
	}
	if req.Limit != nil && *req.Limit == 0 {
		return &abi.RowsReply{Cursor: req.Cursor}, nil
	}
	sql, params, err := l.listSQL(req)
	if err != nil {
		return nil, err
	}
	if req.Limit == nil {
		return ledgerkit.Page(&l.tables, alineo.Keep(sql, params...), req.Cursor, abi.SandboxStarted, abi.SandboxCreatedID)
	}
	limit, oneMore := ledgerkit.Limit(*req.Limit)
	step := alineo.Keep(sql+" LIMIT ?", append(params, oneMore)...).Limit(limit, 0)
	return ledgerkit.Page(&l.tables, step, req.Cursor, abi.SandboxStarted, abi.SandboxCreatedID)
}

// listSQL is the query of a listing without its limit.
func (l *Ledger) listSQL(req *abi.ListSandboxesRequest) (sql string, params []abi.SQLParam, err error) {
	scope := "TRUE"
	if req.Name != "" {
		scope, params = "name = ?", append(params, alineo.Text(req.Name))
	}
	var where []string
	filter := func(condition string, values ...abi.SQLParam) {
		where, params = append(where, condition), append(params, values...)
	}
	if req.Before != nil {
		filter("started < ?", alineo.Int(*req.Before))
	}
	for _, f := range [...]struct{ column, value string }{
		{"status", req.Status}, {"run_id", req.RunID}, {"resource_id", req.ResourceID}, {"team_id", req.TeamID},
	} {
		if f.value != "" {
			filter(f.column+" = ?", alineo.Text(f.value))
		}
	}
	if len(req.Cursor) > 0 {
		ts, id, err := ledgerkit.ParseCursor(req.Cursor)
		if err != nil {
			return "", nil, err
		}
		filter("(started, created_id) < (?, ?)", alineo.Int(ts), alineo.Int(id))
	}
	sql = l.sql.Details(scope)
	if len(where) > 0 {
		sql = "SELECT * FROM (" + sql + ") WHERE " + strings.Join(where, " AND ")
	}
	return sql + " ORDER BY started DESC, created_id DESC", params, nil
}

// GetSandbox returns one sandbox, or no row.
func (l *Ledger) GetSandbox(req *abi.SandboxRequest) (*abi.RowsReply, error) {
	if err := l.tables.ensure(); err != nil {
		return nil, err
	}
	return ledgerkit.All(&l.tables, l.sql.Details("name = ? AND sandbox_id = ?"), ledgerkit.Key(req.Key)...)
}

// FindSandbox finds a sandbox's name by its id, and then its details.
func (l *Ledger) FindSandbox(req *abi.FindSandboxRequest) (*abi.RowsReply, error) {
	if err := l.tables.ensure(); err != nil {
		return nil, err
	}
	for _, sql := range [...]string{l.sql.FindName, l.sql.FindForeign} {
		done, err := l.tables.Read(alineo.Query(sql, alineo.Text(req.SandboxID)))
		if err != nil {
			return nil, err
		}
		var name abi.Value
		found, err := alineo.FirstRow(done.Steps[0].Rows, &name)
		if err != nil {
			return nil, err
		}
		if found {
			return l.GetSandbox(&abi.SandboxRequest{
				Key: abi.SandboxKey{Name: name.String(), SandboxID: req.SandboxID},
			})
		}
	}
	return &abi.RowsReply{}, nil
}

// DeleteSandbox removes a sandbox and leaves a tombstone.
func (l *Ledger) DeleteSandbox(req *abi.SandboxRequest) (*abi.DeleteReply, error) {
	if err := l.tables.ensure(); err != nil {
		return nil, err
	}
	pair := ledgerkit.Key(req.Key)
	done, err := l.tables.Write(
		alineo.Statement(l.sql.Tombstone, pair...),
		alineo.Statement(l.sql.DeleteEvents, pair...),
		alineo.Statement(l.sql.DeleteSegments, pair...),
		alineo.Statement(l.sql.ResetHead, pair...),
	)
	if err != nil {
		return nil, err
	}
	return &abi.DeleteReply{Rows: done.Steps[1].Affected}, nil
}
