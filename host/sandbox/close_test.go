package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

func TestClose(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *sandbox.Options) { o.MaxConcurrency = 1 })
	closed := 0
	h := r.create(sandbox.CreateOptions{Hooks: &sandbox.Hooks{SandboxClosed: func(string) { closed++ }}})
	exec, err := h.Exec(t.Context(), "echo on; sleep 1000", sandbox.ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(exec.Stdout(), make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel() // Close works all the same
	if err := h.Close(over); err != nil {
		t.Fatal(err)
	}
	if !gone(t, h.ID()) || closed != 1 {
		t.Errorf("the sandbox is still there, or the hook was called %d times", closed)
	}
	if _, err := exec.Wait(); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("got %v", err)
	}
	r.wantEvents(h, "sandbox.created exec.started:1 exec.completed:1 sandbox.closed")
	if got := r.entries(h); got[len(got)-1].Payload != nil {
		t.Errorf("sandbox.closed has the payload %s", got[len(got)-1].Payload)
	}
	if got := r.payloads(h, store.EventExecCompleted)[0]; got != `{"exitCode":-1,"seq":1,"reason":"canceled"}` {
		t.Errorf("got %s", got)
	}
	deletes := r.wire.count("DELETE", "/v1/sandboxes/")
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if got := r.wire.count("DELETE", "/v1/sandboxes/"); got != deletes {
		t.Error("the second Close did something")
	}
	for name, call := range map[string]func() error{
		"exec":       func() error { _, err := h.Exec(t.Context(), "true", sandbox.ExecOptions{}); return err },
		"checkpoint": func() error { _, err := h.Checkpoint(t.Context(), ""); return err },
		"write":      func() error { return h.WriteFile(t.Context(), "/tmp/x", nil, 0) },
		"read":       func() error { _, err := h.ReadFile(t.Context(), "/tmp/x"); return err },
		"emit":       func() error { return h.Emit(t.Context(), "a.b", nil) },
		"renew":      func() error { _, err := h.Renew(t.Context(), time.Now()); return err },
	} {
		if err := call(); !errors.Is(err, sandbox.ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	details, err := r.client.GetSandbox(t.Context(), h.Key())
	if err != nil || details.Status != store.StatusCompleted || details.ExecCount != 1 {
		t.Errorf("got %+v, %v", details, err)
	}
	r.create(sandbox.CreateOptions{})
}

// Whatever fails, the rest of it is done.
func TestCloseFailures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		setup  func(*rig)
		words  string
		events string
	}{
		{
			"delete", func(r *rig) {
				r.wire.on("DELETE", "/v1/sandboxes/", says{500, `{"code":"X","message":"cannot delete"}`})
			},
			"cannot delete", "sandbox.created sandbox.closed",
		},
		{
			"ledger", func(r *rig) { r.store.set(failOn(store.EventSandboxClosed, store.ErrUnavailable)) },
			"unavailable", "sandbox.created",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(o *sandbox.Options) { o.MaxConcurrency = 1 })
			h := r.create(sandbox.CreateOptions{})
			test.setup(r)
			err := h.Close(t.Context())
			var where *sandbox.Error
			if err == nil || !strings.Contains(err.Error(), test.words) || !errors.As(err, &where) || where.SandboxID != h.ID() {
				t.Errorf("got %v", err)
			}
			if again := h.Close(t.Context()); again == nil || again.Error() != err.Error() {
				t.Errorf("then %v", again)
			}
			r.wantEvents(h, test.events)
			r.wire.heal()
			r.store.set(nil)
			r.create(sandbox.CreateOptions{}) // the slot is free
			if test.name == "delete" {
				if err := wireClient(shared.Transport()).DeleteSandbox(t.Context(), h.ID()); err != nil {
					t.Error(err)
				}
			} else if !gone(t, h.ID()) {
				t.Error("the sandbox is left")
			}
		})
	}
}

// A sandbox that nobody holds any more is ended, and counts as completed.
func TestStop(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	r.wire.on(http.MethodDelete, "/v1/sandboxes/", says{http.StatusInternalServerError, `{"code":"X","message":"cannot delete"}`})
	if err := r.client.Stop(t.Context(), h.Key()); err == nil || !strings.Contains(err.Error(), "cannot delete") {
		t.Errorf("got %v", err)
	}
	r.wantEvents(h, "sandbox.created") // it may still run
	r.wire.heal()
	for range 2 {
		must(t, r.client.Stop(t.Context(), h.Key()))
		r.wantEvents(h, "sandbox.created sandbox.closed")
	}
	if !gone(t, h.ID()) {
		t.Error("it is left")
	}
	if _, err := h.Run(t.Context(), "true", sandbox.ExecOptions{}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("who held it got %v", err)
	}
	if err := r.client.Stop(t.Context(), store.Key{Name: "x", SandboxID: "y"}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestEmit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	for _, event := range []string{"", "sandbox.closed", "exec.x", "credential.", "egress.rule_added"} {
		if err := h.Emit(t.Context(), event, nil); !errors.Is(err, sandbox.ErrInvalid) {
			t.Errorf("%q: got %v", event, err)
		}
	}
	if err := h.Emit(t.Context(), "x.bad", func() {}); !errors.Is(err, sandbox.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	for _, payload := range []any{nil, map[string]any{"a": "<b>"}, []byte(nil), "text"} {
		if err := h.Emit(t.Context(), "permission.requested", payload); err != nil {
			t.Error(err)
		}
	}
	r.wantEvents(h, "sandbox.created permission.requested permission.requested permission.requested permission.requested")
	if got := strings.Join(r.payloads(h, "permission.requested"), " "); got != ` {"a":"<b>"} null "text"` {
		t.Errorf("got %s", got)
	}
}

func TestFilesAndRenewal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{Lifetime: time.Hour})
	data := []byte("\x00\xffbinary\n")
	if err := h.WriteFile(t.Context(), "/tmp/a/b", data, 0o750); err != nil {
		t.Fatal(err)
	}
	got, err := h.ReadFile(t.Context(), "/tmp/a/b")
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("got %q, %v", got, err)
	}
	if result := r.run(h, "stat -c %a /tmp/a/b; echo from exec > /tmp/c"); result.Stdout != "750\n" {
		t.Errorf("got %+v", result)
	}
	if got, err = h.ReadFile(t.Context(), "/tmp/c"); err != nil || string(got) != "from exec\n" {
		t.Errorf("got %q, %v", got, err)
	}
	var where *sandbox.Error
	if _, err := h.ReadFile(t.Context(), "/tmp/nope"); !errors.As(err, &where) || where.Op != "reading file" {
		t.Errorf("got %v", err)
	}
	if _, err := h.ReadFile(t.Context(), "/tmp/a"); err == nil {
		t.Error("a directory was read")
	}
	want := time.Now().Add(2 * time.Hour).Truncate(time.Second)
	if until, err := h.Renew(t.Context(), want); err != nil || !until.Equal(want) {
		t.Errorf("until %s, want %s, %v", until, want, err)
	}
	r.wantEvents(h, "sandbox.created exec.started:1 exec.completed:1")
}

func TestHooks(t *testing.T) {
	t.Parallel()
	var calls, reports []string
	note := func(what string) { calls = append(calls, what) }
	hooks := sandbox.ComposeHooks(
		func(err error, index int, hook string) {
			reports = append(reports, hook+" "+string(rune('0'+index))+" "+err.Error())
		},
		nil,
		&sandbox.Hooks{SandboxCreated: func(string, string) { note("a") }},
		&sandbox.Hooks{
			SandboxCreated: func(string, string) { panic("boom") },
			ExecStart:      func(_ string, seq int64, command string) { note("start " + string(rune('0'+seq)) + " " + command) },
		},
		nil,
		&sandbox.Hooks{
			SandboxCreated: func(string, string) { note("c") },
			ExecComplete:   func(_ string, _ int64, result *sandbox.Result) { note("complete " + result.Stdout) },
			Checkpoint:     func(_, _, name string) { note("checkpoint " + name) },
			SandboxClosed:  func(string) { note("closed") },
		},
	)
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{Hooks: hooks})
	r.run(h, "echo x")
	r.checkpoint(h, "tag")
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if got := strings.Join(calls, ","); got != "a,c,start 1 echo x,complete x\n,checkpoint tag,closed" {
		t.Errorf("got %s", got)
	}
	if got := strings.Join(reports, ","); got != "SandboxCreated 1 hook SandboxCreated: boom" {
		t.Errorf("got %s", got)
	}
	sandbox.ComposeHooks(nil, &sandbox.Hooks{SandboxClosed: func(string) { panic("quiet") }}).SandboxClosed("x")
}

// The client's hooks are called for all of its sandboxes, however they came to be, and before their own.
func TestHooksOfTheClient(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var calls []string
	note := func(who string) *sandbox.Hooks {
		add := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, who+" "+what)
		}
		return &sandbox.Hooks{
			SandboxCreated: func(string, string) { add("created") },
			SandboxFailed:  func(string, error) { add("failed") },
			SandboxClosed:  func(string) { add("closed") },
			SandboxPaused:  func(string) { add("paused") },
			SandboxResumed: func(string) { add("resumed") },
			Checkpoint:     func(_, _, tag string) { add("checkpoint " + tag) },
			ExecStart:      func(_ string, _ int64, command string) { add("start " + command) },
			ExecComplete:   func(_ string, _ int64, result *sandbox.Result) { add("complete " + result.Stdout) },
		}
	}
	told := func() string {
		mu.Lock()
		defer mu.Unlock()
		all := strings.Join(calls, ", ")
		calls = nil
		return all
	}
	r := newRig(t, func(o *sandbox.Options) { o.Hooks = note("all") })
	h := r.create(sandbox.CreateOptions{Hooks: note("own")})
	r.run(h, "echo x")
	r.checkpoint(h, "tag")
	must(t, h.Pause(t.Context()))
	must(t, h.Unpause(t.Context()))
	fork := r.keep(h.Fork(t.Context(), sandbox.ForkOptions{Tag: "fork"}))
	must(t, h.Close(t.Context()))
	if got := told(); got != "all created, own created, all start echo x, own start echo x, all complete x\n, own complete x\n, all checkpoint tag, own checkpoint tag, "+
		"all paused, own paused, all resumed, own resumed, all checkpoint fork, own checkpoint fork, all closed, own closed" {
		t.Errorf("told %s", got)
	}
	r.run(fork, "echo y")
	must(t, fork.Close(t.Context()))
	resumed := r.resume(h.ID(), sandbox.ResumeOptions{Tag: "tag"})
	must(t, resumed.Detach(t.Context()))
	connected := r.keep(r.client.Connect(t.Context(), resumed.ID(), sandbox.ConnectOptions{}))
	must(t, connected.Close(t.Context()))
	if got := told(); got != "all start echo y, all complete y\n, all closed, all closed" {
		t.Errorf("without hooks of their own: told %s", got)
	}
	r.wire.on(http.MethodPost, "=/v1/sandboxes", says{http.StatusConflict, "{}"})
	if _, err := r.client.Create(t.Context(), sandbox.CreateOptions{Hooks: note("own")}); err == nil {
		t.Error("it was made")
	}
	if got := told(); got != "all failed, own failed" {
		t.Errorf("told %s", got)
	}
	// The failure of one that was made already names it.
	r.wire.heal()
	r.store.set(failOn(store.EventSandboxCreated, store.ErrInvalid))
	failed := ""
	if _, err := r.client.Create(t.Context(), sandbox.CreateOptions{Hooks: &sandbox.Hooks{SandboxFailed: func(id string, _ error) { failed = id }}}); err == nil {
		t.Error("it was recorded")
	}
	if made := r.wire.made(); failed == "" || failed != made[len(made)-1] {
		t.Errorf("%q failed, of %v", failed, made)
	}
}

// A hook of its own that panics breaks the exec, and not the process.
func TestPanickingHookFailsExec(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{Hooks: &sandbox.Hooks{ExecStart: func(_ string, seq int64, _ string) {
		if seq == 1 {
			panic("boom")
		}
	}}})
	if _, err := h.Run(t.Context(), "true", sandbox.ExecOptions{}); err == nil || !strings.Contains(err.Error(), "hook ExecStart: boom") {
		t.Errorf("got %v", err)
	}
	if r.wire.count("POST", "/command") != 0 {
		t.Error("the command was sent")
	}
	r.run(h, "true")
}
