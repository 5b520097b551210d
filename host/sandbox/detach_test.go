package sandbox_test

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// eventually waits for what happens in a sandbox.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// A background command is left running, goes on while nobody follows it, and is followed by another
// handle, twice: it ran once, and the ledger has all of it, once and under one seq.
func TestDetachCommand(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.create(sandbox.CreateOptions{})
	const script = `echo run >>/tmp/runs; i=0; while [ $i -lt 3000 ]; do echo "line $i of the first part"; i=$((i+1)); done; printf half; ` +
		`until [ -e /tmp/go ]; do sleep 0.05; done; echo " line"; echo middle; until [ -e /tmp/end ]; do sleep 0.05; done; echo last; exit 5`
	exec, err := first.Exec(t.Context(), script, sandbox.ExecOptions{Background: true})
	must(t, err)
	out := exec.Stdout()
	readUntil(t, out, "line 2999 of the first part\n")
	must(t, exec.Detach(t.Context()))
	if result, err := exec.Wait(); result != nil || !errors.Is(err, sandbox.ErrDetached) {
		t.Errorf("got %+v, %v", result, err)
	}
	if _, err := io.ReadAll(out); !errors.Is(err, sandbox.ErrDetached) {
		t.Errorf("reading: %v", err)
	}
	if err := exec.Detach(t.Context()); err != nil {
		t.Errorf("again: %v", err)
	}
	r.run(first, "echo between; : >/tmp/go")
	must(t, first.Detach(t.Context()))

	h := r.keep(r.client.Connect(t.Context(), first.ID(), sandbox.ConnectOptions{}))
	list, err := h.Detached(t.Context())
	if err != nil || len(list) != 1 || list[0].Seq != 1 || list[0].Command != script || list[0].StartedAt.IsZero() {
		t.Fatalf("got %+v, %v", list, err)
	}
	if status, err := h.DetachedStatus(t.Context(), list[0]); err != nil || !status.Running || status.ExitCode != nil {
		t.Errorf("got %+v, %v", status, err)
	}
	again, err := h.Attach(t.Context(), 1, sandbox.AttachOptions{})
	must(t, err)
	if _, err := h.Attach(t.Context(), 1, sandbox.AttachOptions{}); !errors.Is(err, sandbox.ErrInvalid) {
		t.Errorf("attached twice: %v", err)
	}
	if got := readUntil(t, again.Stdout(), "middle\n"); got != "half line\nmiddle\n" {
		t.Errorf("got %q", got)
	}
	must(t, again.Detach(t.Context()))
	r.run(h, ": >/tmp/end")
	eventually(t, "the command's end", func() bool {
		status, err := h.DetachedStatus(t.Context(), list[0])
		must(t, err)
		return !status.Running && *status.ExitCode == 5
	})
	again, err = h.Attach(t.Context(), 1, sandbox.AttachOptions{Strict: true})
	must(t, err)
	result, err := again.Wait()
	var failed *sandbox.CommandError
	if !errors.As(err, &failed) || result.ExitCode != 5 || result.Stdout != "last\n" || result.Seq != 1 || result.Canceled {
		t.Errorf("got %+v, %v", result, err)
	}
	if got := r.run(h, "cat /tmp/runs"); got.Stdout != "run\n" || got.Seq != 4 {
		t.Errorf("got %+v", got)
	}
	if list, err := h.Detached(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("got %+v, %v", list, err)
	}
	if _, err := h.Attach(t.Context(), 1, sandbox.AttachOptions{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	r.wantEvents(h, "sandbox.created exec.started:1 exec.detached:1 exec.started:2 exec.completed:2 "+
		"exec.detached:1 exec.started:3 exec.completed:3 exec.completed:1 exec.started:4 exec.completed:4")

	r.checkpoint(h, "")
	resumed := r.resume(h.ID(), sandbox.ResumeOptions{})
	replayed := r.runWith(resumed, script, sandbox.ExecOptions{Background: true})
	var want strings.Builder
	for i := range 3000 {
		want.WriteString("line " + strconv.Itoa(i) + " of the first part\n")
	}
	want.WriteString("half line\nmiddle\nlast\n")
	if !replayed.Replayed || replayed.ExitCode != 5 || replayed.Stdout != want.String() {
		t.Errorf("replayed %d bytes, want %d; %v, code %d", len(replayed.Stdout), want.Len(), replayed.Replayed, replayed.ExitCode)
	}
}

// A terminal is left and taken up again by another handle, under the same seq.
func TestDetachTerminal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.create(sandbox.CreateOptions{})
	terminal := r.interactive(first, `echo run >>/tmp/runs; echo "up"; read -r a; echo "got $a"; read -r b; echo "then $b"; exit 6`, sandbox.TerminalOptions{})
	readUntil(t, terminal.Stdout(), "up")
	must(t, terminal.Detach(t.Context()))
	if _, err := terminal.Wait(); !errors.Is(err, sandbox.ErrDetached) {
		t.Errorf("got %v", err)
	}
	must(t, first.Detach(t.Context()))

	h := r.keep(r.client.Connect(t.Context(), first.ID(), sandbox.ConnectOptions{}))
	if _, err := h.Attach(t.Context(), 1, sandbox.AttachOptions{}); !errors.Is(err, sandbox.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	again, err := h.AttachTerminal(t.Context(), 1, sandbox.TerminalOptions{Columns: 90, Rows: 30})
	must(t, err)
	out := again.Stdout()
	typeIn(t, again, "one\n")
	if got := readUntil(t, out, "got one"); strings.Contains(got, "up") {
		t.Errorf("known output came again: %q", got)
	}
	typeIn(t, again, "two\n")
	rest, err := io.ReadAll(out)
	if err != nil || !strings.Contains(string(rest), "then two") {
		t.Errorf("got %q, %v", rest, err)
	}
	if result, err := again.Wait(); err != nil || result.ExitCode != 6 || result.Canceled {
		t.Errorf("got %+v, %v", result, err)
	}
	if stdin, stdout := transcript(t, r, h); stdin != "one\ntwo\n" || strings.Count(stdout, "up") != 1 || !strings.Contains(stdout, "then two") {
		t.Errorf("recorded %q and %q", stdin, stdout)
	}
	if got := r.run(h, "cat /tmp/runs; ls -A /tmp | grep alineo"); got.Stdout != "run\n" {
		t.Errorf("got %+v", got)
	}
	r.wantEvents(h, "sandbox.created exec.started:1 exec.detached:1 exec.completed:1 exec.started:2 exec.completed:2")
}

// A terminal that ended while nobody was attached has the exit code and what it printed last, and its
// command does not run again. One that was ended from outside has none.
func TestDetachedTerminalEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	terminal := r.interactive(h, "echo run >>/tmp/runs; echo up; until [ -e /tmp/end ]; do sleep 0.05; done; echo last; exec sh -c 'exit 7'", sandbox.TerminalOptions{})
	readUntil(t, terminal.Stdout(), "up")
	must(t, terminal.Detach(t.Context()))
	list, err := h.Detached(t.Context())
	must(t, err)
	if status, err := h.DetachedStatus(t.Context(), list[0]); err != nil || !status.Running {
		t.Errorf("got %+v, %v", status, err)
	}
	r.run(h, ": >/tmp/end")
	eventually(t, "the program's end", func() bool {
		status, err := h.DetachedStatus(t.Context(), list[0])
		must(t, err)
		return !status.Running && *status.ExitCode == 7
	})
	again, err := h.AttachTerminal(t.Context(), 1, sandbox.TerminalOptions{})
	must(t, err)
	if result, err := again.Wait(); err != nil || result.ExitCode != 7 || result.Stdout != "last\r\n" || result.Truncated {
		t.Errorf("got %+v, %v", result, err)
	}
	if _, stdout := transcript(t, r, h); stdout != "up\r\nlast\r\n" {
		t.Errorf("recorded %q", stdout)
	}
	killed := r.interactive(h, "echo $PPID >/tmp/pid; echo up; sleep 100", sandbox.TerminalOptions{})
	readUntil(t, killed.Stdout(), "up")
	must(t, killed.Detach(t.Context()))
	r.run(h, "kill -KILL $(cat /tmp/pid)")
	list, err = h.Detached(t.Context())
	must(t, err)
	eventually(t, "the other program's end", func() bool {
		status, err := h.DetachedStatus(t.Context(), list[0])
		must(t, err)
		return !status.Running && status.ExitCode == nil
	})
	again, err = h.AttachTerminal(t.Context(), killed.Seq(), sandbox.TerminalOptions{})
	must(t, err)
	if result, err := again.Wait(); result != nil || !errors.Is(err, sandbox.ErrStreamLost) {
		t.Errorf("got %+v, %v", result, err)
	}
	if got := r.run(h, "cat /tmp/runs; ls -A /tmp | grep alineo"); got.Stdout != "run\n" {
		t.Errorf("got %+v", got)
	}
}

// What can't be left running says so, and when the ledger does not take where it goes on, so does that.
func TestDetachFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	plain, err := h.Exec(t.Context(), "sleep 2", sandbox.ExecOptions{})
	must(t, err)
	if err := plain.Detach(t.Context()); !errors.Is(err, sandbox.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if _, err := plain.Wait(); err != nil {
		t.Error(err)
	}
	ended, err := h.Exec(t.Context(), "true", sandbox.ExecOptions{Background: true})
	must(t, err)
	if _, err := ended.Wait(); err != nil {
		t.Error(err)
	}
	if err := ended.Detach(t.Context()); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("got %v", err)
	}
	at, err := h.Exec(t.Context(), "sleep 3", sandbox.ExecOptions{Background: true}) // at once
	must(t, err)
	must(t, at.Detach(t.Context()))
	at, err = h.Attach(t.Context(), at.Seq(), sandbox.AttachOptions{})
	must(t, err)
	if result, err := at.Wait(); err != nil || result.ExitCode != 0 {
		t.Errorf("got %+v, %v", result, err)
	}
	lost, err := h.Exec(t.Context(), "echo up; sleep 100", sandbox.ExecOptions{Background: true})
	must(t, err)
	readUntil(t, lost.Stdout(), "up\n")
	r.store.set(failOn(store.EventExecDetached, store.ErrUnavailable))
	if err := lost.Detach(t.Context()); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "goes on in the sandbox") {
		t.Errorf("got %v", err)
	}
	r.store.set(nil)
}
