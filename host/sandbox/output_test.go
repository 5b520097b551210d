package sandbox_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

func readAll(t *testing.T, r io.Reader) string {
	t.Helper()
	out, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	return string(out)
}

// What a real execd was heard to say, as results.
func TestRecordedStreams(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]sandbox.Result{
		"hi":               {Stdout: "hi\n"},
		"no_final_newline": {Stdout: "a\nb\n"},
		"exit3":            {ExitCode: 3},
		"stderr":           {Stdout: "out\n", Stderr: "err\n"},
		"empty":            {},
		"blank_lines":      {Stdout: "a\n\nb\n\n\nc\n"},
		"cr":               {Stdout: "10%\n20%\nend\n"},
		"utf8":             {Stdout: "你好é😀\n"},
		"badutf8":          {Stdout: "\ufffd\ufffd ok\n\ufffd\ufffd\n"},
		"nul_ansi":         {Stdout: "a\x00b\x1b[31mred\x1b[0m\n"},
		"timeout":          {Stdout: "start\n", ExitCode: -1, Signal: "killed"},
		"sigterm":          {ExitCode: -1, Signal: "terminated"},
		"not_found":        {Stderr: "bash: line 1: nosuchcmd_zz: command not found\n", ExitCode: 127},
		"keepalive":        {Stdout: "done\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(filepath.Join("..", "opensandbox", "testdata", "captures", name+".raw"))
			if err != nil {
				t.Fatal(err)
			}
			r := newRig(t)
			h := r.create(sandbox.CreateOptions{})
			r.wire.do("POST", "/command", func(req *http.Request) (*http.Response, error) {
				return http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), req)
			})
			want.Seq = 1
			if got := r.run(h, "anything"); *got != want {
				t.Errorf("got  %+v\nwant %+v", *got, want)
			}
			// Each frame up to the terminal one is in the ledger as it came, behind seq.
			var frames []string
			for line := range strings.SplitSeq(string(raw), "\n") {
				if strings.HasPrefix(line, "{") {
					frames = append(frames, `{"seq":1,`+line[1:])
				}
				if strings.HasPrefix(line, `{"type":"execution_complete"`) || strings.HasPrefix(line, `{"type":"error"`) {
					break
				}
			}
			if got := r.payloads(h, store.EventExecOutput); strings.Join(got, "\n") != strings.Join(frames, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(frames, "\n"))
			}
			// And the ledger gives the same result back.
			r.wire.heal()
			r.checkpoint(h, "")
			want.Replayed, want.Signal = true, ""
			if got := r.run(r.resume(h.ID(), sandbox.ResumeOptions{}), "anything"); *got != want {
				t.Errorf("replayed %+v\nwant     %+v", *got, want)
			}
		})
	}
}

func TestOddFrames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, stream string
		payloads     []string
		check        func(*sandbox.Result, error) bool
	}{
		{
			"unknown fields, a seq of their own, an empty one",
			`{"type":"stdout","seq":77,"text":"a","eid":[1, 2]}` + "\n{}\n{ \"x\" : \"seq\" }\n" + `{"type":"execution_complete"}`,
			[]string{`{"seq":1,"type":"stdout","text":"a","eid":[1, 2]}`, `{"seq":1}`, `{"seq":1,"x":"seq"}`, `{"seq":1,"type":"execution_complete"}`},
			func(result *sandbox.Result, err error) bool { return err == nil && result.Stdout == "a\n" },
		},
		{
			"could not start",
			`{"type":"error","error":{"ename":"CommandExecError","evalue":"fork/exec /usr/bin/bash: argument list too long"}}`,
			[]string{`{"seq":1,"type":"error","error":{"ename":"CommandExecError","evalue":"fork/exec /usr/bin/bash: argument list too long"}}`},
			func(result *sandbox.Result, err error) bool {
				var failed *sandbox.StartError
				return result == nil && errors.As(err, &failed) && strings.Contains(failed.Message, "too long")
			},
		},
		{
			"server failed",
			`{"type":"init","text":"x"}` + "\n" + `{"code":"RUNTIME_ERROR","message":"timeout after 500ms"}`,
			[]string{`{"seq":1,"type":"init","text":"x"}`, `{"seq":1,"code":"RUNTIME_ERROR","message":"timeout after 500ms"}`},
			func(result *sandbox.Result, err error) bool {
				return result == nil && err != nil && strings.Contains(err.Error(), "timeout after 500ms (RUNTIME_ERROR)")
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			h := r.create(sandbox.CreateOptions{})
			r.wire.on("POST", "/command", says{200, test.stream})
			result, err := h.Run(t.Context(), "x", sandbox.ExecOptions{})
			if !test.check(result, err) {
				t.Errorf("got %+v, %v", result, err)
			}
			if got := r.payloads(h, store.EventExecOutput); strings.Join(got, "\n") != strings.Join(test.payloads, "\n") {
				t.Errorf("got\n%s", strings.Join(got, "\n"))
			}
			if completed := len(r.payloads(h, store.EventExecCompleted)); (completed == 1) != (err == nil) {
				t.Errorf("%d completions", completed)
			}
		})
	}
}

// Output that nobody reads, and that is much more than the result keeps: all of it is in the ledger,
// and none of it stays in memory.
func TestMuchOutput(t *testing.T) {
	lines := 200_000
	if underRace {
		lines /= 20
	}
	r := newRig(t, func(o *sandbox.Options) { o.ResultBytes = 100_000 })
	h := r.create(sandbox.CreateOptions{})
	stop, peak := watchHeap()
	result := r.runWith(h, fmt.Sprintf("yes 'the quick brown fox jumps over the lazy dog, again and again' | head -n %d", lines), sandbox.ExecOptions{})
	stop()
	if !result.Truncated || len(result.Stdout) != 100_000 || result.ExitCode != 0 {
		t.Errorf("%d bytes, truncated %v, code %d", len(result.Stdout), result.Truncated, result.ExitCode)
	}
	count := 0
	for _, e := range r.entries(h) {
		if e.Event == store.EventExecOutput && bytes.Contains(e.Payload, []byte(`"type":"stdout"`)) {
			count++
		}
	}
	if count != lines {
		t.Errorf("%d lines in the ledger, want %d", count, lines)
	}
	const most = 64 << 20 // of 200,000 lines, some 35 MB as rows, with the engine in this process
	if p := peak(); p > most {
		t.Errorf("the heap grew by %d MiB", p>>20)
	} else {
		t.Logf("the heap grew by %d MiB", p>>20)
	}
}

// A line of 64 MiB is one line: in the result, for its reader, and in the ledger.
func TestLongLine(t *testing.T) {
	size := 64 << 20
	if underRace {
		size /= 16
	}
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{Resources: sandbox.Resources{Memory: "1Gi"}})
	exec, err := h.Exec(t.Context(), fmt.Sprintf(`head -c %d /dev/zero | tr '\0' x; echo; echo end`, size), sandbox.ExecOptions{ResultBytes: 2 * size})
	must(t, err)
	read, err := io.Copy(io.Discard, exec.Stdout())
	must(t, err)
	result, err := exec.Wait()
	must(t, err)
	if want := size + len("\nend\n"); len(result.Stdout) != want || int(read) != want || result.Stdout[size:] != "\nend\n" || result.Truncated {
		t.Errorf("%d bytes, %d of them read, want %d; truncated %v", len(result.Stdout), read, want, result.Truncated)
	}
	lines := 0
	for _, e := range r.entries(h) {
		if e.Event == store.EventExecOutput && len(e.Payload) > size {
			lines++
		}
	}
	if lines != 1 {
		t.Errorf("the ledger has it in %d entries", lines)
	}
}

// watchHeap samples the heap until stop is called; peak says by how much it grew.
func watchHeap() (stop func(), peak func() uint64) {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	base, most := stats.HeapAlloc, stats.HeapAlloc
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				runtime.ReadMemStats(&stats)
				most = max(most, stats.HeapAlloc)
			}
		}
	}()
	return func() { close(quit); <-done }, func() uint64 { return most - base }
}

// A reader that is slow makes the command slow, and gets everything.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	// More than result, window, pipeline and sockets hold.
	const lines = 60_000
	exec, err := h.Exec(t.Context(), fmt.Sprintf("until [ -e /tmp/go ]; do sleep 0.01; done; yes %s | head -n %d", strings.Repeat("x", 99), lines), sandbox.ExecOptions{ResultBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	out := exec.Stdout()
	// A reader that comes when the result overflows already would miss something.
	must(t, h.WriteFile(t.Context(), "/tmp/go", nil, 0o600))
	for before := -1; ; { // until the ledger has stopped growing
		now := len(r.entries(h))
		if now == before && now > 10 {
			if now > lines*9/10 {
				t.Errorf("%d rows before anything was read", now)
			}
			break
		}
		before = now
		time.Sleep(200 * time.Millisecond)
	}
	select {
	case <-exec.Done():
		t.Error("it ended although nobody read")
	default:
	}
	if all := readAll(t, out); all != strings.Repeat(strings.Repeat("x", 99)+"\n", lines) {
		t.Errorf("got %d bytes", len(all))
	}
	if result, err := exec.Wait(); err != nil || !result.Truncated || len(result.Stdout) != 1000 {
		t.Errorf("got %+v, %v", result, err)
	}
}

// A reader that lets go, or a context that ends, does not leave the command hanging.
func TestReaderLetsGo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	exec, err := h.Exec(t.Context(), "yes | head -n 20000", sandbox.ExecOptions{ResultBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Stdout().Close(); err != nil {
		t.Error(err)
	}
	// 6 MB in lines of 1 kB, more than what may be under way.
	cancelled, err := h.Exec(t.Context(), "head -c 6000000 /dev/zero | tr '\\0' x | fold -w 1000; sleep 1000",
		sandbox.ExecOptions{ResultBytes: 1, Timeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	_ = cancelled.Stdout() // taken and not read
	if result, err := cancelled.Wait(); err != nil || !result.TimedOut {
		t.Errorf("got %+v, %v", result, err)
	}
	if result, err := exec.Wait(); err != nil || !result.Truncated {
		t.Errorf("got %+v, %v", result, err)
	}
	late, err := h.Exec(t.Context(), "echo 123456", sandbox.ExecOptions{ResultBytes: 3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := late.Wait(); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(late.Stdout())
	if string(out) != "123" || !errors.Is(err, sandbox.ErrTruncated) {
		t.Errorf("got %q, %v", out, err)
	}
}
