package opensandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// EventReader reads the events of one command from a stream: JSON objects on lines of their own,
// with or without "data:" in front. It is used by one goroutine at a time.
type EventReader struct {
	lines lineReader
	frame Frame
	ends  streamEnd
	over  bool  // the terminal event came, and the stream goes on
	end   error // what Next returns from now on
}

// streamEnd is what ends a stream in good order.
type streamEnd uint8

const (
	// endsAtTerminal is for commands: the first terminal event is the last event that matters.
	endsAtTerminal streamEnd = iota
	// endsAtClose is for code: results and errors may follow each other and the terminal event.
	endsAtClose
)

// errTailOver ends the wait for a server that does not close a stream after its terminal event.
var errTailOver = errors.New("the stream went on after its end")

// NewEventReader reads events from src. maxLine is the size in bytes of the longest event that is
// accepted; 0 is DefaultMaxLine.
func NewEventReader(src io.Reader, maxLine int) *EventReader {
	if maxLine <= 0 {
		maxLine = DefaultMaxLine
	}
	return &EventReader{lines: lineReader{src: src, max: maxLine}}
}

// Next returns the next event, which is valid until the call after. It returns io.EOF after the
// terminal event, without reading on; the server's own failure as *Error; and ErrStreamLost when
// the stream ends, breaks or turns to garbage before the terminal event. The error stays.
func (r *EventReader) Next() (*Frame, error) {
	if r.end != nil {
		return nil, r.end
	}
	for {
		line, readErr := r.lines.next()
		if line = eventData(line); line != nil {
			if err := r.parse(line); err == nil {
				return &r.frame, nil
			} else if readErr == nil {
				// A line that a server finished and that is no event: what comes after it can't be
				// trusted to be the rest of the same stream.
				r.end = fmt.Errorf("%w: the server sent a line that is %w: %q", ErrStreamLost, err, excerpt(line))
				return nil, r.end
			}
		}
		switch {
		case readErr == nil:
		case r.over && (readErr == io.EOF || errors.Is(readErr, errTailOver)): //nolint:errorlint // only a bare one is a close in good order
			r.end = io.EOF
			return nil, r.end
		case errors.Is(readErr, io.EOF):
			r.end = fmt.Errorf("%w: it ended before the command did: %w", ErrStreamLost, io.ErrUnexpectedEOF)
			return nil, r.end
		default:
			r.end = fmt.Errorf("%w: %w", ErrStreamLost, readErr)
			return nil, r.end
		}
	}
}

func (r *EventReader) parse(line []byte) error {
	if !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, []byte("\ufffd"))
	}
	if err := parseFrame(line, &r.frame); err != nil {
		return err
	}
	switch {
	case r.frame.Failure != nil:
		r.end = r.frame.Failure
	case !r.frame.Terminal():
	case r.ends == endsAtTerminal:
		r.end = io.EOF
	default:
		r.over = true
	}
	return nil
}

// eventData returns the event on a line, or nil when there is none: blank lines separate events,
// and a server that speaks real server-sent events adds fields of its own.
func eventData(line []byte) []byte {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] == '{' {
		return nonEmpty(line)
	}
	if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		return nonEmpty(bytes.TrimSpace(data))
	}
	for _, field := range [...]string{":", "event:", "id:", "retry:"} {
		if bytes.HasPrefix(line, []byte(field)) {
			return nil
		}
	}
	return line
}

func nonEmpty(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

func excerpt(line []byte) []byte {
	const most = 80
	if len(line) > most {
		return line[:most]
	}
	return line
}

const (
	firstBuffer = 64 << 10
	// A buffer that one huge line needed is given back after it.
	keptBuffer = 1 << 20
)

// lineReader cuts a stream at line feeds, and nowhere else.
type lineReader struct {
	src  io.Reader
	max  int
	buf  []byte
	from int // where the unread part of buf begins
	to   int // where it ends
	err  error
}

// next returns the next line without its end, as a view that lives until the next call. With an
// error it returns what came after the last line feed, perhaps nothing; the error stays.
func (r *lineReader) next() ([]byte, error) {
	if len(r.buf) > keptBuffer && r.to-r.from <= firstBuffer {
		small := make([]byte, firstBuffer)
		r.to = copy(small, r.buf[r.from:r.to])
		r.from, r.buf = 0, small
	}
	searched := r.from
	for {
		if i := bytes.IndexByte(r.buf[searched:r.to], '\n'); i >= 0 {
			line := r.buf[r.from : searched+i]
			r.from = searched + i + 1
			if len(line) > r.max {
				return r.tooLong()
			}
			return line, nil
		}
		searched = r.to
		if r.to-r.from > r.max {
			return r.tooLong()
		}
		if r.err != nil {
			rest := r.buf[r.from:r.to]
			r.from = r.to
			return rest, r.err
		}
		searched -= r.makeRoom()
		r.fill()
	}
}

func (r *lineReader) tooLong() ([]byte, error) {
	r.err = fmt.Errorf("%w: more than %d bytes", ErrLineTooLong, r.max)
	r.from = r.to
	return nil, r.err
}

// makeRoom moves or grows the buffer when it is full at its end, and returns by how much the
// unread part moved.
func (r *lineReader) makeRoom() int {
	if r.to < len(r.buf) {
		return 0
	}
	moved := r.from
	unread := r.buf[r.from:r.to]
	if len(unread) >= len(r.buf)/2 {
		grown := make([]byte, max(firstBuffer, 2*len(r.buf)))
		copy(grown, unread)
		r.buf = grown
	} else {
		copy(r.buf, unread)
	}
	r.from, r.to = 0, len(unread)
	return moved
}

func (r *lineReader) fill() {
	const tries = 100
	for range tries {
		n, err := r.src.Read(r.buf[r.to:])
		r.to += n
		r.err = err
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}
