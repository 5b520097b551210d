package engine_test

import "testing"

// TestGivesWay checks who goes first where no control group bounds the use of processors.
func TestGivesWay(t *testing.T) {
	t.Parallel()
	box := requireNamespaces(t).create(nil)
	want := "5\nrefused\n"
	if box.hardLimits() {
		want = "0\nrefused\n"
	}
	if got := box.must("nice; nice -n -5 true 2>/dev/null && [ $(nice -n -5 nice 2>/dev/null) -lt 0 ] && echo lower || echo refused"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
