package journal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/internal/journal"
)

const (
	nonce  = journal.Nonce("30313233343536373839616263646566")
	others = journal.Nonce("00000000000000000000000000000000")
)

func TestNonce(t *testing.T) {
	t.Parallel()
	got, err := journal.NewNonce([]byte("0123456789abcdef"))
	if err != nil || got != nonce {
		t.Errorf("got %q: %v", got, err)
	}
	if _, err := journal.NewNonce([]byte("short")); err == nil {
		t.Error("a short secret makes a nonce")
	}
}

func TestParseSentinel(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		journal.Sentinel(7, nonce):                            true,
		journal.Sentinel(7, nonce) + "\n":                     true,
		journal.Sentinel(7, nonce) + "\r\n":                   true,
		journal.Sentinel(7, others):                           false,
		`{"__exit":7}`:                                        false,
		`{"__nonce":"` + string(nonce) + `"}`:                 false,
		`{"__exit":"7","__nonce":"` + string(nonce) + `"}`:    false,
		`{"__exit":7.5,"__nonce":"` + string(nonce) + `"}`:    false,
		`[7,"` + string(nonce) + `"]`:                         false,
		`x` + journal.Sentinel(7, nonce):                      false,
		journal.Sentinel(7, nonce) + "x":                      false,
		"":                                                    false,
		"7":                                                   false,
		strings.Repeat(" ", 1000) + "{":                       false,
		fmt.Sprintf(`{"__exit":7,"__nonce":%q,"x":1}`, nonce): true,
	} {
		code, ok := journal.ParseSentinel([]byte(line), nonce)
		if ok != want || ok && code != 7 {
			t.Errorf("%q: %d, %v", line, code, ok)
		}
	}
	if _, ok := journal.ParseSentinel([]byte(journal.Sentinel(0, "")), ""); ok {
		t.Error("without a nonce something is believed")
	}
}

func TestLastSentinel(t *testing.T) {
	t.Parallel()
	line := func(code int) string { return journal.Sentinel(code, nonce) + "\n" }
	for _, c := range []struct {
		window string
		whole  bool
		code   int
		ok     bool
	}{
		{"", true, 0, false},
		{line(3), true, 3, true},
		{line(3), false, 0, false}, // it may be a part of a longer line
		{"x\n" + line(3), false, 3, true},
		{line(3) + line(4), true, 4, true},
		{line(3) + "more\n", true, 3, true},
		{strings.TrimSuffix(line(3), "\n"), true, 0, false}, // is still being written
		{"no line", false, 0, false},
	} {
		if code, ok := journal.LastSentinel([]byte(c.window), c.whole, nonce); code != c.code || ok != c.ok {
			t.Errorf("%q, whole %v: %d, %v", c.window, c.whole, code, ok)
		}
	}
}

// FuzzSentinel holds that nothing without the nonce is believed, whatever a command prints.
func FuzzSentinel(f *testing.F) {
	for _, line := range []string{journal.Sentinel(0, nonce), journal.Sentinel(1, others), `{"__exit":1}`, "{}", "x"} {
		f.Add([]byte(line), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, whole bool) {
		_, one := journal.ParseSentinel(text, nonce)
		_, last := journal.LastSentinel(text, whole, nonce)
		if (one || last) && !strings.Contains(strings.ToLower(string(text)), "303132333435363738396162636465") && !strings.Contains(string(text), `\u`) {
			t.Fatalf("%q is believed", text)
		}
	})
}
