//go:build unix

package execd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// output carries one of a command's streams: a pipe, cut into lines, sent as
// events of one kind.
type output struct {
	kind   string
	stream *eventStream
	read   *os.File
	write  *os.File // given to the child
	cut    lineCutter
	done   chan struct{} // everything of the command's has been sent
}

func newOutput(kind string, stream *eventStream) (*output, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making the pipe for %s: %w", kind, err)
	}
	o := &output{kind: kind, stream: stream, read: r, write: w, done: make(chan struct{})}
	o.cut = lineCutter{max: maxLine, emit: o.line}
	return o, nil
}

func (o *output) line(b []byte) {
	text := "\n" // the wire's empty line: an empty text would be left out
	if len(b) > 0 {
		text = string(b)
	}
	o.stream.send(event{Type: o.kind, Text: text})
}

// abandon closes a pipe that no process got.
func (o *output) abandon() {
	_ = o.read.Close()
	_ = o.write.Close()
}

// bufferSize is what a pipe holds.
const bufferSize = 64 << 10

// buffers are shared by all outputs: each is in use only while bytes move.
var buffers = sync.Pool{New: func() any { b := make([]byte, bufferSize); return &b }}

// pump sends the stream's lines until finish is called or the pipe closes.
func (o *output) pump() {
	go func() {
		buf, ok := buffers.Get().(*[]byte)
		if !ok {
			buf = new([]byte)
			*buf = make([]byte, bufferSize)
		}
		open := o.follow(*buf)
		o.cut.flush()
		o.stream.flushNow()
		close(o.done)
		if open {
			// A child that outlived the shell still writes. Its output is
			// nobody's, but it must not die of it.
			_, _ = io.CopyBuffer(io.Discard, onlyReader{o.read}, *buf)
		}
		buffers.Put(buf)
		_ = o.read.Close()
	}()
}

// onlyReader hides what would make io.Copy take another path.
type onlyReader struct{ io.Reader }

// follow reads until the pipe closes (false) or the process has ended and the
// pipe is empty (true).
func (o *output) follow(buf []byte) (open bool) {
	for {
		n, err := o.read.Read(buf)
		if n > 0 {
			o.cut.write(buf[:n])
			o.stream.flushNow()
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return o.drain(buf)
		}
		if err != nil {
			return false
		}
	}
}

// drain takes what is in the pipe without waiting for more.
func (o *output) drain(buf []byte) (open bool) {
	_ = o.read.SetReadDeadline(time.Time{})
	raw, err := o.read.SyscallConn()
	if err != nil {
		return false
	}
	for {
		var n int
		var rerr error
		err := raw.Read(func(fd uintptr) bool {
			n, rerr = syscall.Read(int(fd), buf)
			return true // never wait
		})
		switch {
		case err != nil:
			return false
		case errors.Is(rerr, syscall.EINTR):
			continue
		case errors.Is(rerr, syscall.EAGAIN):
			return true
		case rerr != nil || n == 0:
			return false
		}
		o.cut.write(buf[:n])
	}
}

// finish is called when the process has ended; it returns when what the
// process wrote has been sent.
func (o *output) finish() {
	_ = o.read.SetReadDeadline(time.Unix(1, 0)) // wakes a waiting Read
	<-o.done
}
