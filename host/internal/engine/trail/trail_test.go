package trail_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/internal/engine/trail"
)

func TestTrail(t *testing.T) {
	t.Parallel()
	tr := trail.New()
	tr.Add(trail.Entry{Kind: trail.Refused, Host: "a.test", Port: 443, Reason: "first"})
	tr.Add(trail.Entry{Kind: trail.Refused, Host: "b.test", Reason: "second\r\nforged line\xff"})
	tr.Add(trail.Entry{Kind: trail.Refused, Host: "a.test", Port: 443, Reason: "first"})
	got := tr.Entries()
	if len(got) != 2 || got[0].Host != "b.test" || got[1].Count != 2 {
		t.Fatalf("%v", got)
	}
	if line := got[0].String(); strings.ContainsAny(line, "\r\n") || strings.Contains(line, "\xff") || !strings.Contains(line, " refused b.test: second??forged line?") {
		t.Errorf("%q", line)
	}
	if line := got[1].String(); !strings.HasSuffix(line, " refused a.test:443: first (2 times)") {
		t.Errorf("%q", line)
	}
	for i := range 1000 {
		tr.Add(trail.Entry{Kind: trail.Withheld, Host: strings.Repeat("x", 10_000), Reason: fmt.Sprint(i)})
	}
	got = tr.Entries()
	if len(got) != 200 || got[199].Reason != "999" || len(got[0].Host) > 250 {
		t.Errorf("%d entries, the last of which is %v", len(got), got[len(got)-1])
	}
}
