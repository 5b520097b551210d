//go:build unix

package execd

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

// tap reads what an interpreter writes to one of its streams, as long as the
// interpreter lives, and hands it to whoever wants it at the time. Safe for
// concurrent use.
type tap struct {
	read *os.File
	done chan struct{} // the pipe is closed and everything has been handed on
	sync chan chan struct{}

	mu   sync.Mutex
	sink func([]byte) // nil: what comes now is nobody's
}

// newTap makes a tap and the end that the interpreter writes to.
func newTap() (t *tap, write *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("making an output pipe: %w", err)
	}
	t = &tap{read: r, done: make(chan struct{}), sync: make(chan chan struct{}, 16)}
	go t.loop()
	return t, w, nil
}

func (t *tap) loop() {
	defer close(t.done)
	buf := make([]byte, bufferSize/2)
	for {
		n, err := t.read.Read(buf)
		if n > 0 {
			t.give(buf[:n])
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			// Who asks is in the channel before the deadline is set, and drain
			// takes the deadline away before it looks.
			if !drain(t.read, buf, t.give) {
				return
			}
			for more := true; more; {
				select {
				case answered := <-t.sync:
					close(answered)
				default:
					more = false
				}
			}
			continue
		}
		if err != nil {
			return
		}
	}
}

func (t *tap) give(b []byte) {
	t.mu.Lock()
	sink := t.sink
	t.mu.Unlock()
	if sink != nil {
		sink(b)
	}
}

// to hands what comes from now on to sink.
func (t *tap) to(sink func([]byte)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sink = sink
}

// flush returns when everything that is in the pipe now has been handed on.
func (t *tap) flush() {
	answered := make(chan struct{})
	select {
	case t.sync <- answered:
	case <-t.done:
		return
	}
	_ = t.read.SetReadDeadline(time.Unix(1, 0))
	select {
	case <-answered:
	case <-t.done:
	}
}

// close ends the tap, also if somebody could still write to it.
func (t *tap) close() {
	t.to(nil)
	_ = t.read.Close()
	<-t.done
}

// chunks words a stream's bytes as events as they come, not by lines: the
// events' texts one after the other are what was written. Only a character is
// never cut. It is not safe for concurrent use.
type chunks struct {
	prefix string
	stream *eventStream
	part   []byte // the beginning of a character
	out    []byte
}

func newChunks(kind string, stream *eventStream) *chunks {
	return &chunks{prefix: `{"type":"` + kind + `","text":"`, stream: stream}
}

func (c *chunks) take(b []byte) {
	if len(c.part) > 0 {
		b = append(c.part, b...)
		c.part = nil
	}
	n := unfinished(b)
	c.send(b[:len(b)-n])
	c.part = append([]byte(nil), b[len(b)-n:]...)
}

func (c *chunks) end() {
	c.send(c.part)
	c.part = nil
}

func (c *chunks) send(b []byte) {
	if len(b) == 0 {
		return
	}
	c.out = append(c.out[:0], c.prefix...)
	c.out = appendText(c.out, b)
	c.out = append(c.out, `","timestamp":`...)
	c.out = strconv.AppendInt(c.out, time.Now().UnixMilli(), 10)
	c.out = append(c.out, "}\n\n"...)
	c.stream.write(bytes.NewReader(c.out))
	c.stream.flushNow()
}
