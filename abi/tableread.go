package abi

// Table is a decoded table with an index: any value in any order. Values are views of the bytes
// that it was parsed from. It is safe for concurrent reading.
type Table struct {
	b             []byte
	rows, columns int
	ends          []uint32 // end of each value; the next starts there
}

// ParseTable checks a whole table and indexes it, 4 bytes a value.
func ParseTable(b []byte) (*Table, error) {
	t := new(Table)
	if err := t.Parse(b); err != nil {
		return nil, err
	}
	return t, nil
}

// Parse makes t the table in b and reuses t's index. After an error t is the empty table.
func (t *Table) Parse(b []byte) error {
	*t = Table{ends: t.ends[:0]}
	rows, columns, err := parseHeader(b)
	if err != nil {
		return err
	}
	cells := rows * columns
	if cap(t.ends) < cells {
		t.ends = make([]uint32, 0, cells)
	}
	at := TableHeader
	for range cells {
		end, reason := sizeValue(b, at)
		if reason != "" {
			return &MalformedError{Subject: "table", Offset: at, Reason: reason}
		}
		t.ends = append(t.ends, uint32(end))
		at = end
	}
	if at != len(b) {
		return &MalformedError{Subject: "table", Offset: at, Reason: "bytes after the last value"}
	}
	t.b, t.rows, t.columns = b, rows, columns
	return nil
}

// Len returns the number of rows.
func (t *Table) Len() int { return t.rows }

// Columns returns the number of columns.
func (t *Table) Columns() int { return t.columns }

// Value returns one cell, null when the table has no such row or column.
func (t *Table) Value(row, column int) Value {
	if row < 0 || row >= t.rows || column < 0 || column >= t.columns {
		return Null
	}
	i := row*t.columns + column
	at := TableHeader
	if i > 0 {
		at = int(t.ends[i-1])
	}
	return valueAt(t.b, at, int(t.ends[i]))
}

// TableReader walks a table from front to back without an index and without allocating:
//
//	r, err := abi.NewTableReader(b)
//	…
//	var row [3]abi.Value
//	for r.Next(row[:]) {
//		…
//	}
//	if err := r.Err(); err != nil {
//
// It may be used by one goroutine at a time.
type TableReader struct {
	b             []byte
	at            int
	rows, columns int
	row           int
	err           error
}

// NewTableReader checks the header; the values are checked as Next reaches them.
func NewTableReader(b []byte) (TableReader, error) {
	rows, columns, err := parseHeader(b)
	if err != nil {
		return TableReader{}, err
	}
	return TableReader{b: b, at: TableHeader, rows: rows, columns: columns}, nil
}

// Len returns the number of rows that the header promises.
func (r *TableReader) Len() int { return r.rows }

// Columns returns the number of columns.
func (r *TableReader) Columns() int { return r.columns }

// Next reads the next row into dst. Columns beyond len(dst) are passed over, and cells of dst
// beyond the table's columns become null. It returns false at the end and at an error.
func (r *TableReader) Next(dst []Value) bool {
	if r.err != nil {
		return false
	}
	if r.row == r.rows {
		if r.at != len(r.b) {
			r.fail("bytes after the last value")
		}
		return false
	}
	for c := range r.columns {
		end, reason := sizeValue(r.b, r.at)
		if reason != "" {
			r.fail(reason)
			return false
		}
		if c < len(dst) {
			dst[c] = valueAt(r.b, r.at, end)
		}
		r.at = end
	}
	for c := r.columns; c < len(dst); c++ {
		dst[c] = Null
	}
	r.row++
	return true
}

func (r *TableReader) fail(reason string) {
	r.err = &MalformedError{Subject: "table", Offset: r.at, Reason: reason}
}

// Err returns why Next stopped before the end, or nil.
func (r *TableReader) Err() error { return r.err }
