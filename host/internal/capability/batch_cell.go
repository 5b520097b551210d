package capability

import (
	"context"

	"github.com/alineo-labs/alineo-host/abi"
)

// batchCell is the operation batch.cell. At most MaxReadBytes of the range are returned, so that a
// guest of any size reads a cell of any size.
func (s *Set) batchCell(_ context.Context, call *Call, req, dst []byte) ([]byte, *abi.Error) {
	var m abi.BatchCell
	if err := m.Unmarshal(req); err != nil {
		return dst, malformed(abi.OpBatchCell, err)
	}
	rows, failure := call.lookup(m.Handle)
	if failure != nil {
		return dst, failure
	}
	if m.Row >= uint64(rows.Len()) || m.Column >= uint64(rows.Columns()) {
		return dst, failf(abi.CodeInvalid, "handle %d has %d rows of %d columns, and no cell at row %d, column %d",
			m.Handle, rows.Len(), rows.Columns(), m.Row, m.Column)
	}
	v := rows.Value(int(m.Row), int(m.Column))
	if v.Kind < abi.KindText {
		return dst, failf(abi.CodeInvalid, "the cell at row %d, column %d of handle %d is neither text nor json nor blob",
			m.Row, m.Column, m.Handle)
	}
	total := uint64(len(v.Bytes))
	if m.Offset > total {
		return dst, failf(abi.CodeInvalid, "offset %d is past the %d bytes of the cell at row %d, column %d of handle %d",
			m.Offset, total, m.Row, m.Column, m.Handle)
	}
	length := min(bound(m.Length, DefaultReadBytes, MaxReadBytes), total-m.Offset)
	reply := abi.BatchBytes{Data: v.Bytes[m.Offset : m.Offset+length], Total: total}
	return reply.AppendTo(dst), nil
}
