package capability

import (
	"context"

	"github.com/alineo-labs/alineo-host/abi"
)

// The host's own bounds of one answer, bytes and rows.
const (
	DefaultReadBytes = 1 << 20
	MaxReadBytes     = 4 << 20
	MaxReadRows      = 64 << 10
	// maxCutColumn is the highest column that BatchRows.Cut can name.
	maxCutColumn = 1<<8 - 1
)

// batchRead is the operation batch.read. A page ends before the row that would pass its bytes. Only
// when that is the page's first row are cells of it cut, so that every page has a row and a cell is
// cut only when it does not fit into a page of its own row.
func (s *Set) batchRead(_ context.Context, call *Call, req, dst []byte) ([]byte, *abi.Error) {
	var m abi.BatchRead
	if err := m.Unmarshal(req); err != nil {
		return dst, malformed(abi.OpBatchRead, err)
	}
	rows, failure := call.lookup(m.Handle)
	if failure != nil {
		return dst, failure
	}
	scratch, ok := s.tables.Get().(*[]byte)
	if !ok {
		scratch = new([]byte)
	}
	defer s.tables.Put(scratch)

	total, columns := uint64(rows.Len()), rows.Columns()
	first := min(m.First, total)
	last := first + min(bound(m.MaxRows, MaxReadRows, MaxReadRows), total-first)
	budget := int(bound(m.MaxBytes, DefaultReadBytes, MaxReadBytes))
	reply := abi.BatchRows{Next: first}
	table := abi.NewTableWriter((*scratch)[:0], columns)
	if columns == 0 {
		last, reply.Next = first, total // rows without cells carry nothing
	}
	for row := first; row < last; row++ {
		size := rowSize(rows, int(row))
		if row > first && table.Size()+size > budget {
			break
		}
		if row == first && table.Size()+size > budget {
			if reply.Cut, failure = cutRow(&table, rows, row, budget); failure != nil {
				return dst, failure
			}
		} else {
			for column := range columns {
				table.Value(rows.Value(int(row), column))
			}
		}
		reply.Next = row + 1
	}
	*scratch = table.Bytes()
	reply.Table = *scratch
	return reply.AppendTo(dst), nil
}

// cutRow writes a row with null in place of the cells that do not fit and returns their names.
func cutRow(table *abi.TableWriter, rows Rows, row uint64, budget int) (cut []uint64, failure *abi.Error) {
	columns := rows.Columns()
	for column := range columns {
		v := rows.Value(int(row), column)
		// What is still to come needs a byte a cell at least.
		if sizeOf(v) > 9 && table.Size()+sizeOf(v)+columns-column-1 > budget {
			if column > maxCutColumn {
				return nil, failf(abi.CodeUnsupported, "row %d is too large for a page and has more than %d columns", row, maxCutColumn+1)
			}
			cut = append(cut, row<<8|uint64(column))
			v = abi.Null
		}
		table.Value(v)
	}
	return cut, nil
}

func rowSize(rows Rows, row int) int {
	size := 0
	for column := range rows.Columns() {
		size += sizeOf(rows.Value(row, column))
	}
	return size
}

// sizeOf returns the bytes that a value takes in a table.
func sizeOf(v abi.Value) int {
	switch v.Kind {
	case abi.KindNull:
		return 1
	case abi.KindInt, abi.KindReal:
		return 9
	case abi.KindBool:
		return 2
	default:
		return 5 + len(v.Bytes)
	}
}

// bound returns what was asked for within the host's limit; 0 asks for the default.
func bound(asked, byDefault, limit uint64) uint64 {
	if asked == 0 {
		return byDefault
	}
	return min(asked, limit)
}
