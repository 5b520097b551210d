package credential

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"
)

// head is how many bytes of a form decide whether it is worth comparing, and the least of one at a
// text's end that is taken for its beginning.
const head = 4

// patterns finds many forms at once. A text is walked over once: the four bytes at each place are
// looked up in a small table, which few texts of others pass, and only then compared, in a sorted
// list that narrows with every byte. It is never changed.
type patterns struct {
	sorted []string
	ranges map[uint32]span // of sorted, by the first bytes
	table  [tableBits / 64]uint64
}

const tableBits = 1 << 15

// span is a part of a text, or of a list.
type span struct{ start, end int }

func newPatterns(all []string) *patterns {
	slices.Sort(all)
	p := &patterns{sorted: slices.Compact(all), ranges: make(map[uint32]span)}
	for i, form := range p.sorted {
		key := binary.LittleEndian.Uint32([]byte(form[:head]))
		at, ok := p.ranges[key]
		if !ok {
			at.start = i
		}
		at.end = i + 1
		p.ranges[key] = at
		bit := slot(key)
		p.table[bit/64] |= 1 << (bit % 64)
	}
	return p
}

// slot spreads keys over the table.
func slot(key uint32) uint32 {
	const golden, keep = 2654435769, 32 - 15
	return key * golden >> keep
}

// scan returns where forms are in a text without line ends, overlapping ones as one span, and where
// the first one begins that the text's end may have cut off, or the text's length.
func (p *patterns) scan(text []byte) (found []span, open int) {
	open = len(text)
	if len(text) < head {
		return nil, open
	}
	key := binary.LittleEndian.Uint32(text) << 8 // the fourth byte comes with the first step
	for i, c := range text[head-1:] {
		key = key>>8 | uint32(c)<<24
		bit := slot(key)
		if p.table[bit/64]&(1<<(bit%64)) == 0 {
			continue
		}
		candidates, ok := p.ranges[key]
		if !ok {
			continue
		}
		end, cut := p.longest(text, i, candidates)
		if cut {
			open = min(open, i)
		}
		if end == 0 {
			continue
		}
		if last := len(found) - 1; last >= 0 && i < found[last].end {
			found[last].end = max(found[last].end, end)
		} else {
			found = append(found, span{i, end})
		}
	}
	return found, open
}

// longest returns the end of the longest form that begins at a place, 0 for none, and whether there is
// one that the text's end cuts off.
func (p *patterns) longest(text []byte, at int, in span) (end int, cut bool) {
	for n := head; ; n++ {
		if len(p.sorted[in.start]) == n { // the shortest comes first
			end = at + n
			in.start++
		}
		if in.start == in.end {
			return end, false
		}
		if at+n == len(text) {
			return end, true
		}
		next := text[at+n]
		list := p.sorted[in.start:in.end]
		first := sort.Search(len(list), func(i int) bool { return list[i][n] >= next })
		count := sort.Search(len(list)-first, func(i int) bool { return list[first+i][n] > next })
		if count == 0 {
			return end, false
		}
		in.start += first
		in.end = in.start + count
	}
}

// has reports whether a text, line ends or not, has a form.
func (p *patterns) has(text []byte) bool {
	found, _ := p.scan(flat(text))
	return len(found) > 0
}

// replace returns a text with Redacted in place of every form, the text itself when there is none.
func (p *patterns) replace(text []byte) []byte {
	found, _ := p.scan(flat(text))
	if len(found) == 0 {
		return text
	}
	return cover(nil, text, found, 0)
}

// flat is a text without line ends.
func flat(text []byte) []byte {
	if bytes.IndexByte(text, '\n') < 0 && bytes.IndexByte(text, '\r') < 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	for _, c := range text {
		if c != '\n' && c != '\r' {
			out = append(out, c)
		}
	}
	return out
}

// cover appends a text with Redacted in place of each span. Spans count bytes that are no line ends,
// from the offset that is given at the text's beginning; one that begins before the text was written
// there.
func cover(dst, text []byte, spans []span, at int) []byte {
	for _, c := range text {
		for len(spans) > 0 && at >= spans[0].end {
			spans = spans[1:]
		}
		lineEnd := c == '\n' || c == '\r'
		inside := len(spans) > 0 && (at > spans[0].start || at == spans[0].start && !lineEnd)
		if inside && at == spans[0].start {
			dst = append(dst, Redacted...)
		}
		if !inside {
			dst = append(dst, c)
		}
		if !lineEnd {
			at++
		}
	}
	return dst
}
