package sandbox_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// ledgerOff is for newRig.
func ledgerOff(t *testing.T) func(*sandbox.Options) {
	t.Helper()
	writer := ledger.NewWriter(store.Discard{}, ledger.WriterOptions{})
	t.Cleanup(func() {
		if err := writer.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return func(opts *sandbox.Options) { opts.Store, opts.Ledger = store.Discard{}, writer }
}

// told is everything that an exec tells about a recorded stream.
func told(t *testing.T, r *rig, raw []byte) string {
	t.Helper()
	h := r.create(sandbox.CreateOptions{})
	awaited := make(chan struct{}) // closed when there are readers: they miss what overflows the result before
	r.wire.do("POST", "/command", func(req *http.Request) (*http.Response, error) {
		<-awaited
		return http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), req)
	})
	exec, err := h.Exec(t.Context(), "anything", sandbox.ExecOptions{Events: true, ResultBytes: 4})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	read := make(chan string)
	for _, reader := range []io.Reader{exec.Stdout(), exec.Stderr()} {
		go func() {
			text, err := io.ReadAll(reader)
			read <- fmt.Sprintf("%q %v\n", text, err != nil)
		}()
	}
	close(awaited)
	for event, err := range exec.Events() {
		if err == nil {
			fmt.Fprintf(&all, "%s %q %s\n", event.Type, event.Text, event.Raw)
		}
	}
	result, err := exec.Wait()
	if result != nil {
		fmt.Fprintf(&all, "%+v\n", *result)
	}
	fmt.Fprintf(&all, "lost %v\n", errors.Is(err, sandbox.ErrStreamLost))
	one, other := <-read, <-read
	return all.String() + min(one, other) + max(one, other)
}

// With the ledger off, an exec tells what it tells with it.
func TestLedgerOffTells(t *testing.T) {
	t.Parallel()
	captures, err := filepath.Glob(filepath.Join("..", "opensandbox", "testdata", "captures", "*.raw"))
	if err != nil || len(captures) < 10 {
		t.Fatalf("%d recorded streams, %v", len(captures), err)
	}
	for _, path := range captures {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(raw, []byte("HTTP/1.1 200")) || !bytes.Contains(raw, []byte(`"type":"init"`)) {
			continue // no stream of a command
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			with, without := told(t, newRig(t), raw), told(t, newRig(t, ledgerOff(t)), raw)
			if with != without {
				t.Errorf("without a ledger\n%s\nwith it\n%s", without, with)
			}
		})
	}
}

// With the ledger off, all but what the ledger is for works.
func TestLedgerOff(t *testing.T) {
	t.Parallel()
	r := newRig(t, ledgerOff(t))
	h := r.create(sandbox.CreateOptions{Name: "unkept"})
	if got := r.run(h, `printf 'a\n\n"b"\n'; echo err >&2; exit 3`); got.Stdout != "a\n\n\"b\"\n" || got.Stderr != "err\n" || got.ExitCode != 3 || got.Seq != 1 {
		t.Errorf("got %+v", *got)
	}
	large := r.runWith(h, "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end", sandbox.ExecOptions{})
	if len(large.Stdout) != 3_000_005 || !strings.HasSuffix(large.Stdout, "xx\nend\n") || large.Seq != 2 {
		t.Errorf("%d bytes came", len(large.Stdout))
	}
	if _, err := h.Checkpoint(t.Context(), "c"); err != nil {
		t.Error(err)
	}
	if _, err := r.client.Resume(t.Context(), h.ID(), sandbox.ResumeOptions{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("resuming: %v", err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if !gone(t, h.ID()) {
		t.Error("the sandbox is still there")
	}
}

// With the ledger off, readers get no secrets either, also when one is added while text is on its way.
func TestLedgerOffRedacts(t *testing.T) {
	t.Parallel()
	const value = "correct-horse-battery"
	var redactor *credential.Redactor
	r := newRig(t, ledgerOff(t), func(o *sandbox.Options) { redactor = o.Ledger.Redactor() })
	h := r.create(sandbox.CreateOptions{})
	exec, err := h.Exec(t.Context(), "echo first; until [ -e /tmp/go ]; do sleep 0.05; done; echo "+value+"; seq 500", sandbox.ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(exec.Stdout())
	if !lines.Scan() || lines.Text() != "first" {
		t.Fatalf("got %q", lines.Text())
	}
	redactor.Add(credential.NewSecret(value))
	if err := h.WriteFile(t.Context(), "/tmp/go", []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var rest strings.Builder
	for lines.Scan() {
		rest.WriteString(lines.Text() + "\n")
	}
	if _, err := exec.Wait(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(rest.String(), value) || !strings.HasSuffix(rest.String(), "499\n500\n") {
		t.Errorf("got %q", rest.String())
	}
}
