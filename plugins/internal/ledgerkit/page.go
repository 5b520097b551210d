package ledgerkit

import (
	"encoding/binary"
	"math"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// Database runs programs. alineo.SQL is one.
type Database interface {
	Read(steps ...alineo.Step) (*abi.SQLExecReply, error)
	Write(steps ...alineo.Step) (*abi.SQLExecReply, error)
}

// DefaultPage is how many entries a page has when the host doesn't say.
const DefaultPage = 1000

// tailRows is how many rows the host keeps of a statement.
const tailRows = 64 << 10

// maxLimit keeps limit+1 within what SQL counts with.
const maxLimit = 1 << 62

// Limit is how many rows a page has, and the parameter for one row more: that one says whether there
// is another page.
func Limit(asked uint64) (rows uint64, oneMore abi.SQLParam) {
	if asked == 0 {
		asked = DefaultPage
	}
	rows = min(asked, maxLimit)
	return rows, alineo.Int(int64(rows) + 1)
}

// Listed is how many sandboxes a page has when so many are asked for, nil being all: all of a large ledger
// take longer than a call has.
func Listed(asked *uint64) uint64 {
	if asked == nil {
		return DefaultPage
	}
	return *asked
}

// Key is a sandbox's name and id as parameters.
func Key(k abi.SandboxKey) []abi.SQLParam {
	return []abi.SQLParam{alineo.Text(k.Name), alineo.Text(k.SandboxID)}
}

// Page runs a query whose rows stay on the host and answers with the cursor behind the last one, which
// is made of two columns. Before is the cursor of the request.
func Page(db Database, step alineo.Step, before []byte, tsColumn, idColumn uint32) (*abi.RowsReply, error) {
	return page(db, step, before, func(last *abi.Table) []byte {
		return appendInts(nil, last.Value(0, int(tsColumn)).Int, last.Value(0, int(idColumn)).Int)
	})
}

// page is Page with any cursor.
func page(db Database, step alineo.Step, before []byte, cursor func(last *abi.Table) []byte) (*abi.RowsReply, error) {
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
	if reply.Cursor = cursor(last); reply.Cursor == nil {
		return nil, &abi.Error{Code: abi.CodeResourceExhausted, Message: "a page ends with a name or id that is too long for a cursor"}
	}
	return reply, nil
}

func appendInts(cursor []byte, values ...int64) []byte {
	for _, v := range values {
		cursor = binary.LittleEndian.AppendUint64(cursor, uint64(v))
	}
	return cursor
}

// ParseCursor reads the (ts, id) of a Page; an empty cursor is before everything.
func ParseCursor(cursor []byte) (ts, id int64, err error) {
	switch len(cursor) {
	case 0:
		return math.MinInt64, math.MinInt64, nil
	case 16:
		return int64(binary.LittleEndian.Uint64(cursor)), int64(binary.LittleEndian.Uint64(cursor[8:])), nil
	default:
		return 0, 0, errCursor()
	}
}

func errCursor() error {
	return &abi.Error{Code: abi.CodeInvalid, Message: "the cursor is not one of this ledger's"}
}

// tailBytes is what the last entries have together when the host doesn't say: well below what it keeps
// of a statement's rows, which would be cut at the wrong end.
const tailBytes = 8 << 20

// Last answers with the last entries of a scope. The statement has the scope's parameters, then how
// many entries and how many bytes, and gives the columns of entries forwards.
func Last(db Database, req *abi.LedgerReadRequest, sql string, scope ...abi.SQLParam) (*abi.RowsReply, error) {
	if len(req.Cursor) > 0 {
		return nil, &abi.Error{Code: abi.CodeInvalid, Message: "the last entries have no cursor that they come behind"}
	}
	rows, size := min(req.Last, tailRows), uint64(tailBytes)
	if req.Limit > 0 {
		rows = min(rows, req.Limit)
	}
	if req.MaxBytes > 0 {
		size = min(size, req.MaxBytes)
	}
	step := alineo.Keep(sql, append(scope, alineo.Int(int64(rows)), alineo.Int(int64(size)))...)
	return Page(db, step, nil, abi.RowTS, abi.RowID)
}

// Checkpoints answers with a page of checkpoints. The statement has the key, ts and id that the page is
// behind, and the limit.
func Checkpoints(db Database, req *abi.SandboxPageRequest, sql string) (*abi.RowsReply, error) {
	ts, id, err := ParseCursor(req.Cursor)
	if err != nil {
		return nil, err
	}
	limit, oneMore := Limit(req.Limit)
	step := alineo.Keep(sql, append(Key(req.Key), alineo.Int(ts), alineo.Int(id), oneMore)...).Limit(limit, req.MaxBytes)
	return Page(db, step, req.Cursor, abi.CheckpointCreated, abi.CheckpointID)
}

// All answers with every row of a query, as far as the host keeps them.
func All(db Database, sql string, params ...abi.SQLParam) (*abi.RowsReply, error) {
	done, err := db.Read(alineo.Keep(sql, params...))
	if err != nil {
		return nil, err
	}
	return &abi.RowsReply{Rows: done.Steps[0].Handle, More: done.Steps[0].More}, nil
}

// One returns the only value of a query, null when it has no row.
func One(db Database, sql string, params ...abi.SQLParam) (abi.Value, error) {
	var value abi.Value
	_, err := Row(db, sql, params, &value)
	return value, err
}

// Row reads the first row of a query, and returns false when there is none.
func Row(db Database, sql string, params []abi.SQLParam, into ...*abi.Value) (bool, error) {
	done, err := db.Read(alineo.Query(sql, params...))
	if err != nil {
		return false, err
	}
	return alineo.FirstRow(done.Steps[0].Rows, into...)
}

// About names the part of a batch that the failing row was: abi.DetailSegment or abi.DetailEntry.
func About(err *abi.Error, part string) *abi.Error {
	row, ok := err.Details[abi.DetailRow]
	if !ok {
		return err
	}
	return &abi.Error{
		Code: err.Code, Message: err.Message, Retryable: err.Retryable, Details: map[string]string{part: row},
	}
}
