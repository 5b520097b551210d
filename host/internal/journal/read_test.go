package journal_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/journal"
)

// shellOf is a sandbox whose journal comes in pieces of a length, and breaks off after each so many.
type shellOf struct {
	content []byte
	piece   int
	breaks  int
	streams bool
}

var errBroken = errors.New("broken off")

func (s *shellOf) CanStream() bool { return s.streams }

func (s *shellOf) Exec(_ context.Context, command string) ([]byte, int, error) {
	var from, limit int
	if _, err := fmt.Sscanf(command, "tail -c +%d", &from); err != nil {
		return nil, 1, fmt.Errorf("%q: %w", command, err)
	}
	if _, err := fmt.Sscanf(command[strings.Index(command, "head -c")+8:], "%d", &limit); err != nil {
		return nil, 1, fmt.Errorf("%q: %w", command, err)
	}
	rest := s.content[min(from-1, len(s.content)):]
	rest = rest[:min(len(rest), limit, s.piece)]
	text := base64.StdEncoding.EncodeToString(rest)
	var wrapped strings.Builder
	for len(text) > 76 {
		wrapped.WriteString(text[:76] + "\n")
		text = text[76:]
	}
	return []byte(wrapped.String() + text + "\n"), 0, nil
}

func (s *shellOf) Stream(ctx context.Context, command string, line func([]byte) error) error {
	var from int
	at := strings.Index(command, "-c +")
	if _, err := fmt.Sscanf(command[at:], "-c +%d", &from); err != nil {
		return fmt.Errorf("%q: %w", command, err)
	}
	rest := s.content[min(from-1, len(s.content)):]
	for n := 0; len(rest) > 0; n++ {
		if n == s.breaks {
			return errBroken
		}
		piece := rest[:min(len(rest), s.piece)]
		rest = rest[len(piece):]
		if err := line([]byte(base64.StdEncoding.EncodeToString(piece))); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// FuzzRead holds that a journal comes line by line and byte for byte, in whatever pieces it arrives and
// wherever the connection breaks.
func FuzzRead(f *testing.F) {
	f.Add([]byte("one\ntwo\r\n\n\xff\xfe\nlast"), uint8(3), uint8(2), true)
	f.Add([]byte("one\ntwo\n"), uint8(1), uint8(4), false)
	f.Add([]byte{}, uint8(1), uint8(1), true)
	f.Fuzz(func(t *testing.T, content []byte, piece, breaks uint8, streams bool) {
		whole := slices.Concat(content, []byte("\nend\n"))
		// A stream that never brings a whole line makes no progress, and Read gives up: not what is looked at.
		longest := 0
		for line := range bytes.Lines(whole) {
			longest = max(longest, len(line))
		}
		size := int(piece) + 1
		s := &shellOf{content: whole, piece: size, breaks: longest/size + 2 + int(breaks), streams: streams}
		if !streams {
			s.piece = max(size, longest)
		}
		j, err := journal.New(s, "/d", "run", nonce, func(j *journal.Journal) {
			if !streams {
				journal.Polling(time.Microsecond)(j)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		done := errors.New("done")
		err = j.Read(t.Context(), 0, func(line journal.Line) error {
			got = append(got, line.Text...)
			if !bytes.HasSuffix(line.Text, []byte("\n")) || bytes.Count(line.Text, []byte("\n")) != 1 || line.End != int64(len(got)) {
				t.Fatalf("a line is %q, behind it is %d", line.Text, line.End)
			}
			if len(got) == len(whole) {
				return done
			}
			return nil
		})
		if !errors.Is(err, done) || !bytes.Equal(got, whole) {
			t.Fatalf("%q came as %q: %v", whole, got, err)
		}
	})
}

func TestReadGivesUp(t *testing.T) {
	t.Parallel()
	s := &shellOf{content: []byte("a line that never ends"), piece: 1, breaks: 0, streams: true}
	j, err := journal.New(s, "/d", "run", nonce, func(j *journal.Journal) { journal.Polling(time.Microsecond)(j) })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := j.Read(ctx, 0, func(journal.Line) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an unfinished line: %v", err)
	}
	s.streams = true
	follow, err := journal.New(s, "/d", "run", nonce)
	if err != nil {
		t.Fatal(err)
	}
	if err := follow.Read(t.Context(), 0, func(journal.Line) error { return nil }); !errors.Is(err, journal.ErrGone) {
		t.Errorf("a stream that always breaks: %v", err)
	}
}
