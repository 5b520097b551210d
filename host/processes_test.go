package host_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Eight hosts find no file, and all of them make it and its schema at once; then each writes its own
// sandbox. None waits for ever, fails, or loses anything.
func TestProcessesStartTogether(t *testing.T) {
	t.Parallel()
	const hosts = 8
	s := newSite(t)
	commands := make([]*exec.Cmd, hosts)
	outs := make([]bytes.Buffer, hosts)
	for i := range commands {
		cmd := s.command(t, "write", fmt.Sprintf("%s=%d", childSandbox, i))
		cmd.Stdout, cmd.Stderr = &outs[i], &outs[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		commands[i] = cmd
	}
	for i, cmd := range commands {
		if err := cmd.Wait(); err != nil {
			t.Errorf("host %d: %v: %s", i, err, &outs[i])
		}
	}
	h := s.open(t)
	for i := range hosts {
		n := 0
		for _, err := range ledger.ReadSandbox(t.Context(), h.Store(), sandboxKey(i)) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != writeEvents {
			t.Errorf("sandbox %d has %d entries", i, n)
		}
	}
}

// A host that comes later takes a sandbox over: the one before can't write to it any more, and is told.
func TestProcessesFence(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cmd := s.command(t, "fenced")
	stderr := new(tailOf)
	cmd.Stderr = stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the child says %q: %v", line, err)
	}
	h := s.open(t)
	stream, err := h.Writer().Open(t.Context(), sandboxKey(0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stdin.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the older driver wrote")
	}
	for _, want := range []string{"held by another driver", sandboxKey(0).String(), `plugin "sqlite": ledger.append`} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("the older driver says %q, not %q", stderr, want)
		}
	}
	if err := stream.Append(t.Context(), ledger.Event{Step: -1, Name: "x"}); err != nil {
		t.Error(err)
	}
	page, err := h.Store().Read(t.Context(), sandboxKey(0), store.ReadOptions{})
	if err != nil || len(page.Entries) != 1 {
		t.Errorf("%d entries: %v", len(page.Entries), err)
	}
}

func (s site) open(t *testing.T) *host.Host {
	t.Helper()
	cfg, err := host.LoadConfig(s.config)
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return h
}

// Another process writes to the file and takes its time. An append waits for it, reading goes on, and
// when it is done the append succeeds.
func TestProcessesBusy(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	h := s.open(t)
	if err := appendMarks(t.Context(), h, 0, 1); err != nil {
		t.Fatal(err)
	}
	stream, err := h.Writer().Open(t.Context(), sandboxKey(1))
	if err != nil {
		t.Fatal(err)
	}
	release := s.hold(t)
	ticket, err := stream.Enqueue(t.Context(), chaosMark(mark{Writer: 1}))
	if err != nil {
		t.Fatal(err)
	}
	if page, err := h.Store().Read(t.Context(), sandboxKey(0), store.ReadOptions{}); err != nil || len(page.Entries) != 1 {
		t.Errorf("reading meanwhile: %d entries, %v", len(page.Entries), err)
	}
	release()
	if err := ticket.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// One that does not come to an end is told to whoever waits, after some seconds; when it is gone, the
// same stream goes on.
func TestProcessesBusyForLong(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	text := "[plugins.sqlite.config]\npath = \"ledger.db\"\nbusy_timeout = \"200ms\"\n[log]\nlevel = \"error\"\n"
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h := s.open(t)
	stream, err := h.Writer().Open(t.Context(), sandboxKey(0))
	if err != nil {
		t.Fatal(err)
	}
	release := s.hold(t)
	began := time.Now()
	if _, err := h.Store().OpenLedger(t.Context(), sandboxKey(1)); !errors.Is(err, store.ErrUnavailable) || time.Since(began) > 4*time.Second {
		t.Errorf("one try took %s, want little more than the busy_timeout: %v", time.Since(began), err) // 5 s is its default
	}
	err = stream.Append(t.Context(), chaosMark(mark{}))
	if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "another process is writing to the database") {
		t.Errorf("got %v", err)
	}
	release()
	if err := stream.Append(t.Context(), chaosMark(mark{})); err != nil {
		t.Error(err)
	}
	auditAll(t, s, [loadSandboxes]int{1})
}

// hold starts a process that keeps others from writing until release is called.
func (s site) hold(t *testing.T) (release func()) {
	t.Helper()
	cmd := s.command(t, "hold")
	stderr := new(tailOf)
	cmd.Stderr = stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "holds\n" {
		t.Fatalf("the other process says %q: %v: %s", line, err, stderr)
	}
	return func() {
		if err := stdin.Close(); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the other process: %v: %s", err, stderr)
		}
	}
}

// A ledger in memory is one host's own, and gone with it.
func TestLedgerInMemory(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if err := os.WriteFile(s.config, []byte("[plugins.sqlite.config]\npath = \":memory:\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	count := func(h *host.Host) int {
		page, err := h.Store().ReadAll(t.Context(), store.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Entries)
	}
	first, second := s.open(t), s.open(t)
	if err := errors.Join(appendMarks(t.Context(), first, 0, 3), appendMarks(t.Context(), second, 0, 2)); err != nil {
		t.Fatal(err)
	}
	if a, b := count(first), count(second); a != 3 || b != 2 {
		t.Errorf("the hosts have %d and %d entries", a, b)
	}
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := count(s.open(t)); n != 0 {
		t.Errorf("a new host has %d entries", n)
	}
	if entries, err := os.ReadDir(s.dir); err != nil || len(entries) != 1 {
		t.Errorf("files were made: %v, %v", entries, err)
	}
}

// A ledger that a later program has made is refused, and its file stays as it is, to the byte.
func TestNewerSchemaIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"WAL", "DELETE"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			newerSchema(t, mode)
		})
	}
}

func newerSchema(t *testing.T, mode string) {
	t.Helper()
	s := newSite(t)
	db, err := sql.Open("sqlite", s.ledger)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`PRAGMA journal_mode = ` + mode,
		`CREATE TABLE alineo_host_schema (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL)`,
		`INSERT INTO alineo_host_schema VALUES (1, 99)`,
		`CREATE TABLE alineo_events (whatever TEXT)`,
		`CREATE INDEX alineo_events_name ON alineo_events(whatever)`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before := read(t, s.ledger)
	func() {
		h := s.open(t)
		_, err := h.Writer().Open(t.Context(), sandboxKey(0))
		want := `plugin "sqlite": ledger.open: unsupported: the ledger's schema is of version 99, this plugin knows `
		if !errors.Is(err, store.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if _, err := h.Store().ReadAll(t.Context(), store.ReadOptions{}); err == nil || !strings.Contains(err.Error(), "version 99") {
			t.Errorf("reading: error %v", err)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	if after := read(t, s.ledger); !bytes.Equal(before, after) {
		t.Errorf("the file was changed: %d bytes, %d before", len(after), len(before))
	}
	for _, more := range []string{"-wal", "-shm"} {
		if info, err := os.Stat(s.ledger + more); err == nil && info.Size() > 0 {
			t.Errorf("%s is left over", info.Name())
		}
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
