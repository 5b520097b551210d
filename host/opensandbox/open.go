package opensandbox

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// openStream sends a request whose answer, or whose body, may be as long as it likes. ctx is the
// request's own and cancel ends it: besides the caller, the two watchdogs use it.
func (c *Client) openStream(
	ctx context.Context, cancel context.CancelCauseFunc, call call, prepare func(*http.Request),
) (*liveBody, error) {
	req, err := c.newRequest(ctx, call)
	if err != nil {
		return nil, err
	}
	if prepare != nil {
		prepare(req)
	}
	patience := c.opts.FirstByteTimeout
	if req.GetBody == nil && req.Body != nil {
		// The body is a stream with a watchdog of its own, which goes on with this once it was sent.
		patience = 0
	}
	excused := func() bool { return c.silence.expected(call.to.sandboxID) }
	if call.bears {
		excused = func() bool { return c.standsStill(ctx, call.to.sandboxID) }
	}
	late := newWatchdog(patience, cancel, "no answer").unless(excused)
	defer late.stop()
	late.start()
	resp, err := c.streams.Do(req)
	if err != nil {
		return nil, call.fail(ctx, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer discard(resp)
		return nil, readError(call.op, call.subject, resp)
	}
	return &liveBody{
		status: resp.StatusCode,
		header: resp.Header,
		body:   resp.Body,
		idle:   newWatchdog(c.opts.IdleTimeout, cancel, "no sign of life").unless(excused),
		cause:  func() error { return context.Cause(ctx) },
	}, nil
}

// watchdog cancels a request that makes no progress. Only the time between start and stop counts.
type watchdog struct {
	timer *time.Timer // nil: it never bites

	bite func(limit time.Duration)

	mu      sync.Mutex
	limit   time.Duration
	running bool
	turn    uint64      // of start and stop
	excused func() bool // when it waits once more; may be nil
	bore    bool        // it was excused last time
}

// newWatchdog returns one that is stopped. Without a limit it never bites.
func newWatchdog(limit time.Duration, cancel context.CancelCauseFunc, what string) *watchdog {
	if limit <= 0 {
		return &watchdog{}
	}
	w := &watchdog{limit: limit, bite: func(limit time.Duration) {
		cancel(fmt.Errorf("%w: %s for %s", ErrTimeout, what, limit))
	}}
	w.timer = time.AfterFunc(limit, w.wake)
	w.timer.Stop()
	return w
}

func (w *watchdog) wake() {
	w.mu.Lock()
	running, turn, excused := w.running, w.turn, w.excused
	w.mu.Unlock()
	if !running {
		return
	}
	bears := excused != nil && excused() // it may ask somebody, and take a while
	w.mu.Lock()
	if w.turn != turn {
		w.mu.Unlock()
		return // it was not silent
	}
	// What went on a moment ago has all the time again.
	again := bears || w.bore
	w.bore = bears
	limit := w.limit
	if again {
		w.timer.Reset(limit)
	}
	w.mu.Unlock()
	if !again {
		w.bite(limit)
	}
}

// unless lets it wait as long as something excuses the silence. It is called before the first start.
func (w *watchdog) unless(excused func() bool) *watchdog {
	w.excused = excused
	return w
}

func (w *watchdog) start() { w.set(true) }

func (w *watchdog) stop() { w.set(false) }

func (w *watchdog) set(running bool) {
	if w.timer == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running, w.bore = running, false
	w.turn++
	if running {
		w.timer.Reset(w.limit)
	} else {
		w.timer.Stop()
	}
}

// shorten makes it less patient from now on.
func (w *watchdog) shorten(limit time.Duration) {
	if w.timer == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit = min(w.limit, limit)
	if w.running {
		w.timer.Reset(w.limit)
	}
}

// liveBody reads an answer and gives up when the server is silent for too long. The time between
// reads is the reader's own: a slow ledger is not a dead server.
type liveBody struct {
	status int
	header http.Header
	body   io.ReadCloser
	idle   *watchdog
	cause  func() error // why the request was cancelled, if it was
}

func (b *liveBody) Read(p []byte) (int, error) {
	b.idle.start()
	n, err := b.body.Read(p)
	b.idle.stop()
	if err != nil && err != io.EOF { //nolint:errorlint // a body's own io.EOF is bare
		if cause := b.cause(); cause != nil {
			err = cause
		}
	}
	return n, err
}

func (b *liveBody) Close() error {
	b.idle.stop()
	return b.body.Close()
}
