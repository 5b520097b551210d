package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

func TestExecResults(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{Env: map[string]string{"FROM": "create"}})
	if err := h.WriteFile(t.Context(), "/tmp/dir with space/it's", []byte("file\n"), 0); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, command string
		opts          sandbox.ExecOptions
		want          sandbox.Result
	}{
		{"stdout", "echo hi", sandbox.ExecOptions{}, sandbox.Result{Stdout: "hi\n"}},
		{"stderr apart, code kept", "echo out; echo err >&2; exit 1", sandbox.ExecOptions{}, sandbox.Result{Stdout: "out\n", Stderr: "err\n", ExitCode: 1}},
		{"blank lines", `printf 'a\n\nb\n\n\nc'`, sandbox.ExecOptions{}, sandbox.Result{Stdout: "a\n\nb\n\n\nc\n"}},
		{"nothing", "true", sandbox.ExecOptions{}, sandbox.Result{}},
		{"several lines", "x=1\nif [ $x = 1 ]; then\n  echo 'it'\"'\"'s' \"$x\" '$x' \\\\\nfi\n", sandbox.ExecOptions{}, sandbox.Result{Stdout: "it's 1 $x \\\n"}},
		{"unicode", "echo 'héllo 你好 😀'", sandbox.ExecOptions{}, sandbox.Result{Stdout: "héllo 你好 😀\n"}},
		{"standard input is free", "cat; read x; echo after", sandbox.ExecOptions{}, sandbox.Result{Stdout: "after\n"}},
		{"a dash in front", "-c true", sandbox.ExecOptions{}, sandbox.Result{ExitCode: 127}},
		{"not there", "nosuchcmd_zz", sandbox.ExecOptions{}, sandbox.Result{ExitCode: 127}},
		{"shell", "[[ a == a ]] && arr=(1 2) && echo ${#arr[@]}", sandbox.ExecOptions{Shell: "/bin/bash"}, sandbox.Result{Stdout: "2\n"}},
		{"directory", "pwd", sandbox.ExecOptions{Cwd: "/tmp/dir with space"}, sandbox.Result{Stdout: "/tmp/dir with space\n"}},
		{"environment", "echo $FROM $A", sandbox.ExecOptions{Env: map[string]string{"A": "it's $x"}}, sandbox.Result{Stdout: "create it's $x\n"}},
		{"file", `cat "it's"`, sandbox.ExecOptions{Cwd: "/tmp/dir with space"}, sandbox.Result{Stdout: "file\n"}},
		{"signal", "kill -TERM $$", sandbox.ExecOptions{}, sandbox.Result{ExitCode: -1, Signal: "terminated"}},
		{"the shell does not wrap the command", "exec sleep 0", sandbox.ExecOptions{}, sandbox.Result{}},
		{"truncated", "echo 123456; echo 1234567 >&2", sandbox.ExecOptions{ResultBytes: 7}, sandbox.Result{Stdout: "123456\n", Stderr: "1234567", Truncated: true}},
		{"truncated between characters", "echo 你好", sandbox.ExecOptions{ResultBytes: 5}, sandbox.Result{Stdout: "你", Truncated: true}},
	} {
		got := *r.runWith(h, test.command, test.opts)
		if strings.Contains(got.Stderr, "not found") {
			got.Stderr = ""
		}
		got.Seq = 0
		if got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
}

func TestExecPayloads(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	r.run(h, "echo '<a&b>'; exit 3")
	r.run(h, "true")
	r.wantEvents(h, "sandbox.created exec.started:1 exec.completed:1 exec.started:2 exec.completed:2")
	started := r.payloads(h, store.EventExecStarted)
	if want := `{"cmd":"echo '<a&b>'; exit 3","seq":1,"digest":"1:none:`; !strings.HasPrefix(started[0], want) {
		t.Errorf("got %s, want %s…", started[0], want)
	}
	if got := r.payloads(h, store.EventExecCompleted); got[0] != `{"exitCode":3,"seq":1}` || got[1] != `{"exitCode":0,"seq":2}` {
		t.Errorf("got %s", got)
	}
	var types []string
	last := int64(0)
	for _, e := range r.entries(h) {
		if e.TS < last {
			t.Errorf("time goes back at %s", e.Event)
		}
		last = e.TS
		if e.Event == store.EventExecOutput && e.StepIndex == 1 {
			payload := string(e.Payload)
			types = append(types, fmt.Sprint(field(t, payload, "type")))
			if !strings.HasPrefix(payload, `{"seq":1,"type":`) {
				t.Errorf("got %s", payload)
			}
		}
	}
	if got := strings.Join(types, " "); got != "init ping stdout error" && got != "init stdout error" {
		t.Errorf("got %s", got)
	}
}

func TestExecStrict(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	exec, err := h.Exec(t.Context(), "echo hi; exit 42", sandbox.ExecOptions{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(exec.Stdout())
	if err != nil || string(out) != "hi\n" {
		t.Errorf("got %q, %v", out, err)
	}
	result, err := exec.Wait()
	var failed *sandbox.CommandError
	if !errors.As(err, &failed) || failed.ExitCode != 42 || failed.SandboxID != h.ID() || failed.Command != "echo hi; exit 42" {
		t.Fatalf("got %v", err)
	}
	if want := `command exited with code 42: "echo hi; exit 42"`; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if result == nil || result.ExitCode != 42 || result.Stdout != "hi\n" {
		t.Errorf("got %+v", result)
	}
	r.wantEvents(h, "sandbox.created exec.started:1 exec.completed:1")
}

// Output comes while the command runs, in order, and all of it from the start.
func TestExecStreams(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	if err := h.WriteFile(t.Context(), "/tmp/go", nil, 0); err != nil {
		t.Fatal(err)
	}
	exec, err := h.Exec(t.Context(), "echo one; echo two; while [ -e /tmp/go ]; do sleep 0.01; done; echo three", sandbox.ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 8)
	if _, err := io.ReadFull(exec.Stdout(), buf); err != nil || string(buf) != "one\ntwo\n" {
		t.Fatalf("got %q, %v", buf, err)
	}
	select {
	case <-exec.Done():
		t.Error("ended already")
	default:
	}
	r.run(h, "rm /tmp/go")
	rest, err := io.ReadAll(exec.Stdout())
	if err != nil || string(rest) != "three\n" {
		t.Errorf("got %q, %v", rest, err)
	}
	if result, err := exec.Wait(); err != nil || result.Stdout != "one\ntwo\nthree\n" {
		t.Errorf("got %+v, %v", result, err)
	}
	if rest, err = io.ReadAll(exec.Stderr()); err != nil || len(rest) != 0 {
		t.Errorf("got %q, %v", rest, err)
	}
}

func TestExecRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	for _, test := range []struct {
		command string
		opts    sandbox.ExecOptions
		want    error
	}{
		{"", sandbox.ExecOptions{}, sandbox.ErrInvalid},
		{" \n", sandbox.ExecOptions{}, sandbox.ErrInvalid},
		{"a\x00b", sandbox.ExecOptions{}, sandbox.ErrInvalid},
		{"a\xffb", sandbox.ExecOptions{}, sandbox.ErrInvalid},
		{"true", sandbox.ExecOptions{Timeout: -1}, sandbox.ErrInvalid},
	} {
		_, err := h.Exec(t.Context(), test.command, test.opts)
		var where *sandbox.Error
		if !errors.Is(err, test.want) || !errors.As(err, &where) || where.SandboxID != h.ID() || where.Op != "exec" {
			t.Errorf("%.10q: got %v", test.command, err)
		}
	}
	r.wantEvents(h, "sandbox.created")
	// They have their position all the same, as in the reference.
	if result := r.run(h, "true"); result.Seq != 6 {
		t.Errorf("seq %d", result.Seq)
	}
	// What only the sandbox can refuse was started, and has no end.
	result, err := h.Run(t.Context(), "true", sandbox.ExecOptions{Cwd: "/nope"})
	if result != nil || !errors.Is(err, opensandbox.ErrInvalid) {
		t.Errorf("got %+v, %v", result, err)
	}
	r.wantEvents(h, "sandbox.created exec.started:6 exec.completed:6 exec.started:7")
	if result = r.run(h, strings.Repeat("#", 99<<10)+"\necho long"); result.Stdout != "long\n" {
		t.Errorf("got %+v", result)
	}
}

func TestExecTimeout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	result := r.runWith(h, "echo start; sleep 100", sandbox.ExecOptions{Timeout: 3 * time.Second})
	if want := (sandbox.Result{Seq: 1, Stdout: "start\n", ExitCode: -1, Signal: "killed", TimedOut: true}); *result != want {
		t.Errorf("got %+v", result)
	}
	_, err := h.Run(t.Context(), "sleep 100", sandbox.ExecOptions{Timeout: time.Millisecond, Strict: true})
	var failed *sandbox.CommandError
	if !errors.As(err, &failed) || !failed.TimedOut {
		t.Errorf("got %v", err)
	}
	// A kill in time is not a timeout.
	if result = r.runWith(h, "kill -KILL $$", sandbox.ExecOptions{Timeout: time.Minute}); result.TimedOut || result.Signal != "killed" {
		t.Errorf("got %+v", result)
	}
	if got := r.payloads(h, store.EventExecCompleted); got[0] != `{"exitCode":-1,"seq":1,"reason":"timeout"}` || got[2] != `{"exitCode":-1,"seq":3}` {
		t.Errorf("got %s", got)
	}
}

func TestExecCancel(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	exec, err := h.Exec(ctx, "echo start; sleep 100", sandbox.ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(exec.Stdout(), make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	cancel()
	result, err := exec.Wait()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if want := (sandbox.Result{Seq: 1, Stdout: "start\n", ExitCode: -1, Signal: "terminated", Canceled: true}); result == nil || *result != want {
		t.Errorf("got %+v", result)
	}
	if got := r.payloads(h, store.EventExecCompleted); len(got) != 1 || got[0] != `{"exitCode":-1,"seq":1,"reason":"canceled"}` {
		t.Errorf("got %s", got)
	}
	if result := r.run(h, "pgrep -f 'sleep 10[0]' || echo none"); result.Stdout != "none\n" && !strings.Contains(result.Stderr, "not found") {
		t.Errorf("it still runs: %+v", result)
	}
	if _, err := h.Exec(ctx, "true", sandbox.ExecOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A server that knows no timeouts, as older ones, does not make a command endless.
func TestExecTimeoutIsKeptHere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	r.wire.do("POST", "/command", func(req *http.Request) (*http.Response, error) {
		raw, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		raw = regexp.MustCompile(`,"timeout":\d+`).ReplaceAll(raw, nil)
		req = req.Clone(req.Context())
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
		return pass(req)
	})
	for _, background := range []bool{false, true} {
		result := r.runWith(h, "echo up; sleep 1000", sandbox.ExecOptions{Timeout: 3 * time.Second, Background: background})
		if !result.TimedOut || result.Canceled || result.ExitCode != -1 || result.Stdout != "up\n" {
			t.Errorf("in the background %v: got %+v", background, result)
		}
	}
	for _, payload := range r.payloads(h, store.EventExecCompleted) {
		if field(t, payload, "reason") != "timeout" {
			t.Errorf("completed: %s", payload)
		}
	}
}

// A command that does not end when it is told to is killed.
func TestExecCancelKills(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	exec, err := h.Exec(ctx, "exec 2>/dev/null; trap 'echo told' TERM; echo start; while :; do sleep 0.05; done", sandbox.ExecOptions{})
	must(t, err)
	readUntil(t, exec.Stdout(), "start\n")
	cancel()
	result, err := exec.Wait()
	if want := (sandbox.Result{Seq: 1, Stdout: "start\ntold\n", ExitCode: -1, Signal: "killed", Canceled: true}); !errors.Is(err, context.Canceled) || result == nil || *result != want {
		t.Errorf("got %+v, %v", result, err)
	}
}

// The call's order is the position, whoever ends first.
func TestExecsInParallel(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	var execs []*sandbox.Exec
	for i := range 20 {
		exec, err := h.Exec(t.Context(), fmt.Sprintf("sleep 0.0%d; echo %d", (20-i)%10, i+1), sandbox.ExecOptions{})
		if err != nil {
			t.Fatal(err)
		}
		execs = append(execs, exec)
	}
	for i, exec := range execs {
		result, err := exec.Wait()
		if err != nil || result.Stdout != fmt.Sprintf("%d\n", i+1) || exec.Seq() != int64(i+1) {
			t.Errorf("exec %d: %+v, %v", i+1, result, err)
		}
	}
	var starts []int64
	for _, e := range r.entries(h) {
		if e.Event == store.EventExecStarted {
			starts = append(starts, e.StepIndex)
		}
	}
	for i, seq := range starts {
		if seq != int64(i+1) {
			t.Fatalf("started in the order %d", starts)
		}
	}
}

func TestManyCallersOneHandle(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	seen := make([]bool, 31)
	var mu sync.Mutex
	var wait sync.WaitGroup
	for range 30 {
		wait.Go(func() {
			result, err := h.Run(context.Background(), "echo x", sandbox.ExecOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if seen[result.Seq] {
				t.Errorf("seq %d twice", result.Seq)
			}
			seen[result.Seq] = true
		})
	}
	wait.Wait()
}
