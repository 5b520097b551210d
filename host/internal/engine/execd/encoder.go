package execd

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

const (
	// maxText bounds the text of one event, as JSON: readers bound what they
	// accept too. A longer line arrives in several events.
	maxText = 90 << 20
	// keepText is how much of an unfinished line is kept in memory; what is
	// more waits in a file.
	keepText = 1 << 20
	// batch is how much of finished events is collected before it is written.
	batch = 64 << 10
)

// lineEncoder cuts a stream of bytes into lines and words each as an event:
// \n, \r\n and a lone \r end one. It takes little memory however long the
// lines are. It is not safe for concurrent use.
type lineEncoder struct {
	prefix []byte // of each event, up to the text
	suffix []byte // from the text's end on; holds the time of the batch
	out    []byte // finished events, not yet written
	held   []byte // the unfinished line, as JSON
	part   []byte // the beginning of a character at its end
	spool  *os.File
	spooled, max,
	keep int64
	skipLF bool   // the last byte was \r: a \n now belongs to it
	dir    string // for the file
	write  func(parts ...io.Reader)
}

// newLineEncoder makes an encoder of events of one kind. Events are given to
// write whole, in as many readers as it likes.
func newLineEncoder(kind, dir string, write func(parts ...io.Reader)) *lineEncoder {
	return &lineEncoder{prefix: []byte(`{"type":"` + kind + `","text":"`), max: maxText, keep: keepText, dir: dir, write: write}
}

// encode takes the next bytes of the stream. Events that they finish have
// been written when it returns.
func (l *lineEncoder) encode(p []byte) {
	l.stamp()
	for len(p) > 0 {
		if l.skipLF {
			l.skipLF = false
			if p[0] == '\n' {
				p = p[1:]
				continue
			}
		}
		i := bytes.IndexByte(p, '\n')
		until := i
		if until < 0 {
			until = len(p)
		}
		if j := bytes.IndexByte(p[:until], '\r'); j >= 0 {
			i = j
		}
		if i < 0 {
			l.hold(p)
			break
		}
		l.skipLF = p[i] == '\r'
		if l.pending() || int64(i) > l.max/6 { // a byte takes up to six
			l.hold(p[:i])
			l.line()
		} else {
			l.event(p[:i])
		}
		p = p[i+1:]
	}
	l.emit()
}

// flush writes what was not ended by a terminator.
func (l *lineEncoder) flush() {
	if l.pending() {
		l.stamp()
		l.line()
		l.emit()
	}
	l.close()
}

// close forgets what is not written.
func (l *lineEncoder) close() {
	if l.spool != nil {
		_ = l.spool.Close()
		l.spool = nil
	}
}

func (l *lineEncoder) stamp() {
	l.suffix = append(l.suffix[:0], `","timestamp":`...)
	l.suffix = strconv.AppendInt(l.suffix, time.Now().UnixMilli(), 10)
	l.suffix = append(l.suffix, "}\n\n"...)
}

func (l *lineEncoder) pending() bool { return len(l.held)+len(l.part) > 0 || l.spooled > 0 }

func (l *lineEncoder) event(line []byte) {
	l.out = append(l.out, l.prefix...)
	if len(line) == 0 {
		l.out = append(l.out, `\n`...) // the wire's empty line: an empty text would be left out
	} else {
		l.out = appendText(l.out, line)
	}
	l.out = append(l.out, l.suffix...)
	if len(l.out) >= batch {
		l.emit()
	}
}

func (l *lineEncoder) emit() {
	if len(l.out) > 0 {
		l.write(bytes.NewReader(l.out))
		l.out = l.out[:0]
	}
}

// hold keeps a part of a line that goes on, in pieces that a character is
// never cut by.
func (l *lineEncoder) hold(p []byte) {
	if len(l.part) > 0 {
		for len(p) > 0 && unfinished(l.part) > 0 {
			l.part, p = append(l.part, p[0]), p[1:]
		}
		if unfinished(l.part) > 0 {
			return
		}
		l.keepText(l.part)
		l.part = l.part[:0]
	}
	n := unfinished(p)
	l.part = append(l.part, p[len(p)-n:]...)
	for p = p[:len(p)-n]; len(p) > 0; {
		m := len(p)
		if m > batch {
			m = batch
			m -= unfinished(p[:m])
		}
		l.keepText(p[:m])
		p = p[m:]
	}
}

// keepText adds whole characters to the unfinished line.
func (l *lineEncoder) keepText(p []byte) {
	before := len(l.held)
	l.held = appendText(l.held, p)
	if size := l.spooled + int64(len(l.held)); size > l.max {
		rest := bytes.Clone(l.held[before:])
		if l.held = l.held[:before]; l.spooled+int64(before) > 0 {
			l.line()
		}
		l.held = append(l.held, rest...)
	}
	if int64(len(l.held)) > l.keep {
		l.spill()
	}
}

// spill moves what is held into the file. Where there is no room for a file,
// the line is cut here.
func (l *lineEncoder) spill() {
	if l.spool == nil {
		f, err := unlinkedFile(l.dir)
		if err != nil {
			l.line()
			return
		}
		l.spool = f
	}
	if _, err := l.spool.WriteAt(l.held, l.spooled); err != nil {
		l.line()
		return
	}
	l.spooled += int64(len(l.held))
	l.held = l.held[:0]
}

// line writes the unfinished line as it is.
func (l *lineEncoder) line() {
	l.held = appendText(l.held, l.part)
	l.part = l.part[:0]
	if l.spooled == 0 {
		l.out = append(l.out, l.prefix...)
		l.out = append(l.out, l.held...)
		l.out = append(l.out, l.suffix...)
		l.emit()
	} else {
		l.emit()
		l.write(bytes.NewReader(l.prefix), io.NewSectionReader(l.spool, 0, l.spooled), bytes.NewReader(l.held), bytes.NewReader(l.suffix))
		l.spooled = 0
		_ = l.spool.Truncate(0) // its room is only wanted back
	}
	if l.held = l.held[:0]; cap(l.held) > batch {
		l.held = nil
	}
	if cap(l.out) > 4*batch {
		l.out = nil
	}
}

// unlinkedFile makes a file that has no name and goes when it is closed.
func unlinkedFile(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".execd-*")
	if err != nil {
		return nil, fmt.Errorf("making the output file: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("making the output file: %w", err)
	}
	return f, nil
}
