package engine_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// shows reads a terminal until it has shown a text, or to its end.
func shows(t *testing.T, pty *opensandbox.PTY, text string) (shown string, exit *int) {
	t.Helper()
	var out strings.Builder
	for text == "" || !strings.Contains(out.String(), text) {
		event, err := pty.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, opensandbox.ErrStreamLost) {
			return out.String(), exit
		}
		if err != nil {
			t.Fatalf("after %q: %v", out.String(), err)
		}
		out.Write(event.Data)
		if event.Kind == opensandbox.PTYExit {
			exit = &event.ExitCode
		}
	}
	return out.String(), exit
}

func attach(t *testing.T, execd *opensandbox.Execd, id string, how opensandbox.PTYAttach) *opensandbox.PTY {
	t.Helper()
	pty, err := execd.AttachPTY(t.Context(), id, how)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pty.Close() })
	return pty
}

func typeIn(t *testing.T, pty *opensandbox.PTY, text string) {
	t.Helper()
	if _, err := pty.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func TestWireTerminal(t *testing.T) {
	t.Parallel()
	_, execd, _ := wire(t, opensandbox.CreateRequest{})
	id, err := execd.CreatePTY(t.Context(), opensandbox.PTYRequest{Cwd: "/tmp"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := execd.AttachPTY(t.Context(), id, opensandbox.PTYAttach{}); !errors.Is(err, opensandbox.ErrPTYEnded) {
		t.Errorf("nothing was started yet: %v", err)
	}
	first := attach(t, execd, id, opensandbox.PTYAttach{Start: true})
	if err := first.Resize(120, 40); err != nil {
		t.Fatal(err)
	}
	typeIn(t, first, "stty size; pwd; X=kept\n")
	shows(t, first, "40 120\r\n/tmp\r\n")
	if _, err := execd.AttachPTY(t.Context(), id, opensandbox.PTYAttach{}); !errors.Is(err, opensandbox.ErrConflict) {
		t.Errorf("a second client: %v", err)
	}

	// Another client takes over, and gets what the first one had not seen.
	second := attach(t, execd, id, opensandbox.PTYAttach{TakeOver: true, Since: first.Offset()})
	for err == nil {
		_, err = first.Next()
	}
	if !errors.Is(err, opensandbox.ErrTakenOver) || !errors.Is(err, opensandbox.ErrStreamLost) {
		t.Errorf("the first client: %v", err)
	}
	typeIn(t, second, "echo [$X]\n")
	shows(t, second, "[kept]")

	// Ctrl-C ends what runs, and the shell goes on. What was typed and not taken yet would be gone with it.
	typeIn(t, second, "(echo 'be''gun'; exec sleep 1000); echo 'a''b'\n")
	shows(t, second, "begun")
	typeIn(t, second, "\x03")
	shows(t, second, "^C")
	typeIn(t, second, "exit 7\n")
	if _, exit := shows(t, second, ""); exit == nil || *exit != 7 {
		t.Errorf("got exit %v", exit)
	}
	if _, err := execd.AttachPTY(t.Context(), id, opensandbox.PTYAttach{}); !errors.Is(err, opensandbox.ErrPTYEnded) {
		t.Errorf("after the end: %v", err)
	}
	for range 2 {
		if err := execd.DeletePTY(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	_, err = execd.PTYStatus(t.Context(), id)
	wantErr(t, "status after delete", err, opensandbox.ErrNotFound)
}

// A command in a terminal runs once, however often somebody connects.
func TestWireTerminalRunsOnce(t *testing.T) {
	t.Parallel()
	_, execd, _ := wire(t, opensandbox.CreateRequest{})
	id, err := execd.CreatePTY(t.Context(), opensandbox.PTYRequest{Command: "echo ran >> /tmp/runs; echo out; echo err >&2; sleep 0.2; exit 3"})
	if err != nil {
		t.Fatal(err)
	}
	out, exit := shows(t, attach(t, execd, id, opensandbox.PTYAttach{Start: true, Pipes: true}), "")
	if exit == nil || *exit != 3 || !strings.Contains(out, "out\n") || !strings.Contains(out, "err\n") {
		t.Errorf("got %q, %v", out, exit)
	}
	if pty, err := execd.AttachPTY(t.Context(), id, opensandbox.PTYAttach{Start: true, TakeOver: true}); err == nil {
		for err == nil {
			_, err = pty.Next()
		}
		_ = pty.Close()
	}
	if got := read(t, execd, "/tmp/runs"); got != "ran\n" {
		t.Errorf("ran %q", got)
	}
}

func TestWireTerminalSignal(t *testing.T) {
	t.Parallel()
	_, execd, _ := wire(t, opensandbox.CreateRequest{})
	id, err := execd.CreatePTY(t.Context(), opensandbox.PTYRequest{Command: "echo up; exec sleep 100"})
	if err != nil {
		t.Fatal(err)
	}
	pty := attach(t, execd, id, opensandbox.PTYAttach{Start: true})
	shows(t, pty, "up")
	if err := pty.Signal(opensandbox.SignalTerminate); err != nil {
		t.Fatal(err)
	}
	if _, exit := shows(t, pty, ""); exit == nil || *exit != 128+15 {
		t.Errorf("got exit %v", exit)
	}
}
