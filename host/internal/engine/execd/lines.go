package execd

import (
	"bytes"
	"unicode/utf8"
)

// maxLine bounds the memory that one unfinished line can take. A longer line
// arrives in several events.
const maxLine = 64 << 20

// keepLine is the largest line buffer that is kept for the next line.
const keepLine = 1 << 20

// lineCutter cuts a stream into lines: \n, \r\n and a lone \r end one. It is
// not safe for concurrent use.
type lineCutter struct {
	max    int
	buf    []byte // the unfinished line
	skipLF bool   // the last byte was \r: a \n now belongs to it
	emit   func(line []byte)
}

// write cuts p; lines given to emit are valid only during the call.
func (c *lineCutter) write(p []byte) {
	for len(p) > 0 {
		if c.skipLF {
			c.skipLF = false
			if p[0] == '\n' {
				p = p[1:]
				continue
			}
		}
		i := bytes.IndexByte(p, '\n')
		if j := bytes.IndexByte(p[:end(i, len(p))], '\r'); j >= 0 {
			i = j
		}
		if i < 0 {
			c.hold(p)
			return
		}
		c.skipLF = p[i] == '\r'
		if len(c.buf) == 0 && i <= c.max {
			c.emit(p[:i])
		} else {
			c.hold(p[:i])
			c.line()
		}
		p = p[i+1:]
	}
}

func end(i, n int) int {
	if i < 0 {
		return n
	}
	return i
}

// flush emits what was not ended by a terminator.
func (c *lineCutter) flush() {
	if len(c.buf) > 0 {
		c.line()
	}
}

func (c *lineCutter) line() {
	c.emit(c.buf)
	if cap(c.buf) > keepLine {
		c.buf = nil
	}
	c.buf = c.buf[:0]
}

func (c *lineCutter) hold(p []byte) {
	for len(c.buf)+len(p) > c.max {
		n := c.max - len(c.buf)
		c.buf = append(c.buf, p[:n]...)
		p = p[n:]
		rest := splitRune(c.buf)
		tail := append([]byte(nil), c.buf[len(c.buf)-rest:]...)
		c.buf = c.buf[:len(c.buf)-rest]
		c.emit(c.buf)
		c.buf = append(c.buf[:0], tail...)
	}
	c.buf = append(c.buf, p...)
}

// splitRune tells how many bytes at the end of b are the beginning of a UTF-8
// sequence that goes on.
func splitRune(b []byte) int {
	for n := 1; n < utf8.UTFMax && n < len(b); n++ {
		c := b[len(b)-n]
		if utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
