package meter

import (
	"fmt"
	"unicode/utf8"
)

// reader decodes a range of a module. The first failure sticks: from then on every method returns
// zero values, so that a decoder checks the error once a loop, not once a read.
type reader struct {
	b   []byte // the whole module, so that positions are offsets in it
	pos int
	end int
	err error
}

// failf records the first failure, at an offset.
func (r *reader) failf(at int, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("offset %#x: "+format, append([]any{at}, args...)...)
	}
}

// more says whether there is something left to read.
func (r *reader) more() bool { return r.err == nil && r.pos < r.end }

func (r *reader) byte() byte {
	if r.err != nil || r.pos >= r.end {
		r.failf(r.pos, "unexpected end")
		return 0
	}
	r.pos++
	return r.b[r.pos-1]
}

// bytes returns the next n bytes as a view.
func (r *reader) bytes(n int) []byte {
	if r.err != nil || n < 0 || n > r.end-r.pos {
		r.failf(r.pos, "unexpected end: %d bytes wanted, %d left", n, r.end-r.pos)
		return nil
	}
	r.pos += n
	return r.b[r.pos-n : r.pos]
}

// sub takes the next n bytes as a reader of their own.
func (r *reader) sub(n uint32) reader {
	start := r.pos
	if r.bytes(int(n)); r.err != nil {
		return reader{b: r.b, pos: start, end: start, err: r.err}
	}
	return reader{b: r.b, pos: start, end: r.pos}
}

// join takes over the failure of a reader made by sub, and insists that it was read to its end.
func (r *reader) join(s *reader, what string) {
	if s.err == nil && s.pos != s.end {
		s.failf(s.pos, "%d bytes after the end of the %s", s.end-s.pos, what)
	}
	if r.err == nil {
		r.err = s.err
	}
}

// u32 reads an unsigned LEB128 number.
func (r *reader) u32() uint32 {
	start := r.pos
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		v |= uint64(c&0x7f) << shift
		if c&0x80 == 0 {
			if v > 1<<32-1 {
				break
			}
			return uint32(v)
		}
	}
	r.failf(start, "number does not fit into 32 bits")
	return 0
}

// signed reads a signed LEB128 number of the given size in bits.
func (r *reader) signed(size int) int64 {
	start := r.pos
	var v int64
	for shift := 0; shift < size; shift += 7 {
		c := r.byte()
		v |= int64(c&0x7f) << shift
		if c&0x80 != 0 {
			continue
		}
		if used := shift + 7; used < 64 {
			v = v << (64 - used) >> (64 - used)
		} else if top := c & 0x7f; top != 0 && top != 0x7f {
			break // the tenth byte of 64 bits holds the sign and nothing else
		}
		if size < 64 && (v < -1<<(size-1) || v > 1<<(size-1)-1) {
			break
		}
		return v
	}
	r.failf(start, "number does not fit into %d bits", size)
	return 0
}

// count reads the length of a vector whose elements take at least one byte each, and refuses what
// cannot be there or is more than a limit.
func (r *reader) count(what string, limit uint32) uint32 {
	start := r.pos
	n := r.u32()
	if left := uint32(r.end - r.pos); n > left {
		r.failf(start, "%d %s cannot be in %d bytes", n, what, left)
		return 0
	}
	if n > limit {
		r.failf(start, "%d %s, at most %d are supported", n, what, limit)
		return 0
	}
	return n
}

// index reads an index and refuses one outside its index space.
func (r *reader) index(what string, space uint32) uint32 {
	start := r.pos
	n := r.u32()
	if n >= space {
		r.failf(start, "%s %d does not exist, the module has %d", what, n, space)
		return 0
	}
	return n
}

// name reads a length-prefixed UTF-8 string as a view.
func (r *reader) name() []byte {
	start := r.pos
	b := r.bytes(int(r.u32()))
	if !utf8.Valid(b) {
		r.failf(start, "name is not UTF-8")
		return nil
	}
	return b
}

// zero reads a byte that must be 0.
func (r *reader) zero(what string) {
	start := r.pos
	if c := r.byte(); c != 0 {
		r.failf(start, "%s %#x is not supported", what, c)
	}
}

func appendU32(dst []byte, v uint32) []byte {
	for v >= 0x80 {
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v))
}

func appendSigned(dst []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(dst, c)
		}
		dst = append(dst, c|0x80)
	}
}

func appendName(dst, name []byte) []byte {
	return append(appendU32(dst, uint32(len(name))), name...)
}
