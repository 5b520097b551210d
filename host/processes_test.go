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
		want := `plugin "sqlite": ledger.open: unsupported: the ledger's schema is of version 99, this plugin knows 1`
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
