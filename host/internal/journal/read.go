package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// MaxLine is the longest line that comes in one piece, in bytes. A longer one comes in pieces of this
	// length, the same ones whenever it is read.
	MaxLine = 1 << 20
	// pieceBytes is how much one poll reads.
	pieceBytes = 768 << 10
	// burstBytes is how much one line of a stream carries, before it is encoded; a multiple of 3.
	burstBytes = 48 << 10
)

// ErrGone is returned by Read when a stream broke and the next ones, too.
var ErrGone = errors.New("the journal can't be read any more")

// Line is a line of a journal.
type Line struct {
	Text []byte // with its line end; without it where a line is longer than MaxLine. Valid during the call
	End  int64  // the position behind it
}

// Read calls each with the journal's lines from a position on, as they are written, until it returns an
// error, which Read returns as it is, or ctx ends. An unfinished line waits until it is finished. It
// does not end by itself: the sentinel is a line like others, see ParseSentinel.
//
// A broken stream is opened again where it broke. When that fails several times in a row, the error
// wraps ErrGone.
func (j *Journal) Read(ctx context.Context, from int64, each func(Line) error) error {
	s := &splitter{at: from, each: each}
	if j.Strategy() == "poll" {
		return j.readByPolling(ctx, s)
	}
	failures := 0
	for {
		before := s.at
		err := j.follow(ctx, s)
		switch {
		case s.err != nil:
			return s.err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		if failures++; s.at > before || err == nil {
			failures = 0
		}
		const most = 5
		if failures >= most {
			return fmt.Errorf("%w: %w", ErrGone, err)
		}
		if err := pause(ctx, j.poll*time.Duration(failures)); err != nil {
			return err
		}
	}
}

// follow reads one stream until it ends.
func (j *Journal) follow(ctx context.Context, s *splitter) error {
	s.open = s.open[:0]
	file := quote(j.Output())
	// dd takes what there is, and base64 sees its end: nothing waits in a buffer.
	// Where tail can't be told by the kernel, it looks often.
	text := fmt.Sprintf("mkdir -p %s && : >>%s || exit 1; s=; tail -s 0.05 -c 0 /dev/null 2>/dev/null && s='-s 0.05'; tail $s -c +%d -f %s 2>/dev/null | "+
		"while b=$(dd bs=%d count=1 2>/dev/null | base64 -w0) && [ -n \"$b\" ]; do printf '%%s\\n' \"$b\"; done",
		quote(j.dir), file, s.at+1, file, burstBytes)
	return j.shell.Stream(ctx, text, func(line []byte) error {
		data, err := unwrap(line)
		if err != nil {
			return err
		}
		return s.add(data)
	})
}

func (j *Journal) readByPolling(ctx context.Context, s *splitter) error {
	failures := 0
	for {
		// An unfinished line is read again, unless it is so long that a poll brings nothing else.
		from := s.at + int64(len(s.open))
		if len(s.open) < pieceBytes/2 {
			from, s.open = s.at, s.open[:0]
		}
		data, err := j.piece(ctx, j.Output(), from, pieceBytes)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			const most = 5
			if failures++; failures >= most {
				return fmt.Errorf("%w: %w", ErrGone, err)
			}
		} else {
			failures = 0
		}
		before := s.at
		if s.add(data) != nil {
			return s.err
		}
		if s.at == before && len(data) < pieceBytes {
			if err := pause(ctx, j.poll); err != nil {
				return err
			}
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// splitter cuts bytes into lines.
type splitter struct {
	at   int64  // behind the last line that was given out
	open []byte // what follows it
	each func(Line) error
	err  error // of each
}

func (s *splitter) add(data []byte) error {
	s.open = append(s.open, data...)
	rest := s.open
	for s.err == nil {
		end := bytes.IndexByte(rest[:min(len(rest), MaxLine)], '\n') + 1
		if end == 0 && len(rest) < MaxLine {
			break
		}
		if end == 0 {
			end = MaxLine
		}
		s.at += int64(end)
		s.err = s.each(Line{Text: rest[:end], End: s.at})
		rest = rest[end:]
	}
	s.open = append(s.open[:0], rest...)
	return s.err
}
