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
	stream *eventStream
	read   *os.File
	write  *os.File // given to the child
	lines  *lineEncoder
	done   chan struct{} // everything of the command's has been sent
}

func newOutput(kind, dir string, stream *eventStream) (*output, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making the pipe for %s: %w", kind, err)
	}
	return &output{stream: stream, read: r, write: w, lines: newLineEncoder(kind, dir, stream.write), done: make(chan struct{})}, nil
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
		o.lines.flush()
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

// follow reads until the pipe closes (false) or the process has ended and
// what was in the pipe then is read (true).
func (o *output) follow(buf []byte) (open bool) {
	for {
		n, err := o.read.Read(buf)
		if n > 0 {
			o.lines.encode(buf[:n])
			o.stream.flushNow()
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return drain(o.read, buf, o.lines.encode)
		}
		if err != nil {
			return false
		}
	}
}

// drain takes what is in a pipe now without waiting for more: others may go
// on writing for ever. It tells whether the pipe is still open.
func drain(f *os.File, buf []byte, take func([]byte)) (open bool) {
	_ = f.SetReadDeadline(time.Time{})
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	left := 0
	var eof bool
	read := func(fd uintptr) bool {
		var n int
		var rerr error
		for {
			n, rerr = syscall.Read(int(fd), buf[:min(len(buf), max(left, 1))])
			if !errors.Is(rerr, syscall.EINTR) {
				break
			}
		}
		switch {
		case errors.Is(rerr, syscall.EAGAIN):
			left = 0
		case rerr != nil || n == 0:
			left, eof = 0, true
		default:
			left -= n
			take(buf[:n])
		}
		return true // never wait
	}
	if err := raw.Control(func(fd uintptr) { left, err = queued(int(fd)) }); err != nil {
		return false
	}
	for first := true; first || left > 0; first = false {
		if err := raw.Read(read); err != nil {
			return false
		}
	}
	return !eof
}

// finish is called when the process has ended; it returns when what the
// process wrote has been sent.
func (o *output) finish() {
	_ = o.read.SetReadDeadline(time.Unix(1, 0)) // wakes a waiting Read
	<-o.done
}
