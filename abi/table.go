package abi

import "math"

const (
	// TableHeader is the size of a table's header, bytes: rows and columns, u32 little-endian each.
	TableHeader = 8
	// MaxColumns is the most columns that a table may have.
	MaxColumns = 1<<15 - 1
)

// AppendTableHeader appends the header of a table, whose rows*columns values then follow in row
// order.
func AppendTableHeader(dst []byte, rows, columns uint32) []byte {
	dst = appendU32(dst, rows)
	return appendU32(dst, columns)
}

// AppendValue appends one tagged value. Text, json and blob must be shorter than 4 GiB.
func AppendValue(dst []byte, v Value) []byte {
	switch v.Kind {
	case KindNull:
		return append(dst, 0)
	case KindInt:
		return appendU64(append(dst, byte(KindInt)), uint64(v.Int))
	case KindReal:
		return appendU64(append(dst, byte(KindReal)), math.Float64bits(v.Real))
	case KindBool:
		if v.Int != 0 {
			return append(dst, byte(KindBool), 1)
		}
		return append(dst, byte(KindBool), 0)
	default:
		dst = appendU32(append(dst, byte(v.Kind)), uint32(len(v.Bytes)))
		return append(dst, v.Bytes...)
	}
}

// ReadValue reads the value that b starts with and returns what follows it. A tag that this version
// does not know comes back as its Kind with the Bytes that it carries.
func ReadValue(b []byte) (v Value, rest []byte, err error) {
	v, n, reason := readValue(b, 0)
	if reason != "" {
		return Null, nil, &MalformedError{Subject: "Value", Reason: reason}
	}
	return v, b[n:], nil
}

// sizeValue returns where the value at b[at:] ends; reason is empty when it is whole.
func sizeValue(b []byte, at int) (end int, reason string) {
	if at >= len(b) {
		return 0, reasonShort
	}
	left := len(b) - at - 1
	n := 0
	switch Kind(b[at]) {
	case KindNull:
	case KindInt, KindReal:
		n = 8
	case KindBool:
		n = 1
		if left >= 1 && b[at+1] > 1 {
			return 0, "bool is neither 0 nor 1"
		}
	default:
		if left < 4 {
			return 0, reasonShort
		}
		size := u32(b[at+1:])
		if uint64(size) > uint64(left-4) {
			return 0, reasonShort
		}
		n = 4 + int(size)
	}
	if n > left {
		return 0, reasonShort
	}
	return at + 1 + n, ""
}

func readValue(b []byte, at int) (v Value, end int, reason string) {
	end, reason = sizeValue(b, at)
	if reason != "" {
		return Null, 0, reason
	}
	return valueAt(b, at, end), end, ""
}

// valueAt decodes the value that sizeValue measured.
func valueAt(b []byte, at, end int) Value {
	kind := Kind(b[at])
	switch kind {
	case KindNull:
		return Null
	case KindInt:
		return Value{Kind: KindInt, Int: int64(u64(b[at+1:]))}
	case KindReal:
		return Value{Kind: KindReal, Real: math.Float64frombits(u64(b[at+1:]))}
	case KindBool:
		return Value{Kind: KindBool, Int: int64(b[at+1])}
	default:
		return Value{Kind: kind, Bytes: b[at+5 : end : end]}
	}
}

// parseHeader checks a table's header against the bytes that follow it: every value takes at least
// one, so that nobody allocates for rows that cannot be there.
func parseHeader(b []byte) (rows, columns int, err error) {
	if len(b) < TableHeader {
		return 0, 0, &MalformedError{Subject: "table", Reason: "shorter than its header"}
	}
	r, c := u32(b), u32(b[4:])
	switch {
	case c > MaxColumns:
		return 0, 0, &MalformedError{Subject: "table", Offset: 4, Reason: "too many columns"}
	case c == 0 && r != 0:
		return 0, 0, &MalformedError{Subject: "table", Offset: 4, Reason: "rows without columns"}
	case uint64(r)*uint64(c) > uint64(len(b)-TableHeader):
		return 0, 0, &MalformedError{Subject: "table", Reason: "more values than bytes"}
	case uint64(len(b)) > math.MaxUint32:
		return 0, 0, &MalformedError{Subject: "table", Reason: "larger than 4 GiB"}
	}
	return int(r), int(c), nil
}

// TableWriter appends one table to a byte slice, value by value. Its zero value is of no use; start
// with NewTableWriter. It may be used by one goroutine at a time.
type TableWriter struct {
	buf     []byte
	start   int
	columns uint32
	cells   uint64
}

// NewTableWriter starts a table of that many columns (1 to MaxColumns) behind what dst holds.
func NewTableWriter(dst []byte, columns int) TableWriter {
	return TableWriter{buf: AppendTableHeader(dst, 0, uint32(columns)), start: len(dst), columns: uint32(columns)}
}

// Value appends the next value, row after row.
func (w *TableWriter) Value(v Value) {
	w.buf = AppendValue(w.buf, v)
	w.cells++
}

// Row appends the next values.
func (w *TableWriter) Row(values ...Value) {
	for i := range values {
		w.Value(values[i])
	}
}

// Size returns the bytes that the table has so far, header included.
func (w *TableWriter) Size() int { return len(w.buf) - w.start }

// Rows returns how many rows are whole.
func (w *TableWriter) Rows() int { return int(w.cells / uint64(max(w.columns, 1))) }

// Bytes completes the header and returns the slice that NewTableWriter was given, extended by the
// table. A last row that is not whole is filled up with nulls. More rows may follow; then call Bytes
// again.
func (w *TableWriter) Bytes() []byte {
	for w.columns > 0 && w.cells%uint64(w.columns) != 0 {
		w.Value(Null)
	}
	appendU32(w.buf[:w.start], uint32(w.Rows()))
	return w.buf
}

// encoding/binary does the next four, but brings reflect along, which guests should not have to carry.

func u32(b []byte) uint32 {
	_ = b[3]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

func u64(b []byte) uint64 {
	_ = b[7]
	return uint64(u32(b)) | uint64(u32(b[4:]))<<32
}

func appendU32(dst []byte, v uint32) []byte {
	return append(dst, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
}

func appendU64(dst []byte, v uint64) []byte {
	return append(dst, byte(v), byte(v>>8), byte(v>>16), byte(v>>24), byte(v>>32), byte(v>>40), byte(v>>48), byte(v>>56))
}
