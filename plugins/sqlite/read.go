package main

import (
	"encoding/binary"
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
)

// defaultPage is how many entries a page has when the host doesn't say.
const defaultPage = 1000

// Read returns a page of one sandbox's entries, or of all when the key is empty.
func (l *ledger) Read(req *abi.LedgerReadRequest) (*abi.RowsReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	limit := req.Limit
	if limit == 0 {
		limit = defaultPage
	}
	ts, id, err := parseCursor(req.Cursor)
	if err != nil {
		return nil, err
	}
	// One row more than the page says whether there is another page.
	step := abi.SQLStep{Result: abi.ResultHandle, MaxRows: limit, MaxBytes: req.MaxBytes}
	if req.Key == (abi.SandboxKey{}) {
		step.SQL, step.Params = sqlReadAll, []abi.SQLParam{integer(id), integer(int64(limit) + 1)}
	} else {
		step.SQL = sqlRead
		step.Params = []abi.SQLParam{
			text(req.Key.Name), text(req.Key.SandboxID), integer(ts), integer(id), integer(int64(limit) + 1),
		}
	}
	reply, err := run(true, step)
	if err != nil {
		return nil, err
	}
	return page(reply.Steps[0], req.Cursor, abi.RowTS, abi.RowID)
}

// page answers with rows that stay on the host and the cursor behind their last one.
func page(result abi.SQLStepResult, before []byte, tsColumn, idColumn uint32) (*abi.RowsReply, error) {
	reply := &abi.RowsReply{Rows: result.Handle, More: result.More, Cursor: before}
	if result.RowCount == 0 {
		return reply, nil
	}
	last, err := tableRow(result.Last)
	if err != nil {
		return nil, err
	}
	cursor := binary.LittleEndian.AppendUint64(nil, uint64(last[tsColumn].Int))
	reply.Cursor = binary.LittleEndian.AppendUint64(cursor, uint64(last[idColumn].Int))
	return reply, nil
}

// parseCursor reads (ts, id); an empty cursor is before everything.
func parseCursor(cursor []byte) (ts, id int64, err error) {
	switch len(cursor) {
	case 0:
		return -1 << 63, -1 << 63, nil
	case 16:
		return int64(binary.LittleEndian.Uint64(cursor)), int64(binary.LittleEndian.Uint64(cursor[8:])), nil
	default:
		return 0, 0, &abi.Error{Code: abi.CodeInvalid, Message: "the cursor is not one of this ledger's"}
	}
}

// LastCheckpoint returns the newest checkpoint, of one tag when it has one.
func (l *ledger) LastCheckpoint(req *abi.LastCheckpointRequest) (*abi.RowsReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	params := []abi.SQLParam{text(req.Key.Name), text(req.Key.SandboxID)}
	sql := sqlLastCheckpoint
	if req.Tag != "" {
		sql = sqlTaggedCheckpoint
		params = append(params, text(req.Tag))
	}
	return rows(query(sql, params...))
}

// ListCheckpoints returns the checkpoints in the order in which they were made.
func (l *ledger) ListCheckpoints(req *abi.SandboxRequest) (*abi.RowsReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	return rows(query(sqlListCheckpoints, text(req.Key.Name), text(req.Key.SandboxID)))
}

func rows(result abi.SQLStepResult, err error) (*abi.RowsReply, error) {
	if err != nil {
		return nil, err
	}
	return &abi.RowsReply{Rows: result.Handle, More: result.More}, nil
}

// ListSandboxes lists newest first. Filters apply in the reference's order, the limit last.
func (l *ledger) ListSandboxes(req *abi.ListSandboxesRequest) (*abi.RowsReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	var params []abi.SQLParam
	scope := "TRUE"
	if req.Name != "" {
		scope, params = "name = ?", append(params, text(req.Name))
	}
	var where []string
	filter := func(condition string, values ...abi.SQLParam) {
		where, params = append(where, condition), append(params, values...)
	}
	if req.Before != nil {
		filter("started < ?", integer(*req.Before))
	}
	if req.Status != "" {
		filter("status = ?", text(req.Status))
	}
	if req.RunID != "" {
		filter("run_id = ?", text(req.RunID))
	}
	if req.ResourceID != "" {
		filter("resource_id = ?", text(req.ResourceID))
	}
	if req.TeamID != "" {
		filter("team_id = ?", text(req.TeamID))
	}
	if len(req.Cursor) > 0 {
		ts, id, err := parseCursor(req.Cursor)
		if err != nil {
			return nil, err
		}
		filter("(started, created_id) < (?, ?)", integer(ts), integer(id))
	}
	sql := detailsSQL(scope)
	if len(where) > 0 {
		sql = "SELECT * FROM (" + sql + ") WHERE " + strings.Join(where, " AND ")
	}
	step := abi.SQLStep{SQL: sql + " ORDER BY started DESC, created_id DESC", Result: abi.ResultHandle}
	if req.Limit != nil {
		if *req.Limit == 0 {
			return &abi.RowsReply{}, nil
		}
		step.SQL += " LIMIT ?"
		step.MaxRows = min(*req.Limit, 1<<62)
		params = append(params, integer(int64(step.MaxRows)+1))
	}
	step.Params = params
	reply, err := run(true, step)
	if err != nil {
		return nil, err
	}
	return page(reply.Steps[0], req.Cursor, abi.SandboxStarted, abi.SandboxCreatedID)
}

// GetSandbox returns one sandbox, or no row.
func (l *ledger) GetSandbox(req *abi.SandboxRequest) (*abi.RowsReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	return rows(query(detailsSQL("name = ? AND sandbox_id = ?"), text(req.Key.Name), text(req.Key.SandboxID)))
}

// FindSandbox finds a sandbox's name by its id, and then its details.
func (l *ledger) FindSandbox(req *abi.FindSandboxRequest) (*abi.RowsReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	for _, sql := range [...]string{sqlFindName, sqlFindForeign} {
		reply, err := run(true, abi.SQLStep{SQL: sql, Params: []abi.SQLParam{text(req.SandboxID)}, Result: abi.ResultInline})
		if err != nil {
			return nil, err
		}
		row, err := firstRow(reply.Steps[0])
		if err != nil {
			return nil, err
		}
		if row != nil {
			return l.GetSandbox(&abi.SandboxRequest{
				Key: abi.SandboxKey{Name: row[0].String(), SandboxID: req.SandboxID},
			})
		}
	}
	return &abi.RowsReply{}, nil
}

// DeleteSandbox removes a sandbox and leaves a tombstone.
func (l *ledger) DeleteSandbox(req *abi.SandboxRequest) (*abi.DeleteReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	pair := []abi.SQLParam{text(req.Key.Name), text(req.Key.SandboxID)}
	reply, err := run(false,
		abi.SQLStep{SQL: sqlTombstone, Params: pair},
		abi.SQLStep{SQL: sqlDeleteEvents, Params: pair},
		abi.SQLStep{SQL: sqlDeleteSegments, Params: pair},
		abi.SQLStep{SQL: sqlResetHead, Params: pair},
	)
	if err != nil {
		return nil, err
	}
	return &abi.DeleteReply{Rows: reply.Steps[1].Affected}, nil
}
