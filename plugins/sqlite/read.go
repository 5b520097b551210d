package main

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// defaultPage is how many entries a page has when the host doesn't say.
const defaultPage = 1000

// maxLimit keeps limit+1 within what SQL counts with.
const maxLimit = 1 << 62

func key(k abi.SandboxKey) []abi.SQLParam {
	return []abi.SQLParam{alineo.Text(k.Name), alineo.Text(k.SandboxID)}
}

// Read returns a page of one sandbox's entries, or of all when the key is empty.
func (l *ledger) Read(req *abi.LedgerReadRequest) (*abi.RowsReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	limit := min(req.Limit, maxLimit)
	if limit == 0 {
		limit = defaultPage
	}
	ts, id, err := parseCursor(req.Cursor)
	if err != nil {
		return nil, err
	}
	// One row more than the page says whether there is another page.
	var step alineo.Step
	if req.Key == (abi.SandboxKey{}) {
		step = alineo.Keep(sqlReadAll, alineo.Int(id), alineo.Int(int64(limit)+1))
	} else {
		step = alineo.Keep(sqlRead, append(key(req.Key), alineo.Int(ts), alineo.Int(id), alineo.Int(int64(limit)+1))...)
	}
	return l.page(step.Limit(limit, req.MaxBytes), req.Cursor, abi.RowTS, abi.RowID)
}

// page runs a query whose rows stay on the host and answers with the cursor behind the last one.
func (l *ledger) page(step alineo.Step, before []byte, tsColumn, idColumn uint32) (*abi.RowsReply, error) {
	done, err := l.read(step)
	if err != nil {
		return nil, err
	}
	result := &done.Steps[0]
	reply := &abi.RowsReply{Rows: result.Handle, More: result.More, Cursor: before}
	if result.RowCount == 0 {
		return reply, nil
	}
	last, err := abi.ParseTable(result.Last)
	if err != nil {
		return nil, err
	}
	reply.Cursor = binary.LittleEndian.AppendUint64(nil, uint64(last.Value(0, int(tsColumn)).Int))
	reply.Cursor = binary.LittleEndian.AppendUint64(reply.Cursor, uint64(last.Value(0, int(idColumn)).Int))
	return reply, nil
}

// parseCursor reads (ts, id); an empty cursor is before everything.
func parseCursor(cursor []byte) (ts, id int64, err error) {
	switch len(cursor) {
	case 0:
		return math.MinInt64, math.MinInt64, nil
	case 16:
		return int64(binary.LittleEndian.Uint64(cursor)), int64(binary.LittleEndian.Uint64(cursor[8:])), nil
	default:
		return 0, 0, &abi.Error{Code: abi.CodeInvalid, Message: "the cursor is not one of this ledger's"}
	}
}

// all answers with every row of a query.
func (l *ledger) all(sql string, params ...abi.SQLParam) (*abi.RowsReply, error) {
	done, err := l.read(alineo.Keep(sql, params...))
	if err != nil {
		return nil, err
	}
	return &abi.RowsReply{Rows: done.Steps[0].Handle, More: done.Steps[0].More}, nil
}

// LastCheckpoint returns the newest checkpoint, of one tag when it has one.
func (l *ledger) LastCheckpoint(req *abi.LastCheckpointRequest) (*abi.RowsReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	if req.Tag == "" {
		return l.all(sqlLastCheckpoint, key(req.Key)...)
	}
	return l.all(sqlTaggedCheckpoint, append(key(req.Key), alineo.Text(req.Tag))...)
}

// ListCheckpoints returns the checkpoints in the order in which they were made.
func (l *ledger) ListCheckpoints(req *abi.SandboxRequest) (*abi.RowsReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	return l.all(sqlListCheckpoints, key(req.Key)...)
}

// ListSandboxes lists newest first. Filters apply in the reference's order, the limit last.
func (l *ledger) ListSandboxes(req *abi.ListSandboxesRequest) (*abi.RowsReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	if req.Limit != nil && *req.Limit == 0 {
		return &abi.RowsReply{Cursor: req.Cursor}, nil
	}
	sql, params, err := listSQL(req)
	if err != nil {
		return nil, err
	}
	if req.Limit == nil {
		return l.page(alineo.Keep(sql, params...), req.Cursor, abi.SandboxStarted, abi.SandboxCreatedID)
	}
	limit := min(*req.Limit, maxLimit)
	step := alineo.Keep(sql+" LIMIT ?", append(params, alineo.Int(int64(limit)+1))...).Limit(limit, 0)
	return l.page(step, req.Cursor, abi.SandboxStarted, abi.SandboxCreatedID)
}

// listSQL is the query of a listing without its limit.
func listSQL(req *abi.ListSandboxesRequest) (sql string, params []abi.SQLParam, err error) {
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
		ts, id, err := parseCursor(req.Cursor)
		if err != nil {
			return "", nil, err
		}
		filter("(started, created_id) < (?, ?)", alineo.Int(ts), alineo.Int(id))
	}
	sql = detailsSQL(scope)
	if len(where) > 0 {
		sql = "SELECT * FROM (" + sql + ") WHERE " + strings.Join(where, " AND ")
	}
	return sql + " ORDER BY started DESC, created_id DESC", params, nil
}

// GetSandbox returns one sandbox, or no row.
func (l *ledger) GetSandbox(req *abi.SandboxRequest) (*abi.RowsReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	return l.all(detailsSQL("name = ? AND sandbox_id = ?"), key(req.Key)...)
}

// FindSandbox finds a sandbox's name by its id, and then its details.
func (l *ledger) FindSandbox(req *abi.FindSandboxRequest) (*abi.RowsReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	for _, sql := range [...]string{sqlFindName, sqlFindForeign} {
		done, err := l.read(alineo.Query(sql, alineo.Text(req.SandboxID)))
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
func (l *ledger) DeleteSandbox(req *abi.SandboxRequest) (*abi.DeleteReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	pair := key(req.Key)
	done, err := l.write(
		alineo.Statement(sqlTombstone, pair...),
		alineo.Statement(sqlDeleteEvents, pair...),
		alineo.Statement(sqlDeleteSegments, pair...),
		alineo.Statement(sqlResetHead, pair...),
	)
	if err != nil {
		return nil, err
	}
	return &abi.DeleteReply{Rows: done.Steps[1].Affected}, nil
}
