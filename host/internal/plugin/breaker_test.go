package plugin

import (
	"strings"
	"testing"
	"time"
)

func TestBreaker(t *testing.T) {
	t.Parallel()
	now := time.Duration(0)
	b := &breaker{clock: func() time.Duration { return now }}
	allowed := func(want, wantTrial bool) {
		t.Helper()
		trial, f := b.allow()
		if (f == nil) != want || trial != wantTrial {
			t.Fatalf("allowed %v (trial %v): %v, want %v (%v)", f == nil, trial, f, want, wantTrial)
		}
		if f != nil && (f.kind != KindFailed || !strings.Contains(f.Error(), "boom")) {
			t.Fatalf("refused with %v: %v", f.kind, f)
		}
	}
	crash := func(trial, wantNews bool, wantPause time.Duration) {
		t.Helper()
		if news, pause := b.crash(trial, "boom"); news != wantNews || pause != wantPause {
			t.Fatalf("news %v, pause %v, want %v, %v", news, pause, wantNews, wantPause)
		}
	}

	// Crashes that are far apart are forgiven.
	for range 3 * crashBudget {
		allowed(true, false)
		crash(false, false, 0)
		now += crashWindow / 3
	}
	now += 2 * crashWindow
	for range crashBudget - 1 {
		crash(false, false, 0)
	}
	allowed(true, false)
	crash(false, true, firstPause)
	allowed(false, false)
	crash(false, false, 0) // of a call that had begun before

	// One may try after the pause, and only one; each failure doubles it, to a limit.
	for pause := firstPause; pause < 3*longPause; pause *= 2 {
		now += min(pause, longPause) - 1
		allowed(false, false)
		now++
		allowed(true, true)
		allowed(false, false)
		crash(true, false, min(2*pause, longPause))
	}
	now += longPause
	allowed(true, true)
	b.settle(false) // the trial did not come to anything
	allowed(true, true)
	b.settle(true)
	allowed(true, false)
	if failed, forever, wait := b.status(); failed || forever {
		t.Errorf("failed %v, forever %v, wait %v", failed, forever, wait)
	}
	crash(false, false, 0)

	if !b.lose("boom") || b.lose("boom") {
		t.Error("the loss of state is news once")
	}
	now += time.Hour
	allowed(false, false)
	b.settle(true)
	allowed(false, false)
}
