package engine_test

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// TestGivesWay checks who goes first where no control group bounds the use of processors.
func TestGivesWay(t *testing.T) {
	t.Parallel()
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // 20 - niceness
	if err != nil {
		t.Fatal(err)
	}
	nice := 20 - raw // of whoever runs the tests
	box := requireNamespaces(t).create(nil)
	if !box.hardLimits() {
		nice += 5
	}
	want := fmt.Sprintf("%d\nrefused\n", nice)
	if got := box.must("nice; nice -n -5 true 2>/dev/null && [ $(nice -n -5 nice 2>/dev/null) -lt 0 ] && echo lower || echo refused"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
