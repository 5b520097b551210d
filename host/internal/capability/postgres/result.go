package postgres

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

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
	st       *stmt // nil when the connection does not know it
}

// few is how many rows a result has before it is taken to be as long as the one before it.
const few = 32

// expect makes room for a result that goes on as the one before it.
func (r *result) expect() {
	if r.st == nil || r.st.rows <= few {
		return
	}
	r.page.Grow(min(r.st.rows, r.maxRows)-few, r.st.size)
}

// newResult applies the host's bounds to those of a step.
func newResult(step *abi.SQLStep) result {
	r := result{place: step.Result}
	switch step.Result {
	case abi.ResultInline:
		r.maxBytes = int64(clamp(step.MaxBytes, DefaultInlineBytes, MaxInlineBytes))
	case abi.ResultHandle:
		r.maxBytes = int64(clamp(step.MaxBytes, MaxHandleBytes, MaxHandleBytes))
	default:
		return r
	}
	r.page = new(capability.Page)
	r.maxRows = int(clamp(step.MaxRows, MaxRows, MaxRows))
	return r
}

func clamp(asked, byDefault, most uint64) uint64 {
	if asked == 0 {
		return byDefault
	}
	return min(asked, most)
}

// add copies a row.
func (r *result) add(fields []pgconn.FieldDescription, cells [][]byte) {
	for i := range fields {
		if cells[i] == nil {
			r.page.AppendNull()
			continue
		}
		appendCell(r.page, fields[i].DataTypeOID, fields[i].Format, cells[i])
	}
	n := r.page.Len()
	if n == few {
		r.expect()
	}
	r.full = n >= r.maxRows || r.page.WireSize() > r.maxBytes
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

// resultFormat is how a column of a type is asked for.
func resultFormat(oid uint32) int16 {
	switch oid {
	case oidInt8, oidInt4, oidInt2, oidOID, oidBool, oidFloat4, oidFloat8, oidBytea, oidJSONB,
		oidText, oidVarchar, oidName, oidBPChar, oidJSON:
		return binaryForm
	default:
		return textForm
	}
}

// appendCell appends a cell that is not null in the kind that its type has. Types that the ABI
// doesn't know are text, as PostgreSQL writes them.
func appendCell(page *capability.Page, oid uint32, format int16, b []byte) {
	switch oid {
	case oidInt8, oidInt4, oidInt2, oidOID:
		if n, ok := readInt(oid, format, b); ok {
			page.AppendInt(n)
			return
		}
	case oidBool:
		page.AppendValue(abi.Bool(len(b) == 1 && (b[0] == 1 || b[0] == 't')))
		return
	case oidFloat4, oidFloat8:
		if x, ok := readReal(format, b); ok {
			page.AppendReal(x)
			return
		}
	case oidBytea:
		if format == textForm && len(b) >= 2 && b[0] == '\\' && b[1] == 'x' {
			if raw, err := hex.DecodeString(string(b[2:])); err == nil {
				b = raw
			}
		}
		page.AppendBytes(abi.KindBlob, b)
		return
	case oidJSONB:
		if format == binaryForm && len(b) > 0 {
			b = b[1:] // the version of the form
		}
		page.AppendBytes(abi.KindJSON, unescapeNUL(b))
		return
	case oidJSON:
		page.AppendBytes(abi.KindJSON, unescapeNUL(b))
		return
	}
	page.AppendBytes(abi.KindText, b)
}

func readInt(oid uint32, format int16, b []byte) (int64, bool) {
	if format == textForm {
		n, err := strconv.ParseInt(string(b), 10, 64)
		return n, err == nil
	}
	switch len(b) {
	case 8:
		return int64(binary.BigEndian.Uint64(b)), true
	case 4:
		if oid == oidOID {
			return int64(binary.BigEndian.Uint32(b)), true
		}
		return int64(int32(binary.BigEndian.Uint32(b))), true
	case 2:
		return int64(int16(binary.BigEndian.Uint16(b))), true
	default:
		return 0, false
	}
}

func readReal(format int16, b []byte) (float64, bool) {
	if format == textForm {
		x, err := strconv.ParseFloat(string(b), 64)
		return x, err == nil
	}
	switch len(b) {
	case 8:
		return math.Float64frombits(binary.BigEndian.Uint64(b)), true
	case 4:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b))), true
	default:
		return 0, false
	}
}
