package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Whatever is in the ledger's place, one sentence says what it is and where, and the ledger works as
// soon as it is gone, in the host that was open all the time.
func TestLedgerPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(file string) error
		want  string
	}{
		"folder":         {func(file string) error { return os.Mkdir(file, 0o700) }, "a folder is in place of the database file"},
		"pipe":           {func(file string) error { return unix.Mkfifo(file, 0o600) }, "something that is neither a file nor a folder"},
		"circle":         {func(file string) error { return os.Symlink(filepath.Base(file), file) }, "symbolic links in its path go round in a circle"},
		"text":           {func(file string) error { return os.WriteFile(file, bytes.Repeat([]byte("text "), 1000), 0o600) }, "not an SQLite database"},
		"damaged header": {spoilt(func(data []byte) { data[3] ^= 1 }), "not an SQLite database"},
		"damaged pages":  {spoilt(func(data []byte) { clear(data[4096:]) }), "the database file is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			if err := c.spoil(s.ledger); err != nil {
				t.Fatal(err)
			}
			h := s.open(t)
			for range 2 {
				_, openErr := h.Writer().Open(t.Context(), sandboxKey(0))
				_, listErr := h.Store().ListSandboxes(t.Context(), store.ListOptions{})
				for _, err := range []error{h.CheckLedger(t.Context()), openErr, listErr} {
					if err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "\n") > 0 {
						t.Errorf("got %v, want %q", err, c.want)
					}
				}
				if err := h.CheckLedger(t.Context()); err == nil || !strings.Contains(err.Error(), s.ledger) {
					t.Errorf("%v does not say where", err)
				}
			}
			err := os.Rename(s.ledger+".good", s.ledger)
			if errors.Is(err, os.ErrNotExist) {
				err = os.Remove(s.ledger)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := appendMarks(t.Context(), h, 0, 1); err != nil {
				t.Errorf("after the repair: %v", err)
			}
		})
	}
}

// spoilt makes a real ledger with something in it and spoils its bytes; a good copy stays beside it.
func spoilt(spoil func(data []byte)) func(file string) error {
	return func(file string) error {
		cfg, err := host.LoadConfig(filepath.Join(filepath.Dir(file), "alineo.toml"))
		if err != nil {
			return err
		}
		h, err := host.Open(context.Background(), cfg)
		if err != nil {
			return err
		}
		if err := errors.Join(appendMarks(context.Background(), h, 0, 200), h.Close(context.Background())); err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(file+".good", data, 0o600); err != nil {
			return err
		}
		spoil(data)
		return os.WriteFile(file, data, 0o600)
	}
}

// A disk that fills up while several sandboxes append: each failed append says so, what was
// acknowledged is there and nothing else is; and when there is room again, the same streams go on.
func TestLedgerDiskFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mountSmall(t, dir, "20m")
	s := siteIn(t, dir)
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 16<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	h := s.open(t)
	next := [loadSandboxes]int{}
	var streams [loadSandboxes]*ledger.Stream
	for i := range streams {
		var err error
		if streams[i], err = h.Writer().Open(t.Context(), sandboxKey(i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, left := range []int64{10 << 20, 0} {
		before := next
		fillLedger(t, streams, &next)
		auditAll(t, s, next)
		if err := os.Truncate(ballast, left); err != nil {
			t.Fatal(err)
		}
		for i, stream := range streams {
			if next[i] == before[i] {
				t.Errorf("sandbox %d wrote nothing before the disk was full", i)
			}
			if err := stream.Append(t.Context(), chaosMark(mark{Writer: i, N: next[i]})); err != nil {
				t.Fatalf("there is room again: %v", err)
			}
			next[i]++
		}
		auditAll(t, s, next)
	}
}

// mountSmall mounts a file system of a size over a folder.
func mountSmall(t *testing.T, dir, size string) {
	t.Helper()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("SKIPPED: a full disk needs a small file system, which only root may mount: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// fillLedger appends to all streams in turns, some entries in flight, until the disk is full, and
// counts what was acknowledged.
func fillLedger(t *testing.T, streams [loadSandboxes]*ledger.Stream, next *[loadSandboxes]int) {
	t.Helper()
	for full := false; !full; {
		var tickets [loadSandboxes][]*ledger.Ticket
		for range 8 {
			for i, stream := range streams {
				m := chaosMark(mark{Writer: i, N: next[i] + len(tickets[i]), Pad: strings.Repeat("x", 5000)})
				ticket, err := stream.Enqueue(t.Context(), m)
				if err != nil {
					full = true
					wantFull(t, err)
					continue
				}
				tickets[i] = append(tickets[i], ticket)
			}
		}
		for i := range tickets {
			failed := false
			for _, ticket := range tickets[i] {
				err := ticket.Wait(t.Context())
				switch {
				case err != nil:
					full, failed = true, true
					wantFull(t, err)
				case failed:
					t.Error("an entry behind one that failed was written")
				default:
					next[i]++
				}
			}
		}
	}
}

func wantFull(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("a full disk: %v", err)
	}
}

// The file is taken away while a host has it open: nothing more is acknowledged, no empty file takes its
// place, and when it is back the same stream goes on.
func TestLedgerMoved(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	h := s.open(t)
	if err := appendMarks(t.Context(), h, 0, 3); err != nil {
		t.Fatal(err)
	}
	stream, err := h.Writer().Open(t.Context(), sandboxKey(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.ledger, s.ledger+".away"); err != nil {
		t.Fatal(err)
	}
	const want = "the database file was moved or removed while it was open"
	more := 0 // until it is noticed, some may be written to where the file is now
	for err == nil {
		if err = stream.Append(t.Context(), chaosMark(mark{Writer: 1, N: more})); err == nil {
			more++
		}
	}
	for range 2 {
		if err := stream.Append(t.Context(), chaosMark(mark{Writer: 1, N: more})); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), want) {
			t.Errorf("appending: %v", err)
		}
		if err := h.CheckLedger(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("reading: %v", err)
		}
	}
	if _, err := os.Lstat(s.ledger); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("another file is in its place: %v", err)
	}
	if err := os.Rename(s.ledger+".away", s.ledger); err != nil {
		t.Fatal(err)
	}
	if err := stream.Append(t.Context(), chaosMark(mark{Writer: 1, N: more})); err != nil {
		t.Error(err)
	}
	auditAll(t, s, [loadSandboxes]int{3, more + 1})
}

// Whoever may only read a ledger can list and read it; writing says why not.
func TestLedgerReadOnly(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]os.FileMode{"file": 0o777, "folder": 0o555} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := siteIn(t, filepath.Join(t.TempDir(), "in"))
			func() {
				h := s.open(t)
				if err := errors.Join(appendMarks(t.Context(), h, 0, 3), h.Close(t.Context())); err != nil {
					t.Fatal(err)
				}
			}()
			err := errors.Join(os.Chmod(s.ledger, 0o444), os.Chmod(s.dir, mode),
				os.Chmod(filepath.Dir(s.dir), 0o755), os.Chmod(filepath.Dir(filepath.Dir(s.dir)), 0o755))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(s.dir, 0o777) }) //nolint:gosec // so that it can be removed
			h := s.open(t)
			asNobody(t, func() {
				page, err := h.Store().Read(t.Context(), sandboxKey(0), store.ReadOptions{})
				if err != nil || len(page.Entries) != 3 {
					t.Errorf("%d entries: %v", len(page.Entries), err)
				}
				if _, err := h.Store().ListSandboxes(t.Context(), store.ListOptions{}); err != nil {
					t.Error(err)
				}
				if _, err := h.Writer().Open(t.Context(), sandboxKey(0)); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "read-only") {
					t.Errorf("writing: %v", err)
				}
			})
			if err := errors.Join(os.Chmod(s.dir, 0o777), os.Chmod(s.ledger, 0o666)); err != nil {
				t.Fatal(err)
			}
			asNobody(t, func() {
				if _, err := h.Writer().Open(t.Context(), sandboxKey(0)); err != nil {
					t.Errorf("after the repair: %v", err)
				}
			})
		})
	}
}

// asNobody runs f without root's rights over files. Those are a thread's; the thread is not unlocked,
// so that it ends with its goroutine.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if os.Getuid() == 0 {
			runtime.LockOSThread()
			if _, err := unix.SetfsuidRetUid(65534); err != nil {
				t.Error(err)
				return
			}
		}
		f()
	}()
	<-done
}

// A command that prints until the disk is full fails, and is ended in its sandbox; what its reader got
// is what the ledger has; nothing else is started until there is room; then the same handle goes on.
func TestExecDiskFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mountSmall(t, dir, "4m")
	s := siteIn(t, dir)
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	h := s.openEngine(t)
	client, err := h.Sandboxes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	box, err := client.Create(t.Context(), sandbox.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := box.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	exec, err := box.Exec(t.Context(), `while :; do head -c 3000 /dev/zero | tr '\0' x; echo; done`, sandbox.ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	read := new(bytes.Buffer)
	if _, err := read.ReadFrom(exec.Stdout()); err == nil {
		t.Error("the reader saw a good end")
	}
	if _, err := exec.Wait(); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("the command ended with %v", err)
	}
	// What is small may still find room in the log of what was rolled back, but not for long.
	for range 100 {
		if _, err = box.Run(t.Context(), "head -c 60000 /dev/zero | tr '\\0' x", sandbox.ExecOptions{}); err != nil {
			break
		}
	}
	if !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("the next one ended with %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	result, err := box.Run(t.Context(), "pgrep -x head >/dev/null || echo alone", sandbox.ExecOptions{})
	if err != nil || result.Stdout != "alone\n" {
		t.Errorf("there is room again: %+v, %v", result, err)
	}
	recorded := 0
	for e, err := range ledger.ReadSandbox(t.Context(), h.Store(), box.Key()) {
		if err != nil {
			t.Fatal(err)
		}
		if e.StepIndex != 1 || e.Event != store.EventExecOutput {
			if e.StepIndex == 1 && e.Event == store.EventExecCompleted {
				t.Error("the failed command has an end in the ledger")
			}
			continue
		}
		var frame struct{ Type, Text string }
		if err := json.Unmarshal(e.Payload, &frame); err != nil {
			t.Fatal(err)
		}
		if frame.Type == "stdout" {
			recorded += len(frame.Text) + 1
		}
	}
	if recorded < read.Len() || read.Len() == 0 {
		t.Errorf("%d bytes were read, %d are recorded", read.Len(), recorded)
	}
}
