//go:build unix

package shim

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestRenewAtTheEnd has a sandbox renewed in the moment in which its time is over: it either lives, or the
// renewal is refused.
func TestRenewAtTheEnd(t *testing.T) {
	t.Parallel()
	due := time.Now().Add(-time.Second)
	renewed := func(s *keeper) int {
		w := httptest.NewRecorder()
		s.renew(w, httptest.NewRequest(http.MethodPut, "/expiration", strings.NewReader(`"2099-01-01T00:00:00Z"`)))
		return w.Code
	}
	s := &keeper{changed: make(chan struct{}), state: State{ExpiresAt: due}}
	if code := renewed(s); code != http.StatusNoContent || s.expire(due) {
		t.Errorf("renewed before it was noticed: %d, and it ends", code)
	}
	s = &keeper{changed: make(chan struct{}), state: State{ExpiresAt: due}}
	if !s.expire(due) {
		t.Error("it doesn't end")
	}
	if code := renewed(s); code != http.StatusGone {
		t.Errorf("renewed after it was noticed: %d", code)
	}
	s = &keeper{changed: make(chan struct{}), state: State{ExpiresAt: due.Add(time.Hour)}}
	if s.expire(due.Add(time.Hour)) {
		t.Error("it ends an hour early: the clock was set back")
	}
}
