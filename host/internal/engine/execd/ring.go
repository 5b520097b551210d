package execd

// ringSize is how much output a terminal remembers.
const ringSize = 1 << 20

// ring is the end of a stream of bytes of several kinds. It grows up to
// ringSize and then forgets its beginning. It is not safe for concurrent use.
type ring struct {
	bytes, kinds []byte // as long as each other: a power of two
	start, end   int64  // offsets in the stream
}

// write appends p, which is not longer than ringSize.
func (r *ring) write(p []byte, kind byte) {
	for need := r.end - r.start + int64(len(p)); int64(len(r.bytes)) < min(need, ringSize); {
		r.grow()
	}
	mask := int64(len(r.bytes) - 1)
	for len(p) > 0 {
		at := r.end & mask
		n := copy(r.bytes[at:], p)
		for i := range r.kinds[at : at+int64(n)] {
			r.kinds[at+int64(i)] = kind
		}
		p = p[n:]
		r.end += int64(n)
	}
	r.start = max(r.start, r.end-int64(len(r.bytes)))
}

func (r *ring) grow() {
	size := max(int64(len(r.bytes))*2, 4096)
	was := *r
	r.bytes, r.kinds = make([]byte, size), make([]byte, size)
	for o := was.start; o < was.end; o++ {
		from, to := o&int64(len(was.bytes)-1), o&(size-1)
		r.bytes[to], r.kinds[to] = was.bytes[from], was.kinds[from]
	}
}

// after appends to dst what is there from an offset on.
func (r *ring) after(dst []byte, from int64) []byte {
	mask := int64(len(r.bytes) - 1)
	for from = max(from, r.start); from < r.end; {
		at := from & mask
		n := min(int64(len(r.bytes))-at, r.end-from)
		dst = append(dst, r.bytes[at:at+n]...)
		from += n
	}
	return dst
}

// next appends to dst the bytes of one kind that follow an offset, up to most
// bytes of them.
func (r *ring) next(dst []byte, from int64, most int) (out []byte, kind byte) {
	mask := int64(len(r.bytes) - 1)
	if from = max(from, r.start); from == r.end {
		return dst, 0
	}
	kind = r.kinds[from&mask]
	for n := 0; n < most && from < r.end && r.kinds[from&mask] == kind; n++ {
		dst = append(dst, r.bytes[from&mask])
		from++
	}
	return dst, kind
}
