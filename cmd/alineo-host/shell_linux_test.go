package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// window is a terminal with alineo-host on it, as a person has it.
type window struct {
	keys   *os.File // what is written here is typed
	tty    *os.File
	cmd    *exec.Cmd
	pieces chan []byte
	seen   []byte
}

// openWindow starts a command line on a new terminal of a size.
func openWindow(t *testing.T, dir string, columns, rows uint16, args ...string) *window {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := &window{keys: master, tty: tty, pieces: make(chan []byte)}
	w.resize(t, columns, rows)
	w.cmd = exec.CommandContext(t.Context(), "alineo-host", args...)
	w.cmd.Dir, w.cmd.Env = dir, append(os.Environ(), "HOME="+dir, "TERM=xterm")
	w.cmd.Stdin, w.cmd.Stdout, w.cmd.Stderr = tty, tty, tty
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(w.pieces)
		for {
			buf := make([]byte, 4096)
			n, err := master.Read(buf)
			if n > 0 {
				w.pieces <- buf[:n]
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = errors.Join(tty.Close(), master.Close()) // ends the reader
		for range w.pieces {                         //nolint:revive // what nobody waits for
		}
	})
	return w
}

func (w *window) resize(t *testing.T, columns, rows uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(w.keys.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows}); err != nil {
		t.Fatal(err)
	}
}

func (w *window) typeKeys(t *testing.T, keys string) {
	t.Helper()
	if _, err := w.keys.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// await waits until the window shows a text that it did not show before.
func (w *window) await(t *testing.T, text string) {
	t.Helper()
	const patience = 90 * time.Second
	if !w.shows(t, text, patience) {
		t.Fatalf("it did not show %q; it showed %q", text, w.seen)
	}
}

// shows is await for a text that may not come.
func (w *window) shows(t *testing.T, text string, within time.Duration) bool {
	t.Helper()
	timer := time.NewTimer(within)
	defer timer.Stop()
	for {
		if at := bytes.Index(w.seen, []byte(text)); at >= 0 {
			w.seen = w.seen[at+len(text):]
			return true
		}
		select {
		case piece, ok := <-w.pieces:
			if !ok {
				t.Fatalf("it ended before it showed %q; it showed %q", text, w.seen)
			}
			w.seen = append(w.seen, piece...)
		case <-timer.C:
			return false
		}
	}
}

// ends waits for the program, and checks its code and that the terminal is as it was.
func (w *window) ends(t *testing.T, code int) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- w.cmd.Wait() }()
	for {
		select {
		case piece := <-w.pieces: // a program that nobody reads does not end
			w.seen = append(w.seen, piece...)
			continue
		case <-done:
		}
		break
	}
	if got := w.cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d; it showed %q", got, code, w.seen)
	}
	state, err := unix.IoctlGetTermios(int(w.tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	if state.Lflag&unix.ICANON == 0 || state.Lflag&unix.ECHO == 0 {
		t.Error("the terminal was left raw")
	}
}

// newPlace makes a folder with an engine of its own, and returns what runs a command line there.
func newPlace(t *testing.T) (dir string, run func(args ...string) string) {
	t.Helper()
	if !sandboxes(t) {
		t.Skip("this machine can run no sandbox")
	}
	dir = t.TempDir()
	data, err := engineData()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(data) })
	if err := os.WriteFile(filepath.Join(dir, "alineo.toml"), fmt.Appendf(nil, "[engine]\ndata = %q\n", data), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "alineo-host", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
}

// TestTop shows what runs, again and again, on a screen of its own, until Ctrl-C.
func TestTop(t *testing.T) {
	t.Parallel()
	dir, run := newPlace(t)
	id := run("create", "--name", "busy")
	w := openWindow(t, dir, 60, 6, "top", "--interval", "500ms")
	w.await(t, "\x1b[?1049h")
	w.await(t, "1 sandbox (Ctrl-C ends)")
	w.await(t, id[:8]+"  busy")
	w.await(t, "1 sandbox (Ctrl-C ends)") // again
	run("pause", id)
	w.await(t, "Paused")
	run("sandboxes", "delete", id)
	w.await(t, "0 sandboxes (Ctrl-C ends)")
	w.typeKeys(t, "\x03")
	w.await(t, "\x1b[?1049l")
	w.ends(t, 0)
}

// TestShell works in a sandbox on a terminal: its size, its keys, and its ends.
func TestShell(t *testing.T) {
	t.Parallel()
	dir, run := newPlace(t)
	id := run("create")

	w := openWindow(t, dir, 100, 30, "shell", id[:8])
	w.typeKeys(t, "stty size\r")
	w.await(t, "30 100")
	w.resize(t, 90, 20)
	// The window's change is told on its own way, so it is asked for until it is there.
	w.typeKeys(t, "until test \"$(stty size)\" = '20 90'; do sleep 0.1; done; echo n''ew\r")
	w.await(t, "new")
	// In the group that Ctrl-C is for: between two commands of its own a shell may take it for nobody's.
	w.typeKeys(t, "(echo term $TERM; exec sleep 300)\r")
	w.await(t, "term xterm")
	// On a busy machine a shell may miss it the first time.
	w.typeKeys(t, "\x03")
	w.typeKeys(t, "echo code $?\r")
	for tries := 1; !w.shows(t, "code 130", 10*time.Second); tries++ {
		if tries == 5 {
			t.Fatalf("Ctrl-C was pressed %d times; it showed %q", tries, w.seen)
		}
		t.Logf("Ctrl-C is pressed again; it showed %q", w.seen)
		w.typeKeys(t, "\x03")
		w.typeKeys(t, "echo code $?\r")
	}
	w.typeKeys(t, "exit 7\r")
	w.ends(t, 7)

	w = openWindow(t, dir, 80, 24, "shell", id, "--", "echo up; sleep 300")
	w.await(t, "up")
	w.typeKeys(t, "\x1dq")
	w.await(t, "ended with Ctrl-] q")
	w.ends(t, exitInterrupted)

	// Left, and gone on with.
	w = openWindow(t, dir, 80, 24, "shell", id, "--", "echo up; read -r a; echo got $a; exit 4")
	w.await(t, "up")
	w.typeKeys(t, "\x1dd")
	w.await(t, "shell --attach 3 ")
	w.ends(t, 0)
	if got := run("exec", "--list", id); !strings.Contains(got, "interactive") || !strings.Contains(got, "running") {
		t.Errorf("got %q", got)
	}
	w = openWindow(t, dir, 80, 24, "shell", "--attach", "3", id)
	w.typeKeys(t, "a\x1d\x1db\r")
	w.await(t, "got a")
	w.ends(t, 4)

	w = openWindow(t, dir, 80, 24, "shell", id, "--", "echo up; sleep 300")
	w.await(t, "up")
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	w.ends(t, exitTerminated)

	// Another driver takes the sandbox over: the session ends as soon as it can't be recorded.
	w = openWindow(t, dir, 80, 24, "shell", id, "--", "echo up; cat")
	w.await(t, "up")
	if got := run("exec", id, "--", "echo mine"); got != "mine" {
		t.Errorf("got %q", got)
	}
	w.typeKeys(t, "lost\r")
	w.await(t, "held by another driver")
	w.ends(t, exitHost)
	run("sandboxes", "delete", id)
}
