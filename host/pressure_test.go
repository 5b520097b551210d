package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// slowed is a store that takes its time for each entry.
type slowed struct {
	store.Ledger
	each time.Duration
}

// Append writes a batch, and then waits as long as a store of that speed would.
func (s slowed) Append(ctx context.Context, batch *store.Batch) error {
	if err := s.Ledger.Append(ctx, batch); err != nil {
		return err
	}
	entries := 0
	for i := range batch.Segments {
		entries += len(batch.Segments[i].Entries)
	}
	select {
	case <-time.After(time.Duration(entries) * s.each):
	case <-ctx.Done():
	}
	return nil
}

// A command prints much faster than the ledger writes: the sandbox is slowed down, memory stays where it
// is, and every byte arrives, in the ledger and at its reader. In CI it prints 48 MiB into a ledger of
// 400 entries a second; with ALINEO_CHAOS_ROUNDS, 1 GiB into one of 100 a second.
func TestChaosPressure(t *testing.T) { //nolint:paralleltest // it looks at the heap of the whole process
	const line = 256 << 10
	lines, rate := 192, 400
	if os.Getenv("ALINEO_CHAOS_ROUNDS") != "" {
		lines, rate = 4096, 100
	}
	s := newSite(t)
	plugin := s.open(t)
	h := s.openEngine(t, host.WithStore(unclosed{slowed{plugin.Store(), time.Second / time.Duration(rate)}}))
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
	runtime.GC()
	before := heap()
	watch := watchHeap()
	script := fmt.Sprintf(`i=0; while [ $i -lt %d ]; do printf %%08d $i; head -c %d /dev/zero | tr '\0' x; echo; i=$((i+1)); done`, lines, line-9)
	exec, err := box.Exec(t.Context(), script, sandbox.ExecOptions{ResultBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	check := &numbered{t: t, line: line}
	if _, err := io.Copy(check, exec.Stdout()); err != nil {
		t.Fatal(err)
	}
	result, err := exec.Wait()
	if err != nil || result.ExitCode != 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	peak := watch()
	check.end(lines)

	recorded := &numbered{t: t, line: line}
	for e, err := range ledger.ReadSandbox(t.Context(), h.Store(), box.Key()) {
		if err != nil {
			t.Fatal(err)
		}
		var frame struct{ Type, Text string }
		if e.Event != store.EventExecOutput {
			continue
		}
		if err := json.Unmarshal(e.Payload, &frame); err != nil {
			t.Fatal(err)
		}
		if frame.Type == "stdout" {
			_, _ = recorded.Write([]byte(strings.TrimSuffix(frame.Text, "\n") + "\n"))
		}
	}
	recorded.end(lines)

	// What may wait is bounded: 16 MiB in the writer, 4 MiB in the pipeline, and as much garbage again.
	const most = 96 << 20
	t.Logf("%d MiB at %d entries a second: heap %d MiB before, at most %d MiB meanwhile, %s",
		lines*line>>20, rate, before>>20, peak>>20, residentMost())
	if peak > before+most {
		t.Errorf("the heap grew from %d MiB to %d MiB", before>>20, peak>>20)
	}
}

// unclosed is a store that someone else closes.
type unclosed struct{ store.Ledger }

// Close does nothing.
func (unclosed) Close(context.Context) error { return nil }

// numbered checks lines that begin with their number.
type numbered struct {
	t    *testing.T
	line int
	part []byte
	n    int
}

func (c *numbered) Write(p []byte) (int, error) {
	size := len(p)
	for len(p) > 0 {
		take := min(len(p), c.line-len(c.part))
		c.part, p = append(c.part, p[:take]...), p[take:]
		if len(c.part) < c.line {
			break
		}
		if want := fmt.Sprintf("%08d", c.n); string(c.part[:8]) != want || c.part[c.line-1] != '\n' || bytes.Count(c.part, []byte{'x'}) != c.line-9 {
			c.t.Fatalf("line %d is wrong: it begins with %.20q", c.n, c.part)
		}
		c.n++
		c.part = c.part[:0]
	}
	return size, nil
}

func (c *numbered) end(lines int) {
	c.t.Helper()
	if c.n != lines || len(c.part) != 0 {
		c.t.Errorf("%d lines and %d bytes, want %d lines", c.n, len(c.part), lines)
	}
}

// heap is what is allocated on the heap, dead or alive, bytes.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// watchHeap looks at the heap all the time until it is asked for the most that it saw.
func watchHeap() (most func() uint64) {
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() {
		high := uint64(0)
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for {
			high = max(high, heap())
			select {
			case <-ticker.C:
			case <-stop:
				peak <- high
				return
			}
		}
	}()
	return func() uint64 {
		close(stop)
		return <-peak
	}
}

// residentMost is the process's largest resident size so far, where the system tells.
func residentMost() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "resident size unknown"
	}
	for text := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(text, "VmHWM:"); ok {
			return "resident at most " + strings.TrimSpace(value)
		}
	}
	return "resident size unknown"
}

// openEngine opens a host with an engine of its own.
func (s site) openEngine(t *testing.T, opts ...host.Option) *host.Host {
	t.Helper()
	return s.openEngineWith(t, func(*config.Config) {}, opts...)
}

// shortDir is a directory that sockets can be in.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "alineo-host-engine-*") //nolint:usetesting // its paths are too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (s site) openEngineWith(t *testing.T, change func(*config.Config), opts ...host.Option) *host.Host {
	t.Helper()
	cfg, err := host.LoadConfig(s.config)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Engine.Data = shortDir(t)
	change(cfg)
	for _, f := range host.Doctor(t.Context(), cfg) {
		if f.Area == "engine" && f.Fatal {
			t.Skipf("SKIPPED: this machine can run no sandbox: %s: %s", f.Name, f.Detail)
		}
	}
	h, err := host.Open(t.Context(), cfg, opts...)
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
