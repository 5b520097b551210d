package sqlite

import (
	"context"
	"time"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// progressSteps is how many steps of its virtual machine SQLite makes before it asks whether to go
// on: some ten microseconds.
const progressSteps = 1000

// hooks is what SQLite's callbacks of one connection work with. SQLite holds its address; the
// connection keeps it alive. Callbacks run inside the call that caused them, on its goroutine.
type hooks struct {
	ctx     context.Context //nolint:containedctx // of the running program; nil stops never
	timeout time.Duration   // longest wait for another's lock
	ends    time.Time       // when ctx will end; zero when that is not known
	waiting time.Time       // since when
	patient time.Duration   // how long this wait may last
	trusted bool            // the statement is the host's own
	denied  string          // why the authorizer refused, for the guest
}

// stopped reports whether the running program's context has ended.
//
// It asks for the error and not for Done: a plugin's context makes a timer for that.
func (h *hooks) stopped() bool { return h.ctx != nil && h.ctx.Err() != nil }

// wait sleeps before the next try for a lock, and reports whether to try.
func (h *hooks) wait(tries int32) bool {
	now := time.Now()
	if tries == 0 {
		h.waiting, h.patient = now, h.timeout
		if !h.ends.IsZero() {
			// Whoever asked must have some time left to hear that it was in vain, and to say so.
			h.patient = min(h.patient, h.ends.Sub(now)/10*9)
		}
	}
	// 1, 2, 4 … 32 ms: a commit of another process takes a few.
	pause := time.Millisecond << min(tries, 5)
	left := h.patient - now.Sub(h.waiting)
	if left <= 0 {
		return false
	}
	timer := time.NewTimer(min(pause, left))
	defer timer.Stop()
	var done <-chan struct{}
	if h.ctx != nil {
		done = h.ctx.Done()
	}
	select {
	case <-done:
		return false
	case <-timer.C:
		return true
	}
}

// onProgress is the progress handler; any answer but 0 interrupts.
func onProgress(_ *libc.TLS, arg uintptr) int32 {
	if (*hooks)(pointer(arg)).stopped() {
		return 1
	}
	return 0
}

// onBusy is the busy handler; 0 gives up.
func onBusy(_ *libc.TLS, arg uintptr, tries int32) int32 {
	if (*hooks)(pointer(arg)).wait(tries) {
		return 1
	}
	return 0
}

// onAuthorize is the authorizer.
func onAuthorize(_ *libc.TLS, arg uintptr, action int32, first, second, database, _ uintptr) int32 {
	h := (*hooks)(pointer(arg))
	if h.trusted {
		return lib.SQLITE_OK
	}
	reason := refusal(action, first, second, database)
	if reason == "" {
		return lib.SQLITE_OK
	}
	h.denied = reason
	return lib.SQLITE_DENY
}
