package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// How far a copy is stands on one line of a terminal, and nowhere else.
func TestCopyProgress(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name                  string
		terminal, quiet, json bool
		shown                 bool
	}{
		{"on a terminal", true, false, false, true},
		{"in a pipe", false, false, false, false},
		{"quietly", true, true, false, false},
		{"for programs", true, false, true, false},
	} {
		var said bytes.Buffer
		a := &app{out: &output{err: &said, terminal: tc.terminal, quiet: tc.quiet, json: tc.json}}
		p := a.newProgress("big.bin")
		if _, err := p.Write(make([]byte, 1<<20)); err != nil || said.Len() > 0 { // it is not long enough ago
			t.Errorf("%s: at once it said %q, %v", tc.name, said.String(), err)
		}
		p.last = time.Now().Add(-time.Second)
		if _, err := p.Write(make([]byte, 4<<20)); err != nil {
			t.Fatal(err)
		}
		shown := said.String()
		if tc.shown != (strings.HasPrefix(shown, "\r5.0 MiB, ") && strings.HasSuffix(shown, "/s, big.bin\x1b[K")) || !tc.shown && shown != "" {
			t.Errorf("%s: it said %q", tc.name, shown)
		}
		said.Reset()
		p.clear()
		p.clear()
		if want := map[bool]string{true: "\r\x1b[K"}[tc.shown]; said.String() != want {
			t.Errorf("%s: at the end it said %q", tc.name, said.String())
		}
	}
}
