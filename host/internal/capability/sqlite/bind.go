package sqlite

import (
	"bytes"
	"unsafe"

	lib "modernc.org/sqlite/lib"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
)

// keptText is the longest text that a statement of many rows keeps from run to run, bytes.
const keptText = 64

// binding is what a parameter of a statement holds, so that it need not be told what it knows: of
// most columns of a batch every row says the same. The zero value is that of a new statement.
type binding struct {
	kind    abi.Kind
	value   int64   // of KindInt; of KindText the turn of a kept text
	address uintptr // of a kept text
}

// elsewhere is the kind of a binding that holds bytes which are gone after the run.
const elsewhere = abi.Kind(255)

// kept is a text of one column that stays in C memory while the statement lives.
type kept struct {
	address uintptr
	size    int
	turn    int64 // counts the texts that were here; 0 before the first
}

// staged is where the last bytes of a column are in C memory: the same ones often come row after row,
// and are copied once.
type staged struct {
	kept    *kept // nil when the statement keeps none
	any     bool  // something was staged in this run
	from    *byte
	size    int
	address uintptr
	turn    int64 // 0 when they are not in kept
}

// stage copies bytes to where they stay until the run is over. Those of the run's first row may take
// the place of what is kept: all parameters are bound anew after them.
func (s *staged) stage(a *arena, b []byte) error {
	first := !s.any
	s.any, s.from, s.size = true, unsafe.SliceData(b), len(b)
	if k := s.kept; k != nil && len(b) > 0 && len(b) <= keptText {
		same := k.turn > 0 && bytes.Equal(bytesAt(k.address, k.size), b)
		if !same && first {
			copy(bytesAt(k.address, len(b)), b)
			k.size, same = len(b), true
			k.turn++
		}
		if same {
			s.address, s.turn = k.address, k.turn
			return nil
		}
	}
	address, err := a.put(b)
	s.address, s.turn = address, 0
	return err
}

// keep makes room for a kept text of each column of a statement of many rows. It is only for speed.
func (st *stmt) keep(c *conn, columns int) error {
	if st.kept != nil || columns == 0 {
		return nil
	}
	block, err := allocate(c.tls, columns*keptText)
	if err != nil {
		return err
	}
	st.kept = make([]kept, columns)
	for i := range st.kept {
		st.kept[i].address = block + uintptr(i*keptText)
	}
	return nil
}

// bind sets every parameter of a statement. This loop is where a batch spends its time outside of
// SQLite: nothing in it allocates, and a RowReader's cells are not copied.
func (p *program) bind(st *stmt, rows capability.Rows, row, count int) *abi.Error {
	c, sources, cells := p.conn, p.sources, p.conn.cells
	for s := range sources {
		sources[s].staged = staged{} // what was staged before is gone
		if len(st.kept) == len(sources) {
			sources[s].staged.kept = &st.kept[s]
		}
	}
	index := 0
	for r := row; r < row+count; r++ {
		if p.reader != nil {
			p.reader.ReadRow(r, cells)
		}
		for s := range sources {
			src := &sources[s]
			v := src.fixed
			switch {
			case src.column < 0:
			case p.reader != nil:
				v = &cells[src.column]
			default:
				one := rows.Value(r, src.column)
				v = &one
			}
			if rc := c.bind(st, index, v, &src.staged); rc != lib.SQLITE_OK {
				return p.translate(c.failure(rc), "while parameters were bound")
			}
			index++
		}
	}
	return nil
}

// bind sets one parameter, unless it holds the value already.
func (c *conn) bind(st *stmt, index int, v *abi.Value, s *staged) int32 {
	b, number := &st.bound[index], int32(index+1)
	switch v.Kind {
	case abi.KindNull:
		if b.kind == abi.KindNull {
			return lib.SQLITE_OK
		}
		*b = binding{}
		return lib.Xsqlite3_bind_null(c.tls, st.handle, number)
	case abi.KindInt, abi.KindBool:
		if b.kind == abi.KindInt && b.value == v.Int {
			return lib.SQLITE_OK
		}
		*b = binding{kind: abi.KindInt, value: v.Int}
		return lib.Xsqlite3_bind_int64(c.tls, st.handle, number, v.Int)
	case abi.KindReal:
		b.kind = elsewhere
		return lib.Xsqlite3_bind_double(c.tls, st.handle, number, v.Real)
	case abi.KindText, abi.KindJSON, abi.KindBlob:
	default:
		return lib.SQLITE_MISMATCH
	}
	size := len(v.Bytes)
	if size > MaxValue {
		return lib.SQLITE_TOOBIG
	}
	if !s.any || size == 0 || unsafe.SliceData(v.Bytes) != s.from || size != s.size {
		if err := s.stage(&c.arena, v.Bytes); err != nil {
			return lib.SQLITE_NOMEM
		}
	}
	// A null destructor tells SQLite that the bytes stay where they are until the run is over.
	if v.Kind == abi.KindBlob {
		b.kind = elsewhere
		return lib.Xsqlite3_bind_blob(c.tls, st.handle, number, s.address, int32(size), 0)
	}
	if s.turn == 0 {
		b.kind = elsewhere
	} else {
		now := binding{kind: abi.KindText, value: s.turn, address: s.address}
		if *b == now {
			return lib.SQLITE_OK
		}
		*b = now
	}
	return lib.Xsqlite3_bind_text(c.tls, st.handle, number, s.address, int32(size), 0)
}
