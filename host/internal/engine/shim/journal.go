package shim

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of what is remembered of an entry point's output.
const (
	journalBytes = 1 << 20
	journalLine  = 16 << 10
)

// journal remembers the last lines that an entry point wrote.
type journal struct {
	mu    sync.Mutex
	lines []journalEntry
	size  int
	part  []byte // a line without its end
}

type journalEntry struct {
	at   time.Time
	text string
}

// follow reads until nobody can write any more. It reads no faster than some
// 60 MB a second: this process is outside of the sandbox's limits.
func (j *journal) follow(r io.ReadCloser) {
	defer func() { _ = r.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		j.add(buf[:n], time.Now())
		if err != nil {
			return
		}
		if n == len(buf) {
			time.Sleep(time.Millisecond) // see above
		}
	}
}

func (j *journal) add(b []byte, at time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		take, ends := b, false
		if i >= 0 {
			take, ends = b[:i], true
			b = b[i+1:]
		} else {
			b = nil
		}
		for len(j.part)+len(take) > journalLine {
			room := journalLine - len(j.part)
			j.part = append(j.part, take[:room]...)
			take = take[room:]
			j.end(at)
		}
		j.part = append(j.part, take...)
		if ends {
			j.end(at)
		}
	}
}

// end completes a line. The caller holds mu.
func (j *journal) end(at time.Time) {
	j.lines = append(j.lines, journalEntry{at, string(j.part)})
	j.size += len(j.part) + journalOverhead
	j.part = j.part[:0]
	gone := 0
	for j.size > journalBytes {
		j.size -= len(j.lines[gone].text) + journalOverhead
		gone++
	}
	if gone > 0 {
		clear(j.lines[:gone])
		j.lines = j.lines[gone:]
	}
}

// journalOverhead is about what a line takes besides its text.
const journalOverhead = 64

// text is the last tail lines since from, each after its time.
func (j *journal) text(tail int, from time.Time) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := j.lines
	if len(j.part) > 0 {
		all = append(slices.Clip(all), journalEntry{time.Now(), string(j.part)})
	}
	all = all[max(0, len(all)-tail):]
	var out strings.Builder
	for _, e := range all {
		if !e.at.Before(from) {
			_, _ = fmt.Fprintf(&out, "%s %s\n", e.at.UTC().Format(time.RFC3339Nano), strings.ToValidUTF8(e.text, "\uFFFD")) // a builder takes everything
		}
	}
	return out.String()
}
