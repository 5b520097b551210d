package shim

import (
	"strings"
	"testing"
	"time"
)

func TestJournal(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var j journal
	for _, s := range []string{"one\ntw", "o\n\nbad\xff\n", "open"} {
		j.add([]byte(s), at)
		at = at.Add(time.Second)
	}
	if got := j.text(4, at.Add(-2*time.Second)); !strings.HasPrefix(got, "2026-01-02T03:04:06Z two\n2026-01-02T03:04:06Z \n2026-01-02T03:04:06Z bad\uFFFD\n") {
		t.Errorf("%q", got)
	}
	if got := j.text(1, time.Time{}); !strings.HasSuffix(got, " open\n") || strings.Count(got, "\n") != 1 {
		t.Errorf("the last line: %q", got)
	}
	// Endless output, with and without ends of lines, keeps within bounds.
	long := []byte(strings.Repeat("x", 100_000))
	for range 100 {
		j.add(long, at)
		j.add([]byte("a\nb\nc\n"), at)
	}
	if j.size > journalBytes || len(j.part) > journalLine || len(j.text(10_000, time.Time{})) > 2*journalBytes {
		t.Errorf("%d bytes, %d in the last line", j.size, len(j.part))
	}
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte("a\nb"), 2)
	f.Fuzz(func(t *testing.T, b []byte, tail int) {
		var j journal
		j.add(b, time.Now())
		j.add(b, time.Now())
		tail = max(1, min(tail, 10_000))
		if n := strings.Count(j.text(tail, time.Time{}), "\n"); n > tail {
			t.Errorf("%d lines of %d", n, tail)
		}
	})
}
