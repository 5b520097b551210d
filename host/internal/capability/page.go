package capability

import (
	"math"
	"slices"
	"sync"

	"github.com/alineo-labs/alineo-host/abi"
)

// Page is a result that stays on the host: the bytes of all its cells in one buffer and an index of
// 16 bytes a cell, so that a page of any size is two allocations for the garbage collector to know.
// Cells are appended row after row. It may be written by one goroutine, and read by many once nobody
// writes; values are views of its buffer and die with the next Reset.
type Page struct {
	columns int
	cells   []cell
	data    []byte
	wire    int64
	home    *sync.Pool // that Recycle puts it into, or nil
}

// What a page has room for to begin with.
const (
	firstCells = 16
	firstData  = 256 // bytes
)

// cell holds a number, or where a text, json or blob lies in the page's buffer.
type cell struct {
	bits uint64 // the integer, the real's bits, or the offset
	size uint32 // bytes
	kind abi.Kind
}

// NewPage returns an empty page.
func NewPage(columns int) *Page {
	return &Page{columns: columns}
}

// maxRecycled is the most memory of a page that is used again, bytes.
const maxRecycled = 4 << 20

// PageFrom returns an empty page with the memory of one that came back, if there is one in pool, which
// holds pages only.
func PageFrom(pool *sync.Pool) *Page {
	p, ok := pool.Get().(*Page)
	if !ok {
		p = new(Page)
	}
	p.home = pool
	return p
}

// Recycle gives the page back to where PageFrom took it, if it did. Nobody may hold the page, a handle
// of it or a view of its values any more. Not calling it is not wrong.
func (p *Page) Recycle() {
	if home := p.home; home != nil && p.Memory() <= maxRecycled {
		p.home = nil
		p.Reset(0)
		home.Put(p)
	}
}

// Reset empties the page and keeps its memory.
func (p *Page) Reset(columns int) {
	p.columns, p.cells, p.data, p.wire = columns, p.cells[:0], p.data[:0], 0
}

// Len returns the number of whole rows.
func (p *Page) Len() int {
	if p.columns == 0 {
		return 0
	}
	return len(p.cells) / p.columns
}

// Columns returns the number of columns.
func (p *Page) Columns() int { return p.columns }

// Value returns one cell.
func (p *Page) Value(row, column int) abi.Value {
	c := &p.cells[row*p.columns+column]
	switch c.kind {
	case abi.KindNull:
		return abi.Null
	case abi.KindInt, abi.KindBool:
		return abi.Value{Kind: c.kind, Int: int64(c.bits)}
	case abi.KindReal:
		return abi.Value{Kind: c.kind, Real: math.Float64frombits(c.bits)}
	default:
		end := c.bits + uint64(c.size)
		return abi.Value{Kind: c.kind, Bytes: p.data[c.bits:end:end]}
	}
}

// Number returns a cell's kind, and its integer when it is one.
func (p *Page) Number(row, column int) (abi.Kind, int64) {
	c := &p.cells[row*p.columns+column]
	return c.kind, int64(c.bits)
}

// Bytes returns a cell's kind, and a view of its bytes when it has some.
func (p *Page) Bytes(row, column int) (abi.Kind, []byte) {
	c := &p.cells[row*p.columns+column]
	if c.kind < abi.KindText {
		return c.kind, nil
	}
	end := c.bits + uint64(c.size)
	return c.kind, p.data[c.bits:end:end]
}

// ReadRow implements RowReader.
func (p *Page) ReadRow(row int, dst []abi.Value) {
	for column := range dst {
		dst[column] = p.Value(row, column)
	}
}

// Memory returns the bytes that the page holds on to.
func (p *Page) Memory() int64 {
	return int64(cap(p.data)) + int64(cap(p.cells))*16
}

// WireSize returns the bytes that the page's values take in a table, without the header.
func (p *Page) WireSize() int64 { return p.wire }

// add appends a cell. Pages double: they are written once, and mostly as large as their bounds.
func (p *Page) add(c cell) {
	if len(p.cells) == cap(p.cells) {
		p.cells = slices.Grow(p.cells, max(len(p.cells), p.columns, firstCells))
	}
	p.cells = append(p.cells, c)
}

// Grow makes room for so many more rows whose texts take so many bytes together.
func (p *Page) Grow(rows, size int) {
	p.cells = slices.Grow(p.cells, rows*p.columns)
	p.data = slices.Grow(p.data, size)
}

// AppendNull appends a null.
func (p *Page) AppendNull() {
	p.add(cell{})
	p.wire++
}

// AppendInt appends an integer.
func (p *Page) AppendInt(v int64) {
	p.add(cell{kind: abi.KindInt, bits: uint64(v)})
	p.wire += 9
}

// AppendReal appends a floating-point number.
func (p *Page) AppendReal(v float64) {
	p.add(cell{kind: abi.KindReal, bits: math.Float64bits(v)})
	p.wire += 9
}

// AppendBytes appends a copy of b as text, json or blob. It must be shorter than 4 GiB.
func (p *Page) AppendBytes(kind abi.Kind, b []byte) {
	p.add(cell{kind: kind, bits: uint64(len(p.data)), size: uint32(len(b))})
	if cap(p.data)-len(p.data) < len(b) {
		p.data = slices.Grow(p.data, max(len(b), len(p.data), firstData))
	}
	p.data = append(p.data, b...)
	p.wire += 5 + int64(len(b))
}

// AppendValue appends a copy of v.
func (p *Page) AppendValue(v abi.Value) {
	switch v.Kind {
	case abi.KindNull:
		p.AppendNull()
	case abi.KindInt:
		p.AppendInt(v.Int)
	case abi.KindReal:
		p.AppendReal(v.Real)
	case abi.KindBool:
		p.add(cell{kind: abi.KindBool, bits: uint64(v.Int)})
		p.wire += 2
	default:
		p.AppendBytes(v.Kind, v.Bytes)
	}
}

// AppendTable appends the page to dst as a table.
func (p *Page) AppendTable(dst []byte) []byte {
	rows := p.Len()
	dst = abi.AppendTableHeader(dst, uint32(rows), uint32(p.columns))
	for row := range rows {
		for column := range p.columns {
			dst = abi.AppendValue(dst, p.Value(row, column))
		}
	}
	return dst
}

// AppendRow appends one row to dst as a table of one row, with null in place of every cell of more
// than maxCell bytes.
func (p *Page) AppendRow(dst []byte, row, maxCell int) []byte {
	dst = abi.AppendTableHeader(dst, 1, uint32(p.columns))
	for column := range p.columns {
		v := p.Value(row, column)
		if len(v.Bytes) > maxCell {
			v = abi.Null
		}
		dst = abi.AppendValue(dst, v)
	}
	return dst
}
