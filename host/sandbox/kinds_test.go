package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// A command that fits into no argument of a program becomes a file, and leaves none behind.
func TestLongCommand(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	long := "x='" + strings.Repeat("é", 100<<10) + "'; echo ${#x}; read y; echo $?; ls -A /tmp"
	got := r.runWith(h, long, sandbox.ExecOptions{Shell: "/bin/bash"})
	if lines := strings.Split(got.Stdout, "\n"); len(lines) < 2 || lines[1] != "1" {
		t.Errorf("got %.200q", got.Stdout)
	}
	if got := r.run(h, "ls -A /tmp"); strings.Contains(got.Stdout, "command") {
		t.Errorf("left behind: %s", got.Stdout)
	}
	if got, want := field(t, r.payloads(h, store.EventExecStarted)[0], "cmd"), long; got != want {
		t.Error("the ledger has another command")
	}
}

func TestBackground(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.create(sandbox.CreateOptions{})
	for _, test := range []struct {
		command string
		opts    sandbox.ExecOptions
		want    sandbox.Result
	}{
		{"echo a; echo; echo err >&2; printf b", sandbox.ExecOptions{}, sandbox.Result{Stdout: "a\n\nerr\nb\n"}},
		{"echo out; exit 9", sandbox.ExecOptions{}, sandbox.Result{Stdout: "out\n", ExitCode: 9}},
		{"echo up; sleep 1000", sandbox.ExecOptions{Timeout: 3 * time.Second}, sandbox.Result{Stdout: "up\n", ExitCode: -1, TimedOut: true}},
	} {
		test.opts.Background = true
		got := *r.runWith(first, test.command, test.opts)
		test.want.Seq, got.Signal = got.Seq, ""
		if got != test.want {
			t.Errorf("%s: got %+v", test.command, got)
		}
	}
	r.checkpoint(first, "")
	h := r.resume(first.ID(), sandbox.ResumeOptions{})
	// How it ran is no part of what it is.
	if got := r.run(h, "echo a; echo; echo err >&2; printf b"); !got.Replayed || got.Stdout != "a\n\nerr\nb\n" {
		t.Errorf("got %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	exec, err := first.Exec(ctx, "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done", sandbox.ExecOptions{Background: true})
	if err != nil {
		t.Fatal(err)
	}
	readUntil(t, exec.Stdout(), "up")
	cancel()
	if result, err := exec.Wait(); !errors.Is(err, context.Canceled) || result == nil || !result.Canceled || result.ExitCode != 3 || !strings.HasSuffix(result.Stdout, "bye\n") {
		t.Errorf("got %+v, %v", result, err)
	}
}

// Connections that are cut lose nothing of a background command.
func TestBackgroundSurvivesCuts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	cuts := 0
	r.wire.do(http.MethodGet, "/logs", func(req *http.Request) (*http.Response, error) {
		resp, err := pass(req)
		if cuts++; err == nil && cuts%2 == 1 && cuts < 40 {
			resp.Body = struct {
				io.Reader
				io.Closer
			}{io.MultiReader(io.LimitReader(resp.Body, 700), broken{}), resp.Body}
		}
		return resp, err
	})
	got := r.runWith(h, "i=0; while [ $i -lt 500 ]; do echo line $i; i=$((i+1)); done", sandbox.ExecOptions{Background: true})
	var want strings.Builder
	for i := range 500 {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	if got.Stdout != want.String() || cuts < 2 {
		t.Errorf("got %d bytes of %d, %d requests", len(got.Stdout), want.Len(), cuts)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// A command runs as whom it is asked to, in the foreground and in the background.
func TestRunAs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	uid, gid := uint32(0), uint32(0)
	want := "0\n0\n"
	if os.Geteuid() == 0 { // an ordinary user's sandboxes have nobody but root
		uid, gid, want = 12345, 54321, "12345\n54321\n"
	}
	for _, background := range []bool{false, true} {
		if got := r.runWith(h, "id -u; id -g", sandbox.ExecOptions{UID: &uid, GID: &gid, Background: background}); got.Stdout != want {
			t.Errorf("in the background %v: got %+v", background, got)
		}
	}
	if _, err := h.Exec(t.Context(), "id", sandbox.ExecOptions{GID: &gid}); !errors.Is(err, sandbox.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	exec, err := h.Exec(t.Context(), "echo a; echo b >&2; exit 3", sandbox.ExecOptions{Events: true})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for event, err := range exec.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if got[event.Type] += event.Text; len(event.Raw) == 0 {
			t.Errorf("no raw event: %+v", event)
		}
	}
	if got["stdout"] != "a" || got["stderr"] != "b" || got["init"] == "" {
		t.Errorf("got %q", got)
	}
	if _, ok := got["error"]; !ok {
		t.Errorf("no end in %q", got)
	}
	// One that is not walked to its end does not hold the command up.
	exec, err = h.Exec(t.Context(), "seq 1 20000", sandbox.ExecOptions{Events: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range exec.Events() {
		if err != nil {
			t.Error(err)
		}
		break
	}
	if result, err := exec.Wait(); err != nil || strings.Count(result.Stdout, "\n") != 20000 {
		t.Errorf("got %v", err)
	}
	for _, err := range r.unasked(h).Events() {
		if !errors.Is(err, sandbox.ErrInvalid) {
			t.Errorf("got %v", err)
		}
	}
	var piped bytes.Buffer
	exec, err = h.Exec(t.Context(), "echo piped; exit 1", sandbox.ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Pipe(&piped); err != nil || piped.String() != "piped\n" {
		t.Errorf("got %q, %v", piped.String(), err)
	}
}

func (r *rig) unasked(h *sandbox.Handle) *sandbox.Exec {
	r.t.Helper()
	exec, err := h.Exec(r.t.Context(), "true", sandbox.ExecOptions{})
	must(r.t, err)
	return exec
}

func TestCode(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	made, err := h.CreateCodeContext(t.Context(), "bash", "")
	if err != nil {
		t.Fatal(err)
	}
	run := func(h *sandbox.Handle, code string) *sandbox.Result {
		t.Helper()
		exec, err := h.ExecCode(t.Context(), code, sandbox.CodeOptions{Context: *made})
		if err != nil {
			t.Fatal(err)
		}
		result, err := exec.Wait()
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	if got := run(h, "export A=kept; echo set"); strings.TrimSpace(got.Stdout) != "set" || got.ExitCode != 0 {
		t.Errorf("got %+v", got)
	}
	if got := run(h, "echo $A"); strings.TrimSpace(got.Stdout) != "kept" {
		t.Errorf("got %+v", got)
	}
	apart, err := h.CreateCodeContext(t.Context(), "bash", "")
	must(t, err)
	exec, err := h.ExecCode(t.Context(), "echo [$A]", sandbox.CodeOptions{Context: *apart})
	must(t, err)
	if result, err := exec.Wait(); err != nil || strings.TrimSpace(result.Stdout) != "[]" {
		t.Errorf("got %+v, %v", result, err)
	}
	if got := r.payloads(h, store.EventExecStarted)[1]; field(t, got, "code") != "echo $A" || field(t, got, "cmd") != nil {
		t.Errorf("started: %s", got)
	}
	if list, err := h.CodeContexts(t.Context(), ""); err != nil || len(list) == 0 {
		t.Errorf("got %v, %v", list, err)
	}
	r.wantEvents(h, "sandbox.created exec.started:1 exec.completed:1 exec.started:2 exec.completed:2 exec.started:3 exec.completed:3")
	r.checkpoint(h, "")
	resumed := r.resume(h.ID(), sandbox.ResumeOptions{})
	if got := run(resumed, "export A=kept; echo set"); !got.Replayed || strings.TrimSpace(got.Stdout) != "set" {
		t.Errorf("got %+v", got)
	}
	if _, err := resumed.ExecCode(t.Context(), "something else", sandbox.CodeOptions{Context: *made}); !errors.Is(err, sandbox.ErrDivergence) {
		t.Errorf("got %v", err)
	}
	if err := h.DeleteCodeContext(t.Context(), made.ID); err != nil {
		t.Error(err)
	}
}

// Code that takes too long is interrupted, and its interpreter goes on.
func TestCodeTimeout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	bash, err := h.CreateCodeContext(t.Context(), "bash", "")
	must(t, err)
	run := func(code string, timeout time.Duration) *sandbox.Result {
		t.Helper()
		exec, err := h.ExecCode(t.Context(), code, sandbox.CodeOptions{Context: *bash, Timeout: timeout})
		must(t, err)
		result, err := exec.Wait()
		must(t, err)
		return result
	}
	run("x=kept", 0)
	if got := run("echo up; sleep 1000; echo never", 200*time.Millisecond); !got.TimedOut || got.Canceled || strings.Contains(got.Stdout, "never") {
		t.Errorf("got %+v", got)
	}
	if got := r.payloads(h, store.EventExecCompleted)[1]; field(t, got, "reason") != "timeout" {
		t.Errorf("completed: %s", got)
	}
	if got := run("echo $x", 0); strings.TrimSpace(got.Stdout) != "kept" {
		t.Errorf("got %+v", got)
	}
}

// An exception of code is not its end, and no lost stream either.
func TestCodeException(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	const stream = `{"type":"init","text":"c1","timestamp":1}

{"type":"stdout","text":"before","timestamp":2}

{"type":"result","results":{"text/plain":"42","image/png":"aGk="},"timestamp":3}

{"type":"error","timestamp":3,"error":{"ename":"NameError","evalue":"name 'x' is not defined","traceback":["line 1"]}}

{"type":"execution_complete","execution_time":3,"timestamp":4}

`
	r.wire.on(http.MethodPost, "/code", says{http.StatusOK, stream})
	exec, err := h.ExecCode(t.Context(), "x", sandbox.CodeOptions{Context: opensandbox.CodeContext{Language: "python"}, Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	result, err := exec.Wait()
	var failed *sandbox.CommandError
	if !errors.As(err, &failed) || result.ExitCode != 1 || result.Stdout != "before" || result.Exception == nil || result.Exception.Name != "NameError" {
		t.Errorf("got %+v, %v", result, err)
	}
	if got := r.payloads(h, store.EventExecCompleted); len(got) != 1 || got[0] != `{"exitCode":1,"seq":1}` {
		t.Errorf("completed: %s", got)
	}
	// The ledger answers with all that code told.
	r.checkpoint(h, "")
	resumed := r.resume(h.ID(), sandbox.ResumeOptions{})
	exec, err = resumed.ExecCode(t.Context(), "x", sandbox.CodeOptions{Context: opensandbox.CodeContext{Language: "python"}, Events: true})
	must(t, err)
	var told []string
	for event, err := range exec.Events() {
		must(t, err)
		told = append(told, event.Type)
		if event.Type == opensandbox.TypeResult && field(t, string(event.Raw), "results").(map[string]any)["image/png"] != "aGk=" {
			t.Errorf("result %s", event.Raw)
		}
	}
	replayed, err := exec.Wait()
	if err != nil || !replayed.Replayed || !reflect.DeepEqual(replayed.Exception, result.Exception) || strings.Join(told, " ") != "stdout result error" {
		t.Errorf("got %+v, %v, told %v", replayed, err, told)
	}
}

func TestSession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	session, err := h.CreateSession(t.Context(), "/tmp")
	if err != nil {
		t.Fatal(err)
	}
	run := func(s *sandbox.Session, command string, opts sandbox.SessionOptions) *sandbox.Result {
		t.Helper()
		exec, err := s.Exec(t.Context(), command, opts)
		if err != nil {
			t.Fatal(err)
		}
		result, err := exec.Wait()
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	run(session, "export A=kept; cd /", sandbox.SessionOptions{})
	if got := run(session, "echo $A in $PWD; exit 4", sandbox.SessionOptions{}); got.Stdout != "kept in /\n" || got.ExitCode != 4 || got.Seq != 2 {
		t.Errorf("got %+v", got)
	}
	if got := r.payloads(h, store.EventExecStarted)[0]; field(t, got, "sessionId") != session.ID() {
		t.Errorf("started: %s", got)
	}
	for _, cwd := range []string{"/etc", ""} { // it becomes the session's own
		if got := run(session, "pwd", sandbox.SessionOptions{Cwd: cwd}); got.Stdout != "/etc\n" {
			t.Errorf("in %q: got %+v", cwd, got)
		}
	}
	strict, err := session.Exec(t.Context(), "exit 7", sandbox.SessionOptions{Strict: true})
	must(t, err)
	var failed *sandbox.CommandError
	if _, err := strict.Wait(); !errors.As(err, &failed) || failed.ExitCode != 7 {
		t.Errorf("got %v", err)
	}
	if got := run(session, "echo up; sleep 1000", sandbox.SessionOptions{Timeout: 3 * time.Second}); !got.TimedOut || got.Stdout != "up\n" {
		t.Errorf("got %+v", got)
	}
	r.checkpoint(h, "")
	resumed := r.resume(h.ID(), sandbox.ResumeOptions{})
	other, err := resumed.CreateSession(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if got := run(other, "export A=kept; cd /", sandbox.SessionOptions{}); got.Replayed || got.Seq != 1 {
		t.Errorf("got %+v", got)
	}
	for range 2 {
		if err := session.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	deleted := r.wire.count("DELETE", "/session/")
	if err := resumed.Detach(t.Context()); err != nil || r.wire.count("DELETE", "/session/") != deleted+1 {
		t.Errorf("%v, %d sessions deleted", err, r.wire.count("DELETE", "/session/")-deleted)
	}
	_ = wireClient(r.wire).DeleteSandbox(t.Context(), resumed.ID())
}
