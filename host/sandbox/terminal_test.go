package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

func (r *rig) interactive(h *sandbox.Handle, command string, opts sandbox.TerminalOptions) *sandbox.Terminal {
	r.t.Helper()
	terminal, err := h.Interactive(r.t.Context(), command, opts)
	if err != nil {
		r.t.Fatal(err)
	}
	return terminal
}

func typeIn(t testing.TB, terminal *sandbox.Terminal, text string) {
	t.Helper()
	if n, err := terminal.Write([]byte(text)); err != nil || n != len(text) {
		t.Fatalf("typing %q: %d, %v", text, n, err)
	}
}

// readUntil reads until a text has come. What never comes says so after minutes, and not when the time of all tests
// is over.
func readUntil(t testing.TB, r io.Reader, text string) string {
	t.Helper()
	if c, ok := r.(io.Closer); ok {
		defer time.AfterFunc(2*time.Minute, func() { _ = c.Close() }).Stop()
	}
	var got []byte
	buf := make([]byte, 1)
	for !strings.Contains(string(got), text) {
		n, err := r.Read(buf)
		if err != nil {
			t.Fatalf("after %q: %v", got, err)
		}
		got = append(got, buf[:n]...)
	}
	return string(got)
}

// transcript returns what a terminal's ledger has, by type.
func transcript(t testing.TB, r *rig, h *sandbox.Handle) (stdin, stdout string) {
	t.Helper()
	for _, payload := range r.payloads(h, store.EventExecOutput) {
		text, _ := field(t, payload, "text").(string)
		switch field(t, payload, "type") {
		case "stdin":
			stdin += text
		case "stdout":
			stdout += text
		}
	}
	return stdin, stdout
}

func TestInteractive(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	terminal := r.interactive(h, `stty size; echo "in $PWD with $A"; read -r line; echo "got $line"; exit 3`,
		sandbox.TerminalOptions{Cwd: "/tmp", Env: map[string]string{"A": "s3cret it's"}, Columns: 91, Rows: 23})
	out := terminal.Stdout()
	readUntil(t, out, "in /tmp with s3cret it's")
	typeIn(t, terminal, "h\xc3")
	typeIn(t, terminal, "\xa9llo\n")
	rest, err := io.ReadAll(out)
	if err != nil || !strings.Contains(string(rest), "got héllo") {
		t.Errorf("got %q, %v", rest, err)
	}
	result, err := terminal.Wait()
	if err != nil || result.ExitCode != 3 || !strings.Contains(result.Stdout, "23 91") || result.Stderr != "" {
		t.Errorf("got %+v, %v", result, err)
	}
	r.wantEvents(h, "sandbox.created exec.started:1 exec.completed:1")
	started := r.payloads(h, store.EventExecStarted)[0]
	if field(t, started, "interactive") != true || field(t, started, "cwd") != "/tmp" || field(t, started, "seq") != 1.0 || strings.Contains(started, "s3cret") {
		t.Errorf("started: %s", started)
	}
	stdin, stdout := transcript(t, r, h)
	if stdin != "héllo\n" || stdout != result.Stdout {
		t.Errorf("recorded %q and %q", stdin, stdout)
	}
	if got := r.payloads(h, store.EventExecCompleted)[0]; got != `{"exitCode":3,"seq":1}` {
		t.Errorf("completed: %s", got)
	}
	if _, err := terminal.Write([]byte("late")); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestTerminalEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	strict := r.interactive(h, "exit 7", sandbox.TerminalOptions{Strict: true})
	var failed *sandbox.CommandError
	if _, err := strict.Wait(); !errors.As(err, &failed) || failed.ExitCode != 7 {
		t.Errorf("got %v", err)
	}
	closed := r.interactive(h, "echo up; sleep 1000", sandbox.TerminalOptions{})
	readUntil(t, closed.Stdout(), "up")
	if err := closed.Close(); err != nil {
		t.Error(err)
	}
	if result, err := closed.Wait(); err != nil || result.ExitCode == 0 {
		t.Errorf("got %+v, %v", result, err)
	}
	if err := closed.Close(); err != nil {
		t.Error(err)
	}
	signalled := r.interactive(h, "trap 'echo caught; exit 4' TERM; echo up; while :; do sleep 0.05; done", sandbox.TerminalOptions{})
	readUntil(t, signalled.Stdout(), "up")
	if err := signalled.Signal("SIGTERM"); err != nil {
		t.Fatal(err)
	}
	if result, err := signalled.Wait(); err != nil || result.ExitCode != 4 {
		t.Errorf("got %+v, %v", result, err)
	}
	if err := signalled.Resize(80, 24); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	canceled, err := h.Interactive(ctx, "echo up; sleep 1000", sandbox.TerminalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	readUntil(t, canceled.Stdout(), "up")
	cancel()
	if result, err := canceled.Wait(); !errors.Is(err, context.Canceled) || result != nil && !result.Canceled {
		t.Errorf("got %+v, %v", result, err)
	}
	left := r.interactive(h, "echo up; sleep 1000", sandbox.TerminalOptions{})
	readUntil(t, left.Stdout(), "up")
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := left.Wait(); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestAttach(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	var out bytes.Buffer
	result, err := r.interactive(h, "", sandbox.TerminalOptions{}).Attach(strings.NewReader("echo $((40+2))\nexit 5\n"), &out)
	if err != nil || result.ExitCode != 5 || !strings.Contains(out.String(), "42") {
		t.Errorf("got %+v, %v, %q", result, err, out.String())
	}
	// The end of the input is the end of a program that reads to it.
	out.Reset()
	result, err = r.interactive(h, "cat", sandbox.TerminalOptions{}).Attach(strings.NewReader("line\n"), &out)
	if err != nil || result.ExitCode != 0 || strings.Count(out.String(), "line") != 2 {
		t.Errorf("got %+v, %v, %q", result, err, out.String())
	}
}

// The program is never run again because a connection broke, and nothing it prints is lost.
func TestTerminalReconnects(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	cut := make(chan struct{})
	r.cutOnce(cut)
	terminal := r.interactive(h, "echo run >> /tmp/runs; echo first; read -r x; echo second; read -r x; echo third; exit 2", sandbox.TerminalOptions{})
	out := terminal.Stdout()
	readUntil(t, out, "first")
	close(cut)
	readUntil(t, retype(t, terminal, out), "second")
	typeIn(t, terminal, "\n")
	if result, err := terminal.Wait(); err != nil || result.ExitCode != 2 || !strings.Contains(result.Stdout, "third") || result.Truncated {
		t.Errorf("got %+v, %v", result, err)
	}
	if got := r.run(h, "cat /tmp/runs"); got.Stdout != "run\n" {
		t.Errorf("it ran %q", got.Stdout)
	}
}

// cutOnce lets the next connection of a terminal break when cut is closed.
func (r *rig) cutOnce(cut chan struct{}) {
	r.wire.do(http.MethodGet, "/ws", func(req *http.Request) (*http.Response, error) {
		resp, err := pass(req)
		if err == nil && resp.StatusCode == http.StatusSwitchingProtocols {
			r.wire.heal()
			body, _ := resp.Body.(io.ReadWriteCloser)
			resp.Body = &cuttable{ReadWriteCloser: body, cut: cut}
			go func() { <-cut; _ = body.Close() }()
		}
		return resp, err
	})
}

// retype types until a connection takes it.
func retype(t *testing.T, terminal *sandbox.Terminal, out io.Reader) io.Reader {
	t.Helper()
	for {
		if _, err := terminal.Write([]byte("\n")); err == nil {
			return out
		}
		if t.Context().Err() != nil {
			t.Fatal("no connection came back")
		}
	}
}

// cuttable is a connection that can be cut.
type cuttable struct {
	io.ReadWriteCloser
	cut chan struct{}
}

func (c *cuttable) Write(p []byte) (int, error) {
	select {
	case <-c.cut:
		return 0, io.ErrClosedPipe
	default:
		return c.ReadWriteCloser.Write(p)
	}
}

func TestResumeInteractive(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.create(sandbox.CreateOptions{})
	ended := r.interactive(first, "read -r a; echo ended with $a; exit 6", sandbox.TerminalOptions{})
	typeIn(t, ended, "x\n")
	if _, err := ended.Wait(); err != nil {
		t.Fatal(err)
	}
	const program = "a=none; while read -r line; do a=\"$a $line\"; echo \"now $a\"; done"
	running := r.interactive(first, program, sandbox.TerminalOptions{})
	out := running.Stdout()
	typeIn(t, running, "one\n")
	readUntil(t, out, "now none one")
	typeIn(t, running, "two\n")
	readUntil(t, out, "now none one two")
	r.checkpoint(first, "")

	h := r.resume(first.ID(), sandbox.ResumeOptions{})
	ptys := r.wire.count("POST", "/pty")
	replayed := r.interactive(h, "read -r a; echo ended with $a; exit 6", sandbox.TerminalOptions{})
	typeIn(t, replayed, "dropped")
	if err := replayed.Signal("SIGTERM"); err != nil {
		t.Error(err)
	}
	if result, err := replayed.Wait(); err != nil || result.ExitCode != 6 || !result.Replayed || !strings.Contains(result.Stdout, "ended with x") {
		t.Errorf("got %+v, %v", result, err)
	}
	if r.wire.count("POST", "/pty") != ptys {
		t.Error("a replayed terminal was opened")
	}
	if _, err := h.Interactive(t.Context(), "something else", sandbox.TerminalOptions{}); !errors.Is(err, sandbox.ErrDivergence) {
		t.Errorf("got %v", err)
	}
	again := r.interactive(h, program, sandbox.TerminalOptions{})
	typeIn(t, again, "three\n")
	all := readUntil(t, again.Stdout(), "now none one two three")
	if strings.Count(all, "now none one two\r\n") != 2 { // from before, and again
		t.Errorf("got %q", all)
	}
	if stdin, _ := transcript(t, r, h); stdin != "one\ntwo\nthree\n" {
		t.Errorf("recorded %q", stdin)
	}
	r.wantEvents(h, "sandbox.created exec.started:2")
	// And once more, from the resumed one.
	r.checkpoint(h, "")
	next := r.resume(h.ID(), sandbox.ResumeOptions{})
	r.interactive(next, "read -r a; echo ended with $a; exit 6", sandbox.TerminalOptions{})
	last := r.interactive(next, program, sandbox.TerminalOptions{})
	typeIn(t, last, "four\n")
	readUntil(t, last.Stdout(), "now none one two three four")
}

func TestTerminalLedgerFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	terminal := r.interactive(h, "echo up; cat", sandbox.TerminalOptions{})
	readUntil(t, terminal.Stdout(), "up")
	r.store.set(failOn(store.EventExecOutput, store.ErrInvalid))
	if _, err := terminal.Write([]byte("lost\n")); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	r.store.set(nil)
	if err := terminal.Close(); err != nil && !errors.Is(err, store.ErrInvalid) {
		t.Error(err)
	}
	if _, stdout := transcript(t, r, h); strings.Contains(stdout, "lost") {
		t.Errorf("what was not recorded was typed: %q", stdout)
	}
}

func TestTerminalHooks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var calls []string
	h := r.create(sandbox.CreateOptions{Hooks: &sandbox.Hooks{
		ExecStart: func(_ string, seq int64, command string) {
			calls = append(calls, fmt.Sprint("start ", seq, " ", command))
		},
		ExecComplete: func(_ string, seq int64, result *sandbox.Result) {
			calls = append(calls, fmt.Sprint("complete ", seq, " ", result.ExitCode))
		},
	}})
	if _, err := r.interactive(h, "exit 3", sandbox.TerminalOptions{}).Wait(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(calls, ", "); got != "start 1 exit 3, complete 1 3" {
		t.Errorf("got %s", got)
	}
	r.wire.on(http.MethodPost, "/pty", says{http.StatusInternalServerError, `{"code":"X","message":"no terminals left"}`})
	terminal := r.interactive(h, "sh", sandbox.TerminalOptions{})
	if result, err := terminal.Wait(); result != nil || err == nil || !strings.Contains(err.Error(), "no terminals left") {
		t.Errorf("got %+v, %v", result, err)
	}
	if _, err := terminal.Write([]byte("x")); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if _, err := h.Interactive(t.Context(), "sh", sandbox.TerminalOptions{Columns: 80}); !errors.Is(err, sandbox.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	r.wantEvents(h, "sandbox.created exec.started:1 exec.completed:1 exec.started:2")
}

// A program is told what kind of terminal it has, unless somebody knows better.
func TestTerminalKind(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dumb := r.create(sandbox.CreateOptions{Env: map[string]string{"TERM": "dumb"}}) // as servers' shells have it
	named := r.create(sandbox.CreateOptions{Env: map[string]string{"TERM": "screen"}})
	for _, test := range []struct {
		h    *sandbox.Handle
		env  map[string]string
		want string
	}{{dumb, nil, "xterm-256color"}, {named, nil, "screen"}, {named, map[string]string{"TERM": "dumb"}, "dumb"}} {
		result, err := r.interactive(test.h, "echo is $TERM; sleep 0.1", sandbox.TerminalOptions{Env: test.env}).Wait()
		if err != nil || !strings.Contains(result.Stdout, "is "+test.want+"\r\n") {
			t.Errorf("got %+v, %v, want %s", result, err, test.want)
		}
	}
}

// What a process prints in its last moment may not come; then the result is not said to be whole.
func TestTerminalLosesItsLastWords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	r.wire.do(http.MethodGet, "/pty/", func(req *http.Request) (*http.Response, error) {
		if strings.HasSuffix(req.URL.Path, "/ws") {
			return pass(req)
		}
		return says{http.StatusOK, `{"session_id":"p","running":false,"output_offset":1000}`}.RoundTrip(req)
	})
	if result, err := r.interactive(h, "exit 0", sandbox.TerminalOptions{}).Wait(); err != nil || !result.Truncated {
		t.Errorf("got %+v, %v", result, err)
	}
}

// Who takes a terminal over sees what was on it, and goes on with it.
// TestAttachEndsWhenTypingFails ends at once when what is typed can't be recorded, though nothing is
// printed and the program would go on.
func TestAttachEndsWhenTypingFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	terminal := r.interactive(h, "stty -echo; echo begun; exec sleep 1000", sandbox.TerminalOptions{})
	readUntil(t, terminal.Stdout(), "begun")
	in, typing := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		_, err := terminal.Attach(in, io.Discard)
		ended <- err
	}()
	if _, err := r.store.OpenLedger(t.Context(), h.Key()); err != nil { // another driver
		t.Fatal(err)
	}
	if _, err := io.WriteString(typing, "x"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, store.ErrConflict) {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it did not end")
	}
	if err := wireClient(shared.Transport()).DeleteSandbox(t.Context(), h.ID()); err != nil { // it is the other's
		t.Error(err)
	}
}

func TestTakeOver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	first := r.interactive(h, "echo screen; while read -r line; do [ $line = end ] && exit 4; echo got $line; done", sandbox.TerminalOptions{})
	readUntil(t, first.Stdout(), "screen")
	second := r.interactive(h, "", sandbox.TerminalOptions{TakeOver: first.ID()})
	out := second.Stdout()
	readUntil(t, out, "screen")
	if result, err := first.Wait(); result != nil || !errors.Is(err, sandbox.ErrStreamLost) || !errors.Is(err, opensandbox.ErrTakenOver) {
		t.Errorf("got %+v, %v", result, err)
	}
	typeIn(t, second, "more\n")
	readUntil(t, out, "got more")
	typeIn(t, second, "end\n")
	if result, err := second.Wait(); err != nil || result.ExitCode != 4 {
		t.Errorf("got %+v, %v", result, err)
	}
	r.wantEvents(h, "sandbox.created exec.started:1 exec.started:2 exec.completed:2")
	if _, err := r.interactive(h, "", sandbox.TerminalOptions{TakeOver: first.ID()}).Wait(); err == nil {
		t.Error("what has ended was taken over")
	}
}

func TestTerminalMuchOutput(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	result, err := r.interactive(h, "stty -opost; seq 1 200000; echo é; sleep 0.2", sandbox.TerminalOptions{}).Wait()
	if err != nil || result.Truncated {
		t.Fatalf("%v, %+v", err, result.Truncated)
	}
	var want strings.Builder
	for i := range 200000 {
		fmt.Fprintln(&want, i+1)
	}
	if got := result.Stdout; got != want.String()+"é\n" {
		t.Errorf("got %d bytes of %d", len(got), want.Len())
	}
	if _, stdout := transcript(t, r, h); stdout != result.Stdout {
		t.Errorf("the ledger has %d bytes of %d", len(stdout), len(result.Stdout))
	}
}
