package host_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/engine"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// benchBox is one sandbox on a server behind a socket, and who talks to it.
type benchBox struct {
	box *sandbox.Handle
	raw string // where its commands are run
}

func newBenchBox(b *testing.B, s site, url string, opts ...host.Option) benchBox {
	b.Helper()
	cfg, err := host.LoadConfig(s.config)
	if err != nil {
		b.Fatal(err)
	}
	cfg.Sandbox.URL, cfg.Sandbox.UseServerProxy = url, true
	h, err := host.Open(b.Context(), cfg, opts...)
	if err != nil {
		b.Fatal(err)
	}
	client, err := h.Sandboxes(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	box, err := client.Create(b.Context(), sandbox.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := box.Close(context.Background()); err != nil {
			b.Error(err)
		}
		if err := h.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return benchBox{box, url + "/v1/sandboxes/" + box.ID() + "/proxy/44772/command"}
}

// bare runs a command with nothing but net/http and reads to the event of its end.
func (b benchBox) bare(command string) (read int64, err error) {
	body, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return 0, err
	}
	resp, err := http.Post(b.raw, "application/json", bytes.NewReader(body)) //nolint:noctx // a benchmark
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	buf := make([]byte, 64<<10)
	var tail []byte
	for {
		n, err := resp.Body.Read(buf)
		read += int64(n)
		tail = append(tail[:0], buf[max(0, n-200):n]...)
		if bytes.Contains(tail, []byte(`"execution_complete"`)) {
			return read, nil
		}
		if err != nil {
			return read, fmt.Errorf("no end: %w", err)
		}
	}
}

func (b benchBox) client(ctx context.Context, command string, want int64) error {
	exec, err := b.box.Exec(ctx, command, sandbox.ExecOptions{ResultBytes: 1 << 10})
	if err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, bufio.NewReaderSize(exec.Stdout(), 64<<10))
	if err != nil {
		return err
	}
	if _, err = exec.Wait(); err == nil && n != want {
		err = fmt.Errorf("%d bytes came, want %d", n, want)
	}
	return err
}

func benchServer(b *testing.B) string {
	b.Helper()
	dir := shortDir(b)
	local, err := engine.Open(b.Context(), engine.Options{DataDir: dir, AllowReduced: true})
	if err != nil {
		b.Skipf("SKIPPED: this machine can run no sandbox: %v", err)
	}
	server := httptest.NewServer(local.Handler())
	b.Cleanup(func() {
		server.Close()
		_ = local.Close(context.Background())
	})
	return server.URL
}

// A command's output on its way through a server behind a socket, the client and the SQLite plugin at
// synchronous = full (on), with the ledger off (off), and read by net/http alone (bare): in turns.
// What is told is the throughput of each in relation to bare, the events a second, and what an event takes
// of the processor in this process beyond what bare takes, of which others on the machine take nothing.
func BenchmarkOutput(b *testing.B) {
	url := benchServer(b)
	s := newSite(b)
	on, off := newBenchBox(b, s, url), newBenchBox(b, s, url, host.WithStore(store.Discard{}))
	for _, c := range []struct {
		name  string
		width int
		lines int64
	}{{"4KiB", 4096, 51200}, {"80B", 80, 200000}} {
		b.Run(c.name, func(b *testing.B) {
			line := strings.Repeat("x", c.width-1)
			command := fmt.Sprintf("yes %s | head -n %d", line, c.lines)
			var took, used [3][]time.Duration
			for b.Loop() {
				for i, do := range []func() error{
					func() error { _, err := on.bare(command); return err },
					func() error { return off.client(b.Context(), command, c.lines*int64(c.width)) },
					func() error { return on.client(b.Context(), command, c.lines*int64(c.width)) },
				} {
					began, busy := time.Now(), processorTime(b)
					if err := do(); err != nil {
						b.Fatal(err)
					}
					took[i] = append(took[i], time.Since(began))
					used[i] = append(used[i], processorTime(b)-busy)
				}
			}
			bare, without, with := median(took[0]), median(took[1]), median(took[2])
			b.ReportMetric(bare/without, "off/bare")
			b.ReportMetric(bare/with, "on/bare")
			added := func(i int) float64 { return (median(used[i]) - median(used[0])) / float64(c.lines) * 1e6 }
			b.ReportMetric(added(1), "off-cpu-µs/event")
			b.ReportMetric(added(2), "on-cpu-µs/event")
			b.ReportMetric(float64(c.lines)/bare, "bare-events/s")
			b.ReportMetric(float64(c.lines)/without, "off-events/s")
			b.ReportMetric(float64(c.lines)/with, "on-events/s")
		})
	}
}

// What the client and the ledger add to a command that does nothing, beside net/http alone: in turns.
func BenchmarkTrue(b *testing.B) {
	url := benchServer(b)
	on := newBenchBox(b, newSite(b), url)
	var took [2][]time.Duration
	for b.Loop() {
		for i, do := range []func() error{
			func() error { _, err := on.bare("true"); return err },
			func() error { return on.client(b.Context(), "true", 0) },
		} {
			began := time.Now()
			if err := do(); err != nil {
				b.Fatal(err)
			}
			took[i] = append(took[i], time.Since(began))
		}
	}
	const ms = 1e3
	b.ReportMetric(median(took[0])*ms, "bare-ms")
	b.ReportMetric(median(took[1])*ms, "client-ms")
	b.ReportMetric((median(took[1])-median(took[0]))*ms, "added-ms")
}

// processorTime is what this process has used so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// median is in seconds.
func median(list []time.Duration) float64 {
	slices.Sort(list)
	return list[len(list)/2].Seconds()
}
