package credential

import "bytes"

// Flow takes the values out of text that comes in pieces, also those that are split over several. A
// piece stays back while the end of the text so far is the beginning of a value, by four bytes or
// more: until more text comes, or Flush is called. It is for one goroutine at a time.
//
// T is what belongs to a piece. Pieces come out in the order in which they came.
type Flow[T any] struct {
	r    *Redactor
	held []heldPiece[T]
	// behind are the last bytes of what came out, in which a value may begin: too few to be held back, or
	// what came before.
	behind []byte
	// done is how many bytes of what is held belong to a value that Redacted stands for already.
	done int
	// begun is how many bytes of some value came before all pieces, which Redacted stands for, and rests what
	// the pieces may go on with, as long as that is not settled.
	begun int
	rests []rest
	all   []byte // behind and what is held, while it is looked at
}

type heldPiece[T any] struct {
	item T
	text []byte
	flat []byte // text without line ends
}

// NewFlow returns a flow over what a redactor knows at each time.
func NewFlow[T any](r *Redactor) *Flow[T] { return &Flow[T]{r: r} }

// Idle reports whether Push would hand on its piece as it is, with no more than a look at it.
func (f *Flow[T]) Idle() bool { return len(f.held) == 0 && !f.r.Active() }

// Push takes a piece, which the flow keeps as long as it is held back, and hands on what need not stay
// back: each piece's item and its text without the values, and whether that differs from what came; a
// piece whose whole text belongs to a value that began before it comes with none.
//
// It returns the text of the piece itself as far as the values in it are known by now, for those who
// can't wait, and whether the piece stays back.
func (f *Flow[T]) Push(item T, text []byte, ready func(item T, text []byte, changed bool)) (now []byte, held bool) {
	f.held = append(f.held, heldPiece[T]{item, text, flat(text)})
	found, open := f.look()
	start := len(f.behind)
	for i := range len(f.held) - 1 {
		start += len(f.held[i].flat)
	}
	now = covered(text, found, start)
	f.release(found, open, ready)
	return now, len(f.held) > 0
}

// Precede takes text that came before all pieces, and came out in whatever way: a value that begins in
// it ends in them.
func (f *Flow[T]) Precede(text []byte) { f.behind = append(f.behind, flat(text)...) }

// Leave hands on what is held back, because more of the text comes in another flow, and not this again.
// What may be the beginning of a value is taken for one; its length is what Rejoin wants.
func (f *Flow[T]) Leave(ready func(item T, text []byte, changed bool)) (begun int) {
	if len(f.held) == 0 {
		return f.begun
	}
	found, open := f.look()
	switch begun = len(f.all) - open; {
	case f.begun > 0:
		_, cut := goOn(f.rests, f.all[len(f.behind):])
		begun = longest(cut) + len(f.all) - len(f.behind)
		found = []span{{-1, len(f.all)}}
	case begun > 0:
		tail := span{max(open, len(f.behind)), len(f.all)}
		for ; len(found) > 0 && found[len(found)-1].end > tail.start; found = found[:len(found)-1] {
			tail.start = min(tail.start, found[len(found)-1].start)
		}
		found = append(found, tail)
	}
	f.begun = 0
	f.release(found, len(f.all), ready)
	return begun
}

// Rejoin goes on where Leave has ended, before the first piece.
func (f *Flow[T]) Rejoin(begun int) { f.begun, f.rests = begun, nil }

// Drop forgets what is held back, because it will come again in another flow. It returns the first of
// its items, if there are any.
func (f *Flow[T]) Drop() (first T, ok bool) {
	if len(f.held) == 0 {
		return first, false
	}
	first = f.held[0].item
	clear(f.held)
	f.held, f.done = f.held[:0], 0
	return first, true
}

// Flush hands on what is held back: no more text comes.
func (f *Flow[T]) Flush(ready func(item T, text []byte, changed bool)) {
	if len(f.held) == 0 {
		return
	}
	found, _ := f.look()
	f.begun = 0
	f.release(found, len(f.all), ready)
}

// look searches what is held, with what came out just before it.
func (f *Flow[T]) look() (found []span, open int) {
	f.all = append(f.all[:0], f.behind...)
	for i := range f.held {
		f.all = append(f.all, f.held[i].flat...)
	}
	open = len(f.all)
	if p := f.r.patterns(); p != nil {
		found, open = p.scan(f.all)
	}
	if f.begun > 0 {
		if f.rests == nil {
			f.rests = f.r.patterns().rests(f.begun)
		}
		end, cut := goOn(f.rests, f.all[len(f.behind):])
		if f.done = end; len(cut) > 0 {
			open = min(open, len(f.behind))
		} else {
			f.begun = 0
		}
	}
	if f.done > 0 {
		// A value that was begun goes on here: its beginning has been written.
		end := len(f.behind) + f.done
		begun := span{-1, end}
		for len(found) > 0 && found[0].start < end {
			begun.end = max(begun.end, found[0].end)
			found = found[1:]
		}
		found = append([]span{begun}, found...)
	}
	for i := range found {
		// What came out already can't be taken back; its place is taken by the first byte that follows.
		if s := &found[i]; s.start >= 0 && s.start < len(f.behind) {
			s.start = len(f.behind)
		}
	}
	return found, open
}

// release hands on the pieces that end before open.
func (f *Flow[T]) release(found []span, open int, ready func(item T, text []byte, changed bool)) {
	at, n := len(f.behind), 0
	for ; n < len(f.held); n++ {
		piece := &f.held[n]
		end := at + len(piece.flat)
		if end > open {
			break
		}
		text := covered(piece.text, found, at)
		ready(piece.item, text, !bytes.Equal(text, piece.text))
		at = end
	}
	if n == 0 {
		return // what is behind may have the beginning of a value that ends in what is held
	}
	rest := copy(f.held, f.held[n:])
	clear(f.held[rest:])
	f.held = f.held[:rest]
	f.done = 0
	for _, s := range found {
		if s.start < at && s.end > at {
			f.done = s.end - at
		}
	}
	f.behind = append(f.behind[:0], f.all[max(0, min(at-head+1, open)):at]...)
}

// covered is cover, which is spared where nothing is to be covered.
func covered(text []byte, spans []span, at int) []byte {
	if len(spans) == 0 {
		return text
	}
	return cover(nil, text, spans, at)
}
