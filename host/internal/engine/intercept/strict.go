package intercept

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"
)

// strict passes a stream of HTTP/1 requests on, as long as they can be read in one way only. A head is
// passed on once it has been judged as a whole.
type strict struct {
	from    io.Reader
	refused func(reason string)

	state state
	left  int64  // of a body or chunk
	raw   []byte // read and not judged
	seen  int    // of raw, in which there is no end of a head
	ready []byte // judged and not passed on
	err   error  // for good

	open atomic.Bool // the connection is no HTTP any more
}

// state is what comes next.
type state int

const (
	inHead state = iota
	inBody
	inChunkSize
	inChunk
	afterChunk
	inTrailer
)

// malformed is an end that the peer's bytes brought about.
type malformed struct{ reason string }

func (m malformed) Error() string { return "refused: " + m.reason }

func (s *strict) Read(p []byte) (int, error) {
	for {
		if len(s.ready) > 0 {
			n := copy(p, s.ready)
			s.ready = s.ready[n:]
			return n, nil
		}
		if s.err != nil {
			return 0, s.err
		}
		if s.open.Load() {
			if len(s.raw) > 0 {
				s.ready, s.raw = s.raw, nil
				continue
			}
			return s.from.Read(p) //nolint:wrapcheck // it stands for it
		}
		if len(s.raw) == 0 && (s.state == inBody || s.state == inChunk) {
			n, err := s.from.Read(p[:min(int64(len(p)), s.left)])
			s.took(int64(n))
			return n, err //nolint:wrapcheck // it stands for it
		}
		more, err := s.judge()
		if err != nil {
			s.err = malformed{err.Error()}
			s.refused(err.Error())
			return 0, s.err
		}
		if !more {
			continue
		}
		if n, err := s.fill(); n == 0 && err != nil {
			return 0, err
		}
	}
}

// fill reads once. A fault, a deadline perhaps, is passed on and leaves all as it was.
func (s *strict) fill() (int, error) {
	buf := make([]byte, 4<<10)
	n, err := s.from.Read(buf)
	s.raw = append(s.raw, buf[:n]...)
	if errors.Is(err, io.EOF) && n == 0 && (len(s.raw) > 0 || s.state != inHead) {
		err = io.ErrUnexpectedEOF
	}
	return n, err //nolint:wrapcheck // it stands for it
}

// took notes that so much of a body was passed on.
func (s *strict) took(n int64) {
	if s.left -= n; s.left > 0 {
		return
	}
	if s.state == inChunk {
		s.state = afterChunk
	} else {
		s.state = inHead
	}
}

// pass moves the first n bytes on.
func (s *strict) pass(n int) {
	s.ready, s.raw = s.raw[:n:n], s.raw[n:]
}

// judge looks at what was read. more tells that it needs to see more.
func (s *strict) judge() (more bool, err error) {
	if s.state == inHead {
		return s.judgeHead()
	}
	if s.state == inBody || s.state == inChunk {
		n := min(int64(len(s.raw)), s.left)
		s.pass(int(n))
		s.took(n)
		return n == 0, nil
	}
	line, rest, ok := bytes.Cut(s.raw, []byte("\r\n"))
	switch {
	case bytes.IndexByte(line, '\n') >= 0:
		return false, errors.New("a chunk's line ends in a bare line feed")
	case !ok && len(s.raw) > 32:
		return false, errors.New("a chunk's line is too long")
	case !ok:
		return true, nil
	}
	switch {
	case s.state == afterChunk && len(line) > 0:
		return false, errors.New("a chunk is longer than it says")
	case s.state == afterChunk:
		s.state = inChunkSize
	case s.state == inTrailer && len(line) > 0:
		return false, errTrailers
	case s.state == inTrailer:
		s.state = inHead
	default:
		if s.left, err = parseChunkSize(line); err != nil {
			return false, err
		}
		if s.state = inChunk; s.left == 0 {
			s.state = inTrailer
		}
	}
	s.pass(len(s.raw) - len(rest))
	return false, nil
}

func (s *strict) judgeHead() (more bool, err error) {
	end, err := headEnd(s.raw, s.seen)
	if err != nil {
		return false, err
	}
	if s.seen = len(s.raw); end == 0 {
		return true, nil
	}
	s.seen = 0
	f, err := readHead(s.raw[:end])
	if err != nil {
		return false, err
	}
	switch {
	case f.chunked:
		s.state = inChunkSize
	case f.length > 0:
		s.state, s.left = inBody, f.length
	}
	s.pass(end)
	return false, nil
}

// release lets everything through from now on: the connection has become something else.
func (s *strict) release() { s.open.Store(true) }
