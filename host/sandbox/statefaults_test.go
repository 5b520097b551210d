package sandbox_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// snapshots are those of a sandbox that the server has.
func (r *rig) snapshots(h *sandbox.Handle) (ids []string) {
	r.t.Helper()
	for s, err := range wireClient(shared.Transport()).ListSnapshots(r.t.Context(), opensandbox.SnapshotFilter{SandboxID: h.ID()}) {
		must(r.t, err)
		ids = append(ids, s.ID)
	}
	return ids
}

// A snapshot that the ledger refuses to know is deleted; one that it may know stays. Then the handle works
// again.
func TestCheckpointThatIsNotRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	for _, err := range []error{store.ErrInvalid, store.ErrUnavailable} {
		r.store.set(failOn(store.EventCheckpointCreated, err))
		if id, got := h.Checkpoint(t.Context(), "lost"); id != "" || !errors.Is(got, err) {
			t.Errorf("got %q, %v", id, got)
		}
		if left := r.snapshots(h); len(left) > 0 {
			t.Errorf("%v: %v is left", err, left)
		}
		if _, got := h.Fork(t.Context(), sandbox.ForkOptions{Tag: "lost"}); !errors.Is(got, err) {
			t.Errorf("forking: %v", got)
		}
		if left := r.snapshots(h); len(left) > 0 {
			t.Errorf("forking, %v: %v is left", err, left)
		}
		r.store.set(nil)
	}
	id := r.checkpoint(h, "kept")
	if got := r.snapshots(h); len(got) != 1 || got[0] != id {
		t.Errorf("the server has %v, want %s", got, id)
	}
	r.wantEvents(h, "sandbox.created sandbox.checkpoint_created")
}

// A snapshot that fails, or takes too long, is no checkpoint, and is not left on the server.
func TestCheckpointThatIsNotReady(t *testing.T) {
	t.Parallel()
	for words, status := range map[string]string{
		"no space left":       `{"state":"Failed","reason":"snapshot_runtime_failed","message":"no space left"}`,
		"is not ready within": `{"state":"Creating"}`,
	} {
		r := newRig(t, func(o *sandbox.Options) { o.ReadyTimeout = 500 * time.Millisecond })
		h := r.create(sandbox.CreateOptions{})
		r.wire.do(http.MethodPost, "/snapshots", func(req *http.Request) (*http.Response, error) {
			resp, err := pass(req)
			if err != nil {
				return nil, err
			}
			raw, err := io.ReadAll(resp.Body)
			resp.Body = io.NopCloser(strings.NewReader(strings.Replace(string(raw), `"Ready"`, `"Creating"`, 1)))
			return resp, err
		})
		r.wire.on(http.MethodGet, "/v1/snapshots/", says{http.StatusOK, `{"id":"x","status":` + status + `}`})
		if id, err := h.Checkpoint(t.Context(), "bad"); id != "" || !errors.Is(err, sandbox.ErrNotReady) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: got %q, %v", words, id, err)
		}
		eventually(t, "the snapshot's end", func() bool { return len(r.snapshots(h)) == 0 })
		r.wantEvents(h, "sandbox.created")
		r.wire.heal()
		r.checkpoint(h, "good")
	}
}

// A snapshot whose caller leaves before it is there is deleted, as soon as the server does that, and a client that
// is closed waits for it.
func TestCheckpointWhoseCallerLeaves(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"before the answer", "behind the answer"} {
		r := newRig(t)
		h := r.create(sandbox.CreateOptions{})
		ctx, leave := context.WithCancel(t.Context())
		r.wire.do(http.MethodPost, "/snapshots", func(req *http.Request) (*http.Response, error) {
			if when == "before the answer" {
				leave()
			}
			resp, err := pass(req)
			if when == "behind the answer" {
				r.wire.do(http.MethodGet, "/v1/snapshots/", func(req *http.Request) (*http.Response, error) {
					leave()
					return pass(req)
				})
				if err == nil {
					raw, _ := io.ReadAll(resp.Body)
					resp.Body = io.NopCloser(strings.NewReader(strings.Replace(string(raw), `"Ready"`, `"Creating"`, 1)))
				}
			}
			return resp, err
		})
		var refused atomic.Int64 // as long as it is being made
		r.wire.do(http.MethodDelete, "/v1/snapshots/", func(req *http.Request) (*http.Response, error) {
			if refused.Add(1) <= 2 {
				return says{http.StatusConflict, `{"code":"SNAPSHOT::INVALID_STATE","message":"it is being created"}`}.RoundTrip(req)
			}
			return pass(req)
		})
		if id, err := h.Checkpoint(ctx, "left"); id != "" || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %q, %v", when, id, err)
		}
		must(t, r.client.Close(t.Context())) // waits for that
		if left := r.snapshots(h); len(left) > 0 || refused.Load() < 3 {
			t.Errorf("%s: asked %d times, and %v is left", when, refused.Load(), left)
		}
		r.wantEvents(h, "sandbox.created")
	}
}

// A snapshot whose answer was lost may be there, and whoever asked for it is told so.
func TestCheckpointWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	const may = "may have made a snapshot"
	r.wire.do(http.MethodPost, "/snapshots", func(req *http.Request) (*http.Response, error) {
		resp, err := pass(req)
		if err == nil {
			_ = resp.Body.Close()
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	})
	if id, err := h.Checkpoint(t.Context(), ""); id != "" || err == nil || !strings.Contains(err.Error(), may) {
		t.Errorf("got %q, %v", id, err)
	}
	r.wire.on(http.MethodPost, "/snapshots", says{http.StatusConflict, `{"code":"SNAPSHOT::INVALID_SOURCE_STATE","message":"it is not running"}`})
	if id, err := h.Checkpoint(t.Context(), ""); id != "" || !errors.Is(err, opensandbox.ErrConflict) || strings.Contains(err.Error(), may) {
		t.Errorf("refused: got %q, %v", id, err)
	}
	r.wire.heal()
	r.checkpoint(h, "good")
}

// What the server did and the ledger does not take is an error, and the handle knows what the sandbox is.
func TestPauseThatIsNotRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	r.store.set(failOn(store.EventSandboxPaused, store.ErrInvalid))
	if err := h.Pause(t.Context()); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if _, err := h.Run(t.Context(), "true", sandbox.ExecOptions{}); !errors.Is(err, sandbox.ErrPaused) {
		t.Errorf("got %v", err)
	}
	r.store.set(failOn(store.EventSandboxResumed, store.ErrInvalid))
	if err := h.Unpause(t.Context()); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	r.store.set(nil)
	if got := r.run(h, "echo on"); got.Stdout != "on\n" {
		t.Errorf("got %+v", got)
	}
}

// Pause and Unpause are over when the sandbox is what they are called after, and not when the server has
// said that it will be.
func TestPauseAndUnpauseWait(t *testing.T) {
	t.Parallel()
	const late = 3 // times that it isn't yet
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	var asked, pinged atomic.Int32
	r.wire.do(http.MethodGet, "=/v1/sandboxes/"+h.ID(), func(req *http.Request) (*http.Response, error) {
		if asked.Add(1)%(late+1) != 0 {
			return says{http.StatusOK, `{"id":"x","status":{"state":"Changing"}}`}.RoundTrip(req)
		}
		return pass(req)
	})
	r.wire.do(http.MethodGet, "/ping", func(req *http.Request) (*http.Response, error) {
		if pinged.Add(1) <= late {
			return says{http.StatusServiceUnavailable, ""}.RoundTrip(req)
		}
		return pass(req)
	})
	must(t, h.Pause(t.Context()))
	if got := asked.Load(); got != late+1 {
		t.Errorf("pausing asked %d times", got)
	}
	must(t, h.Unpause(t.Context()))
	if got := asked.Load(); got != 2*(late+1) || pinged.Load() != late+1 {
		t.Errorf("unpausing had asked %d times, and pinged %d times", got, pinged.Load())
	}
	r.wantEvents(h, "sandbox.created sandbox.paused sandbox.resumed")
}

// A sandbox that does not get there is not recorded as if it had.
func TestPauseAndUnpauseThatNeverEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *sandbox.Options) { o.ReadyTimeout, o.ExecdTimeout = 300*time.Millisecond, 300*time.Millisecond })
	h := r.create(sandbox.CreateOptions{})
	state := "=/v1/sandboxes/" + h.ID()
	never := says{http.StatusOK, `{"id":"x","status":{"state":"Changing"}}`}
	r.wire.on(http.MethodGet, state, never)
	if err := h.Pause(t.Context()); !errors.Is(err, sandbox.ErrNotReady) || !strings.Contains(err.Error(), "did not reach Paused") {
		t.Errorf("got %v", err)
	}
	if err := h.Unpause(t.Context()); !errors.Is(err, sandbox.ErrNotReady) || !strings.Contains(err.Error(), "did not reach Running") {
		t.Errorf("got %v", err)
	}
	r.wire.heal()
	must(t, wireClient(shared.Transport()).PauseSandbox(t.Context(), h.ID()))
	r.wire.on(http.MethodGet, "/ping", says{http.StatusServiceUnavailable, ""})
	if err := h.Unpause(t.Context()); !errors.Is(err, sandbox.ErrNotReady) || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("got %v", err)
	}
	if _, err := h.Run(t.Context(), "true", sandbox.ExecOptions{}); !errors.Is(err, sandbox.ErrPaused) {
		t.Errorf("got %v", err)
	}
	r.wantEvents(h, "sandbox.created")
}
