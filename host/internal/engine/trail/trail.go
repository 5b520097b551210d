package trail

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Kind is what became of an attempt.
type Kind string

// The kinds.
const (
	// Refused: nothing went out.
	Refused Kind = "refused"
	// Withheld: it went out without a credential that its host has.
	Withheld Kind = "withheld"
	// Injected: it went out with a credential. Reason names the binding.
	Injected Kind = "injected"
)

// Bounds of a trail.
const (
	maxEntries = 200
	maxText    = 200 // bytes of each text
	lookBack   = 16  // entries among which the same again is counted
)

// Entry is one attempt, or several that were the same.
type Entry struct {
	// At is when it was seen last, and Count how often. Add sets both.
	At    time.Time
	Count int
	Kind  Kind
	// Host is a name or an address; Port is 0 when only the name was asked for.
	Host string
	Port uint16
	// Method and Path are the request's; "" where it wasn't HTTP, or couldn't be read. Path has no query.
	Method, Path string
	Reason       string
}

// String is one line for people.
func (e Entry) String() string {
	var b strings.Builder
	b.WriteString(e.At.UTC().Format(time.RFC3339) + " " + string(e.Kind) + " ")
	if e.Method != "" {
		b.WriteString(e.Method + " ")
	}
	b.WriteString(e.Host)
	if e.Port != 0 {
		_, _ = fmt.Fprintf(&b, ":%d", e.Port) // a builder takes everything
	}
	b.WriteString(e.Path + ": " + e.Reason)
	if e.Count > 1 {
		_, _ = fmt.Fprintf(&b, " (%d times)", e.Count)
	}
	return b.String()
}

// Trail holds the latest entries. It is safe for concurrent use.
type Trail struct {
	mu      sync.Mutex
	entries []Entry // oldest first
}

// New makes an empty trail.
func New() *Trail { return &Trail{} }

// Add remembers an attempt that was made now.
func (t *Trail) Add(e Entry) {
	e.Host, e.Method, e.Path, e.Reason = short(e.Host), short(e.Method), short(e.Path), short(e.Reason)
	e.At, e.Count = time.Now(), 1
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := len(t.entries) - 1; i >= max(0, len(t.entries)-lookBack); i-- {
		old := t.entries[i]
		if old.Kind != e.Kind || old.Host != e.Host || old.Port != e.Port || old.Method != e.Method || old.Path != e.Path || old.Reason != e.Reason {
			continue
		}
		e.Count += old.Count
		t.entries = append(t.entries[:i], t.entries[i+1:]...)
		break
	}
	if len(t.entries) == maxEntries {
		t.entries = append(t.entries[:0], t.entries[1:]...)
	}
	t.entries = append(t.entries, e)
}

// Entries are the latest, oldest first.
func (t *Trail) Entries() []Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Entry(nil), t.entries...)
}

// short makes a text that a process chose fit for a line.
func short(s string) string {
	if len(s) > maxText {
		s = s[:maxText] + "…"
	}
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// RefusedError is why nothing went out.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }
