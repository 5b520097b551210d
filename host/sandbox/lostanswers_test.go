package sandbox_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// unanswered passes a request on and loses its answer.
func unanswered(req *http.Request) (*http.Response, error) {
	resp, err := pass(req)
	if err != nil {
		return nil, err
	}
	_ = resp.Body.Close()
	return nil, io.ErrUnexpectedEOF
}

// What the server did counts, whether or not its answer came.
func TestPauseWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	r.wire.do(http.MethodPost, "/pause", unanswered)
	r.wire.do(http.MethodPost, "/resume", unanswered)
	must(t, h.Pause(t.Context()))
	if _, err := h.Run(t.Context(), "true", sandbox.ExecOptions{}); !errors.Is(err, sandbox.ErrPaused) {
		t.Errorf("paused, and an exec is %v", err)
	}
	must(t, h.Unpause(t.Context()))
	if got := r.run(h, "echo on"); got.Stdout != "on\n" {
		t.Errorf("got %+v", got)
	}
	r.wantEvents(h, "sandbox.created sandbox.paused sandbox.resumed exec.started:2 exec.completed:2") // the one that was refused has a number, too

	r.wire.heal()
	broken := does(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })
	r.wire.on(http.MethodPost, "/pause", broken)
	if err := h.Pause(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a pause that the server never heard of is %v", err)
	}
	if got := r.run(h, "echo on"); got.Stdout != "on\n" {
		t.Errorf("after that: %+v", got)
	}
	r.wire.heal()
	must(t, h.Pause(t.Context()))
	r.wire.on(http.MethodPost, "/resume", broken)
	if err := h.Unpause(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an unpause that the server never heard of is %v", err)
	}
	r.wire.heal()
	must(t, h.Unpause(t.Context()))
	r.run(h, "true")
}

// A handle is not left paused for good when somebody else lets the sandbox go on, or when the call that did was
// interrupted.
func TestUnpauseOfWhatGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	if err := h.Unpause(t.Context()); !errors.Is(err, opensandbox.ErrConflict) {
		t.Errorf("unpausing what was never paused is %v", err)
	}
	for _, where := range []string{"/v1/sandboxes/" + h.ID(), "/ping"} {
		must(t, h.Pause(t.Context()))
		ctx, leave := context.WithCancel(t.Context())
		r.wire.do(http.MethodGet, where, func(req *http.Request) (*http.Response, error) {
			leave()
			return nil, req.Context().Err()
		})
		if err := h.Unpause(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted at %s: %v", where, err)
		}
		leave()
		r.wire.heal()
		must(t, h.Unpause(t.Context()))
		r.run(h, "true")
	}
	must(t, h.Pause(t.Context()))
	must(t, wireClient(shared.Transport()).ResumeSandbox(t.Context(), h.ID()))
	must(t, h.Unpause(t.Context()))
	r.run(h, "true")
	r.wantEvents(h, "sandbox.created"+
		" sandbox.paused sandbox.resumed exec.started:1 exec.completed:1"+
		" sandbox.paused sandbox.resumed exec.started:2 exec.completed:2"+
		" sandbox.paused sandbox.resumed exec.started:3 exec.completed:3")
}

// A rule that holds is recorded, and its caller told so, whether or not the answer came.
func TestRulesWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{NetworkPolicy: locked("boot.example.com")})
	one := opensandbox.NetworkRule{Action: "allow", Target: "one.example.com"}
	// As by a server or a proxy that ends: the sidecar is asked again when there is no answer at all.
	cut := func(req *http.Request) (*http.Response, error) {
		resp, err := pass(req)
		if err != nil {
			return nil, err
		}
		_ = resp.Body.Close()
		resp.Body = io.NopCloser(strings.NewReader(`{"mo`))
		return resp, nil
	}
	r.wire.do(http.MethodPatch, "/policy", cut)
	r.wire.do(http.MethodDelete, "/policy", cut)
	status, err := h.AddNetworkRules(t.Context(), one)
	must(t, err)
	if !slices.Contains(status.Policy.Egress, one) {
		t.Errorf("it has %+v", status.Policy)
	}
	if status, err = h.RemoveNetworkRules(t.Context(), "boot.example.com"); err != nil || !slices.Equal(status.Policy.Egress, []opensandbox.NetworkRule{one}) {
		t.Errorf("it has %+v, %v", status, err)
	}
	const both = "sandbox.created egress.rule_added egress.rule_removed"
	r.wantEvents(h, both)

	// The caller has left, and the change holds.
	ctx, leave := context.WithCancel(t.Context())
	r.wire.do(http.MethodPatch, "/policy", func(req *http.Request) (*http.Response, error) {
		resp, err := pass(req)
		leave()
		if err == nil {
			_ = resp.Body.Close()
			err = context.Canceled
		}
		return nil, err
	})
	if _, err := h.AddNetworkRules(ctx, opensandbox.NetworkRule{Action: "deny", Target: "two.example.com"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	r.wantEvents(h, both+" egress.rule_added")

	// The sidecar never heard of it.
	garbled := says{http.StatusOK, `{"mo`}
	r.wire.on(http.MethodPatch, "/policy", garbled)
	r.wire.on(http.MethodDelete, "/policy", garbled)
	if status, err := h.AddNetworkRules(t.Context(), opensandbox.NetworkRule{Action: "allow", Target: "three.example.com"}); err == nil || status != nil {
		t.Errorf("got %+v, %v", status, err)
	}
	if status, err := h.RemoveNetworkRules(t.Context(), "ONE.example.com"); err == nil || status != nil {
		t.Errorf("got %+v, %v", status, err)
	}
	r.wantEvents(h, both+" egress.rule_added")
}
