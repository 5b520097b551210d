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
	late := newWatchdog(patience, cancel, "no answer")
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
		idle:   newWatchdog(c.opts.IdleTimeout, cancel, "no sign of life").unless(func() bool { return c.silence.expected(call.to.sandboxID) }),
		cause:  func() error { return context.Cause(ctx) },
	}, nil
}

// watchdog cancels a request that makes no progress. Only the time between start and stop counts.
type watchdog struct {
	timer *time.Timer // nil: it never bites

	mu      sync.Mutex
	limit   time.Duration
	running bool
	excused func() bool // when it waits once more; may be nil
}

// newWatchdog returns one that is stopped. Without a limit it never bites.
func newWatchdog(limit time.Duration, cancel context.CancelCauseFunc, what string) *watchdog {
	if limit <= 0 {
		return &watchdog{}
	}
	w := &watchdog{limit: limit}
	w.timer = time.AfterFunc(limit, func() {
		w.mu.Lock()
		limit := w.limit
		if w.running && w.excused != nil && w.excused() {
			w.timer.Reset(limit)
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		cancel(fmt.Errorf("%w: %s for %s", ErrTimeout, what, limit))
	})
	w.timer.Stop()
	return w
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
	w.running = running
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
