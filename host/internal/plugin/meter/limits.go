package meter

// unbounded is the maximum of a table or memory that declares none.
const unbounded = 1<<32 - 1

// limits reads the bounds of a table or memory.
func (r *reader) limits(what string) (low, high uint32) {
	start := r.pos
	flags := r.byte()
	if flags > 1 {
		r.failf(start, "%s with limits of kind %#x (shared or 64-bit) is not supported", what, flags)
	}
	low, high = r.u32(), unbounded
	if flags == 1 {
		high = r.u32()
	}
	if high < low {
		r.failf(start, "%s with a minimum of %d and a maximum of %d", what, low, high)
	}
	return low, high
}

// appendLimits writes bounds that always have a maximum.
func appendLimits(dst []byte, low, high uint32) []byte {
	return appendU32(appendU32(append(dst, 1), low), high)
}

// tableSection bounds all tables together: what their minimums leave over is shared out evenly.
func (w *rewriter) tableSection(r *reader, dst []byte) []byte {
	n := r.count("tables", maxTables)
	w.tables = n
	dst = appendU32(dst, n)
	type table struct {
		typ       byte
		low, high uint32
	}
	var tables [maxTables]table
	start, sum := r.pos, uint64(0)
	for i := range tables[:n] {
		t := &tables[i]
		t.typ = r.refType()
		t.low, t.high = r.limits("table")
		sum += uint64(t.low)
	}
	if r.err == nil && sum > uint64(w.opts.MaxTableEntries) {
		r.failf(start, "tables of %d elements, at most %d are allowed", sum, w.opts.MaxTableEntries)
	}
	if r.err != nil {
		return dst
	}
	spare := uint32(0)
	if n > 0 {
		spare = uint32((uint64(w.opts.MaxTableEntries) - sum) / uint64(n))
	}
	for _, t := range tables[:n] {
		dst = appendLimits(append(dst, t.typ), t.low, min(t.high, t.low+spare))
	}
	return dst
}

func (w *rewriter) memorySection(r *reader, dst []byte) []byte {
	start := r.pos
	n := r.count("memories", 1)
	w.memories = n
	dst = appendU32(dst, n)
	if n == 0 {
		return dst
	}
	low, high := r.limits("memory")
	if r.err != nil {
		return dst
	}
	if low > PageSize || high > PageSize && high != unbounded { // 4 GiB are as many pages as a page has bytes
		r.failf(start, "memory of %d to %d pages is more than 4 GiB", low, high)
		return dst
	}
	w.stats.MemoryPages = low
	if low > w.opts.MaxMemoryPages {
		r.err = &MemoryError{Pages: low, Allowed: w.opts.MaxMemoryPages}
		return dst
	}
	return appendLimits(dst, low, min(high, w.opts.MaxMemoryPages))
}
