package sandbox_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// blockOn returns a rule that holds entries of an event back until release is closed, and a channel
// that gets a token when one is held.
func blockOn(event string) (rule func(store.Entry) error, held, release chan struct{}) {
	held, release = make(chan struct{}, 100), make(chan struct{})
	return func(e store.Entry) error {
		if e.Event == event {
			select {
			case held <- struct{}{}:
			default:
			}
			<-release
		}
		return nil
	}, held, release
}

func TestStartIsCommittedBeforeCommandIsSent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	rule, held, release := blockOn(store.EventExecStarted)
	r.store.set(rule)
	exec, err := h.Exec(t.Context(), "true", sandbox.ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	called := time.Now()
	<-held
	<-time.After(20 * time.Millisecond) // what is awaited is that nothing happens
	if r.wire.count("POST", "/command") != 0 {
		t.Error("the command was sent before its start was committed")
	}
	close(release)
	if _, err := exec.Wait(); err != nil || r.wire.count("POST", "/command") != 1 {
		t.Errorf("%v, sent %d times", err, r.wire.count("POST", "/command"))
	}
	for _, e := range r.entries(h) {
		if e.Event == store.EventExecStarted && e.TS > called.UnixMilli() {
			t.Errorf("it is said to have started %d ms after it was called", e.TS-called.UnixMilli())
		}
	}
}

func TestOutputIsCommittedBeforeItIsRead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	rule, held, release := blockOn(store.EventExecOutput)
	r.store.set(rule)
	exec, err := h.Exec(t.Context(), "echo hi", sandbox.ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		out, _ := io.ReadAll(exec.Stdout())
		read <- string(out)
	}()
	<-held
	select {
	case out := <-read:
		t.Errorf("read %q before it was committed", out)
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	if out := <-read; out != "hi\n" {
		t.Errorf("got %q", out)
	}
	if _, err := exec.Wait(); err != nil {
		t.Error(err)
	}
}

func TestWaitReturnsAfterCompletionIsCommitted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	rule, held, release := blockOn(store.EventExecCompleted)
	r.store.set(rule)
	exec, err := h.Exec(t.Context(), "echo hi", sandbox.ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	<-held
	// Readers need not wait for it.
	if out, err := io.ReadAll(exec.Stdout()); err != nil || string(out) != "hi\n" {
		t.Errorf("got %q, %v", out, err)
	}
	select {
	case <-exec.Done():
		t.Error("it ended before its end was committed")
	default:
	}
	close(release)
	if _, err := exec.Wait(); err != nil {
		t.Error(err)
	}
}

// What each event's refusal does, and that the handle takes work again once the ledger does.
func TestLedgerFailures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, event string
		err         error
		sent        int    // commands
		out         string // what a reader gets before the error
		outFails    bool
		events      string // afterwards, with the ledger well again and one more exec
	}{
		{"start", store.EventExecStarted, store.ErrUnavailable, 0, "", true, "exec.started:2 exec.completed:2"},
		{"start refused", store.EventExecStarted, store.ErrInvalid, 0, "", true, "exec.started:2 exec.completed:2"},
		{"output", store.EventExecOutput, store.ErrUnavailable, 1, "", true, "exec.started:1 exec.started:2 exec.completed:2"},
		{"output refused", store.EventExecOutput, store.ErrInvalid, 1, "", true, "exec.started:1 exec.started:2 exec.completed:2"},
		{"completion", store.EventExecCompleted, store.ErrUnavailable, 1, "hi\n", false, "exec.started:1 exec.started:2 exec.completed:2"},
		{"completion refused", store.EventExecCompleted, store.ErrInvalid, 1, "hi\n", false, "exec.started:1 exec.started:2 exec.completed:2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			h := r.create(sandbox.CreateOptions{})
			r.store.set(failOn(test.event, test.err))
			// sleep would be left behind if nobody ended the command.
			exec, err := h.Exec(t.Context(), "echo hi; if [ -e /tmp/x ]; then sleep 1000; fi", sandbox.ExecOptions{Strict: true})
			if err != nil {
				t.Fatal(err)
			}
			out, readErr := io.ReadAll(exec.Stdout())
			if string(out) != test.out || (readErr != nil) != test.outFails {
				t.Errorf("read %q, %v", out, readErr)
			}
			result, err := exec.Wait()
			var where *sandbox.Error
			if result != nil || !errors.Is(err, test.err) || !errors.As(err, &where) || where.Seq != 1 {
				t.Errorf("got %+v, %v", result, err)
			}
			if got := r.wire.count("POST", "/command"); got != test.sent {
				t.Errorf("the command was sent %d times", got)
			}
			r.store.set(nil)
			r.run(h, "true")
			r.wantEvents(h, "sandbox.created "+test.events)
		})
	}
}

// While the ledger does not answer, nothing is started.
func TestHandleRefusesWhileLedgerIsDown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	r.store.set(func(store.Entry) error { return store.ErrUnavailable })
	for range 3 {
		if _, err := h.Run(t.Context(), "true", sandbox.ExecOptions{}); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
	}
	if err := h.Emit(t.Context(), "x.y", nil); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if got := r.wire.count("POST", "/command"); got != 0 {
		t.Errorf("%d commands were sent", got)
	}
	r.store.set(nil)
	if result := r.run(h, "echo back"); result.Stdout != "back\n" || result.Seq != 4 {
		t.Errorf("got %+v", result)
	}
}

// The command of an exec whose ledger failed does not go on.
func TestLedgerFailureEndsCommand(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	exec, err := h.Exec(t.Context(), "echo one; while [ ! -e /tmp/go ]; do sleep 0.01; done; echo two; sleep 1000", sandbox.ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(exec.Stdout(), make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	r.store.set(failOn(store.EventExecOutput, store.ErrUnavailable))
	if err := h.WriteFile(t.Context(), "/tmp/go", nil, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.Wait(); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if got := r.wire.count("DELETE", "/command"); got != 1 {
		t.Errorf("interrupted %d times", got)
	}
	r.store.set(nil)
	if result := r.run(h, "pgrep -f 'sleep 100[0]' || echo none"); result.Stdout != "none\n" && !strings.Contains(result.Stderr, "not found") {
		t.Errorf("it still runs: %+v", result)
	}
}

// Another driver has claimed the sandbox: this one may not write, and leaves the sandbox alone.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *sandbox.Options) { o.MaxConcurrency = 1 })
	h := r.create(sandbox.CreateOptions{})
	if _, err := r.store.OpenLedger(t.Context(), h.Key()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Run(t.Context(), "true", sandbox.ExecOptions{}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if _, err := h.Checkpoint(t.Context(), ""); !errors.Is(err, store.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if err := h.Close(t.Context()); !errors.Is(err, store.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if gone(t, h.ID()) {
		t.Error("the other driver's sandbox was deleted")
	}
	r.wantEvents(h, "sandbox.created")
	r.create(sandbox.CreateOptions{}) // the slot is free
	if err := wireClient(shared.Transport()).DeleteSandbox(t.Context(), h.ID()); err != nil {
		t.Error(err)
	}
}

// cutBody ends a response's body after some bytes, with an error or without.
type cutBody struct {
	io.ReadCloser
	left int
	err  error
}

func (c *cutBody) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, c.err
	}
	n, err := c.ReadCloser.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

func TestLostStream(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]error{"clean": io.EOF, "reset": errors.New("connection reset")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			h := r.create(sandbox.CreateOptions{})
			r.wire.do("POST", "/command", func(req *http.Request) (*http.Response, error) {
				resp, err := pass(req)
				if err == nil {
					// The first event whole, and a piece of what follows.
					resp.Body = &cutBody{resp.Body, len(`{"type":"init","text":"b86c951a8203f8d382042b50005e6778","timestamp":1795972883209}`) + 10, cut}
				}
				return resp, err
			})
			exec, err := h.Exec(t.Context(), "sleep 1000", sandbox.ExecOptions{Timeout: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			out, readErr := io.ReadAll(exec.Stdout())
			if len(out) != 0 || !errors.Is(readErr, sandbox.ErrStreamLost) {
				t.Errorf("read %q, %v", out, readErr)
			}
			result, err := exec.Wait()
			if result != nil || !errors.Is(err, sandbox.ErrStreamLost) || errors.Is(err, context.Canceled) {
				t.Errorf("got %+v, %v", result, err)
			}
			if lost, ok := errors.AsType[*sandbox.LostError](err); !ok || !lost.Asked || !lost.Running || lost.ExitCode != nil || lost.CommandID == "" {
				t.Errorf("it is known: %+v", lost)
			}
			r.wantEvents(h, "sandbox.created exec.started:1")
			if got := r.wire.count("DELETE", "/command"); got != 1 {
				t.Errorf("interrupted %d times", got)
			}
			r.wire.heal()
			if result := r.run(h, "echo next"); result.Seq != 2 {
				t.Errorf("got %+v", result)
			}
		})
	}
}

// What the sandbox still knows of a command is told, and is no result all the same.
func TestLostStreamOfWhatEnded(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]action{"known": does(pass), "forgotten": says{http.StatusNotFound, `{"code":"X","message":"no such command"}`}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			h := r.create(sandbox.CreateOptions{})
			r.wire.on("GET", "/command/status", answer)
			r.wire.do("POST", "/command", func(req *http.Request) (*http.Response, error) {
				resp, err := pass(req)
				if err != nil {
					return nil, err
				}
				raw, err := io.ReadAll(resp.Body) // it has ended
				whole, _, _ := strings.Cut(string(raw), `{"type":"error"`)
				resp.Body = io.NopCloser(strings.NewReader(whole))
				return resp, err
			})
			result, err := h.Run(t.Context(), "echo out; exit 9", sandbox.ExecOptions{})
			lost, ok := errors.AsType[*sandbox.LostError](err)
			if result != nil || !ok || !errors.Is(err, sandbox.ErrStreamLost) || lost.Running {
				t.Fatalf("got %+v, %v", result, err)
			}
			if known := name == "known"; lost.Asked != known || known != (lost.ExitCode != nil && *lost.ExitCode == 9) || known != strings.Contains(err.Error(), "code 9") {
				t.Errorf("it is known: %+v, %v", lost, err)
			}
			r.wantEvents(h, "sandbox.created exec.started:1")
		})
	}
}
