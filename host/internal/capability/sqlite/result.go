package sqlite

import (
	"fmt"
	"sync"

	lib "modernc.org/sqlite/lib"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
)

// result collects the rows of one step.
type result struct {
	place    abi.SQLResult
	page     *capability.Page // nil when no rows are kept
	maxRows  int
	maxBytes int64
	full     bool // a bound was reached
	more     bool // and there was another row
	affected uint64
}

// newResult applies the host's bounds to those of a step. Pages come from pages.
func newResult(step *abi.SQLStep, pages *sync.Pool) result {
	r := result{place: step.Result}
	switch step.Result {
	case abi.ResultInline:
		r.maxBytes = int64(clamp(step.MaxBytes, DefaultInlineBytes, MaxInlineBytes))
	case abi.ResultHandle:
		r.maxBytes = int64(clamp(step.MaxBytes, MaxHandleBytes, MaxHandleBytes))
	default:
		return r
	}
	r.page = capability.PageFrom(pages)
	r.maxRows = int(clamp(step.MaxRows, MaxRows, MaxRows))
	return r
}

func clamp(asked, byDefault, most uint64) uint64 {
	if asked == 0 {
		return byDefault
	}
	return min(asked, most)
}

// add copies the row that a statement stands at; it returns false when SQLite ran out of memory.
func (r *result) add(c *conn, st *stmt) bool {
	if r.page.Columns() == 0 {
		r.page.Reset(st.columns)
		// Pages of one query follow each other: the next is mostly as large as the last.
		r.page.Grow(min(st.rows, r.maxRows), int(min(int64(st.bytes), r.maxBytes)))
	}
	for i := range int32(st.columns) {
		// One look for the cell, which knows its row, and then only its value.
		v := lib.Xsqlite3_column_value(c.tls, st.handle, i)
		switch lib.Xsqlite3_value_type(c.tls, v) {
		case lib.SQLITE_INTEGER:
			r.page.AppendInt(lib.Xsqlite3_value_int64(c.tls, v))
		case lib.SQLITE_FLOAT:
			r.page.AppendReal(lib.Xsqlite3_value_double(c.tls, v))
		case lib.SQLITE_TEXT:
			address := lib.Xsqlite3_value_text(c.tls, v)
			if address == 0 {
				return false
			}
			r.page.AppendBytes(abi.KindText, c.valueBytes(v, address))
		case lib.SQLITE_BLOB:
			address := lib.Xsqlite3_value_blob(c.tls, v)
			r.page.AppendBytes(abi.KindBlob, c.valueBytes(v, address))
		default:
			r.page.AppendNull()
		}
	}
	r.full = r.page.Len() >= r.maxRows || r.page.WireSize() > r.maxBytes
	return true
}

// largeRows and largeBytes are from where on a result's size is remembered.
const (
	largeRows  = 64
	largeBytes = 16 << 10
)

// remember keeps how large a statement's result was.
func (r *result) remember(st *stmt) {
	st.rows, st.bytes = 0, 0
	if r.page == nil {
		return
	}
	if rows := r.page.Len(); rows >= largeRows {
		st.rows = rows
	}
	if size := r.page.WireSize(); size >= largeBytes {
		st.bytes = int(size)
	}
}

// valueBytes views the bytes of a value; it is asked for its size after its address, as SQLite wants.
func (c *conn) valueBytes(v, address uintptr) []byte {
	n := lib.Xsqlite3_value_bytes(c.tls, v)
	if address == 0 || n <= 0 {
		return nil
	}
	return bytesAt(address, int(n))
}

// check refuses what does not fit into a reply.
func (r *result) check() *abi.Error {
	if r.place == abi.ResultInline && r.page.WireSize() > MaxInlineBytes {
		return newError(abi.CodeResourceExhausted,
			fmt.Sprintf("the rows take %d bytes, more than the %d that a reply may carry; ask for a handle", r.page.WireSize(), MaxInlineBytes))
	}
	return nil
}

// reply writes the result down; rows for a handle are kept by call.
func (r *result) reply(call *capability.Call) abi.SQLStepResult {
	out := abi.SQLStepResult{Affected: r.affected, More: r.more}
	if r.page == nil {
		return out
	}
	rows := r.page.Len()
	out.RowCount = uint64(rows)
	if r.place == abi.ResultInline {
		out.Rows = r.page.AppendTable(make([]byte, 0, abi.TableHeader+r.page.WireSize()))
		return out
	}
	out.Handle = call.Keep(r.page, r.page.Memory())
	if rows > 0 {
		out.Last = r.page.AppendRow(nil, rows-1, MaxLastCell)
	}
	return out
}
