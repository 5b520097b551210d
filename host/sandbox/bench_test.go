package sandbox_test

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/nativeledger"
)

// nowhere is a store that forgets: what is measured over it is the path to it.
type nowhere struct{ store.Ledger }

func (nowhere) OpenLedger(context.Context, store.Key) (store.Head, error) {
	return store.Head{Epoch: 1, LastStep: -1}, nil
}
func (nowhere) Append(context.Context, *store.Batch) error { return nil }

// chatty is a server whose command writes a number of lines.
type chatty struct {
	lines int
	event string
}

// eventOf is a line of output of so many bytes, as an event.
func eventOf(bytes int) string {
	text := strings.Repeat("the quick brown fox jumps over the lazy dog ", bytes/44+1)[:bytes-1]
	return `{"type":"stdout","text":"` + text + `","timestamp":1795958569992}` + "\n\n"
}

func (c *chatty) RoundTrip(req *http.Request) (*http.Response, error) {
	switch {
	case req.URL.Path == "/v1/sandboxes":
		return says{http.StatusAccepted, `{"id":"box","status":{"state":"Running"}}`}.RoundTrip(req)
	case strings.Contains(req.URL.Path, "/endpoints/"):
		return says{http.StatusOK, `{"endpoint":"execd"}`}.RoundTrip(req)
	case req.URL.Path == "/command":
		resp, err := says{http.StatusOK, ""}.RoundTrip(req)
		resp.Body = io.NopCloser(io.MultiReader(
			strings.NewReader(`{"type":"init","text":"id"}`+"\n\n"),
			&lines{event: c.event, left: c.lines},
			strings.NewReader(`{"type":"execution_complete"}`+"\n\n"),
		))
		return resp, err
	}
	return says{http.StatusOK, "{}"}.RoundTrip(req)
}

// lines serves a line a number of times.
type lines struct {
	event    string
	left, at int
}

func (l *lines) Read(p []byte) (int, error) {
	n := 0
	for l.left > 0 && n < len(p) {
		c := copy(p[n:], l.event[l.at:])
		n += c
		if l.at += c; l.at == len(l.event) {
			l.at = 0
			l.left--
		}
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// One line of output on its way: frame, exec.output, commit, delivery. An operation is a line.
func BenchmarkChunk(b *testing.B) {
	stores := map[string]func(*testing.B) store.Ledger{
		"nowhere": func(*testing.B) store.Ledger { return nowhere{} },
		"sqlite": func(b *testing.B) store.Ledger {
			st, err := nativeledger.Open(filepath.Join(b.TempDir(), "ledger.db"), nativeledger.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = st.Close(context.Background()) })
			return st
		},
	}
	for _, size := range []int{80, 4096} {
		for _, name := range []string{"nowhere", "sqlite"} {
			b.Run(name+"/"+strconv.Itoa(size), func(b *testing.B) { benchmarkChunk(b, stores[name](b), size) })
		}
	}
}

func benchmarkChunk(b *testing.B, st store.Ledger, size int) {
	ctx := b.Context()
	writer := ledger.NewWriter(st, ledger.WriterOptions{})
	defer func() { _ = writer.Close(context.Background()) }()
	server := &chatty{lines: b.N, event: eventOf(size)}
	client, err := sandbox.New(sandbox.Options{Wire: wireClient(server), Store: st, Ledger: writer, Image: "x"})
	if err != nil {
		b.Fatal(err)
	}
	h, err := client.Create(ctx, sandbox.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	exec, err := h.Exec(ctx, "chat", sandbox.ExecOptions{ResultBytes: 1 << 10})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, exec.Stdout()); err != nil {
		b.Fatal(err)
	}
	if _, err := exec.Wait(); err != nil {
		b.Fatal(err)
	}
}

// A command from call to result, on the real engine and with a durable ledger.
func BenchmarkExec(b *testing.B) {
	st, err := nativeledger.Open(filepath.Join(b.TempDir(), "ledger.db"), nativeledger.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = st.Close(context.Background()) }()
	writer := ledger.NewWriter(st, ledger.WriterOptions{})
	defer func() { _ = writer.Close(context.Background()) }()
	client, err := sandbox.New(sandbox.Options{Wire: wireClient(shared.Transport()), Store: st, Ledger: writer, Image: "host"})
	if err != nil {
		b.Fatal(err)
	}
	h, err := client.Create(b.Context(), sandbox.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = h.Close(context.Background()) }()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.Run(b.Context(), "true", sandbox.ExecOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
