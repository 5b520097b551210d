package sandbox

import (
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// window is how far output may run ahead of its reader, in bytes, beyond what the result keeps.
const window = 1 << 20

// spool holds one stream of an exec's output: the beginning, for the result, and beyond that what
// its reader has not read yet. Without a reader the rest is let go.
type spool struct {
	limit int // of kept, bytes

	mu       sync.Mutex
	changed  sync.Cond
	kept     strings.Builder
	ahead    []byte // what follows kept; up to taken, it was read
	taken    int
	read     int  // of kept
	attached bool // there is a reader
	hurry    bool // nobody may be waited for any more
	cut      bool // the result has not all
	lost     bool // something in the middle never came
	gap      bool // the reader can't have all
	done     bool
	err      error // of the end
}

func newSpool(limit int) *spool {
	s := &spool{limit: limit}
	s.changed.L = &s.mu
	return s
}

// write adds text. It waits for the reader when that is too far behind.
func (s *spool) write(text []byte) { s.add(text, false) }

// add is write, of a text without its line end when line is set.
func (s *spool) add(text []byte, line bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text = s.keep(text)
	var end []byte
	if line {
		end = s.keep([]byte{'\n'})
	}
	size := len(text) + len(end)
	if size == 0 {
		return
	}
	for s.attached && !s.hurry && !s.gap && s.unread() > 0 && s.unread()+size > window {
		s.changed.Wait()
	}
	if !s.attached || s.gap || s.hurry && s.unread()+size > window {
		s.gap = true
		return
	}
	if len(s.ahead)+size > cap(s.ahead) && s.taken >= s.unread() {
		s.ahead = s.ahead[:copy(s.ahead, s.ahead[s.taken:])]
		s.taken = 0
	}
	s.ahead = append(append(s.ahead, text...), end...)
	s.changed.Broadcast()
}

func (s *spool) unread() int { return len(s.ahead) - s.taken }

// keep keeps what fits of the text for the result, whole characters only, and returns the rest.
func (s *spool) keep(text []byte) []byte {
	room := s.limit - s.kept.Len()
	if s.cut {
		room = 0
	}
	n := len(text)
	if n > room {
		s.cut = true
		for n = room; n > 0 && !utf8.RuneStart(text[n]); n-- {
		}
	}
	s.kept.Write(text[:n])
	if n > 0 {
		s.changed.Broadcast()
	}
	return text[n:]
}

// miss says that something is missing that nobody can get.
func (s *spool) miss() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = true
}

// end says that no more comes. err is what the reader gets after the text, nil for io.EOF.
func (s *spool) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.done {
		s.done, s.err = true, err
		s.changed.Broadcast()
	}
}

// rush lets writers go on without their reader.
func (s *spool) rush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hurry = true
	s.changed.Broadcast()
}

// text returns what the result keeps, and whether something is missing.
func (s *spool) text() (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept.String(), s.cut || s.lost
}

// reader attaches the reader, of which there is one.
func (s *spool) reader() io.ReadCloser {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attached = true
	return (*spoolReader)(s)
}

// spoolReader is the spool as its reader sees it.
type spoolReader spool

// Read returns text from the beginning on, as it comes.
func (r *spoolReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	for {
		switch {
		case r.read < r.kept.Len():
			n := copy(p, r.kept.String()[r.read:])
			r.read += n
			return n, nil
		case r.taken < len(r.ahead):
			n := copy(p, r.ahead[r.taken:])
			r.taken += n
			r.changed.Broadcast()
			return n, nil
		case r.gap:
			return 0, ErrTruncated
		case r.done && r.err != nil:
			return 0, r.err
		case r.done:
			return 0, io.EOF
		}
		r.changed.Wait()
	}
}

// Close lets the exec go on without its reader.
func (r *spoolReader) Close() error {
	(*spool)(r).detach()
	return nil
}

func (s *spool) detach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attached, s.gap, s.ahead, s.taken = false, true, nil, 0
	s.changed.Broadcast()
}
