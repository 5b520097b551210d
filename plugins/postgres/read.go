package main

import (
	"encoding/binary"
	"math"
	"strconv"
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
		// In a transaction of its own: what is read after it is at least as new.
		last, err := one(l.sql.horizon)
		if err != nil {
			return nil, err
		}
		step = alineo.Keep(l.sql.readAll, alineo.Int(id), alineo.Int(last.Int), alineo.Int(int64(limit)+1))
	} else {
		step = alineo.Keep(l.sql.read, append(key(req.Key), alineo.Int(ts), alineo.Int(id), alineo.Int(int64(limit)+1))...)
	}
	return page(step.Limit(limit, req.MaxBytes), req.Cursor, abi.RowTS, abi.RowID)
}

// page runs a query whose rows stay on the host and answers with the cursor behind the last one.
func page(step alineo.Step, before []byte, tsColumn, idColumn uint32) (*abi.RowsReply, error) {
	done, err := db.Read(step)
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
func all(sql string, params ...abi.SQLParam) (*abi.RowsReply, error) {
	done, err := db.Read(alineo.Keep(sql, params...))
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
		return all(l.sql.lastCheckpoint, key(req.Key)...)
	}
	return all(l.sql.taggedCheckpoint, append(key(req.Key), alineo.Text(req.Tag))...)
}

// ListCheckpoints returns the checkpoints in the order in which they were made.
func (l *ledger) ListCheckpoints(req *abi.SandboxRequest) (*abi.RowsReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	return all(l.sql.listCheckpoints, key(req.Key)...)
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
		limit := min(*req.Limit, maxLimit)
		params = append(params, alineo.Int(int64(limit)+1))
		step = alineo.Keep(sql+" LIMIT "+parameter(params), params...).Limit(limit, 0)
	}
	return page(step, req.Cursor, abi.SandboxStarted, abi.SandboxCreatedID)
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
		ts, id, err := parseCursor(req.Cursor)
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
	return all(l.sql.details(" AND c.name = $1 AND c.sandbox_id = $2", ""), key(req.Key)...)
}

// FindSandbox finds a sandbox's name by its id, and then its details.
func (l *ledger) FindSandbox(req *abi.FindSandboxRequest) (*abi.RowsReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	done, err := db.Read(alineo.Query(l.sql.findName, alineo.Text(req.SandboxID)))
	if err != nil {
		return nil, err
	}
	var name abi.Value
	found, err := alineo.FirstRow(done.Steps[0].Rows, &name)
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
	pair := key(req.Key)
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
