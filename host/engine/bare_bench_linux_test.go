package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkFirstOutput compares the time from the request for a sandbox to the first output of its
// first command with the least that it could be: clone, the same overlays, and exec, in turns. An
// engine that has made sandboxes has begun the next one already; one that was just opened has not.
func BenchmarkFirstOutput(b *testing.B) {
	for _, begun := range []bool{true, false} {
		name := "first"
		if begun {
			name = "next"
		}
		b.Run(name, func(b *testing.B) { benchFirstOutput(b, begun) })
	}
}

func benchFirstOutput(b *testing.B, begun bool) {
	e := requireNamespaces(b)
	e.create(nil).delete() // the first one waits for the base layer
	e.create(nil).delete() // from the second on the next one is begun ahead
	bare := newBare(b, e)
	var ready, ours, least, gone []time.Duration
	for b.Loop() {
		if begun {
			e.awaitSpare()
		} else {
			e.reopen()
		}
		least = append(least, bare.firstOutput("echo hi"))
		began := time.Now()
		box := e.create(nil)
		ready = append(ready, time.Since(began))
		box.firstOutput("echo hi")
		ours = append(ours, time.Since(began))
		began = time.Now()
		box.delete()
		gone = append(gone, time.Since(began))
	}
	report(b, "ready", ready)
	report(b, "output", ours)
	report(b, "bare", least)
	report(b, "delete", gone)
	b.ReportMetric(ratio(least, ours), "of-bare")
}

// ratio is how fast we are in relation to the other: their median over ours.
func ratio(other, ours []time.Duration) float64 {
	slices.Sort(other)
	slices.Sort(ours)
	return float64(other[len(other)/2]) / float64(ours[len(ours)/2])
}

// firstOutput runs a command and returns with its first output.
func (b *testBox) firstOutput(command string) {
	b.e.t.Helper()
	body, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		b.e.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, b.e.BaseURL()+b.execd("/command"), bytes.NewReader(body))
	if err != nil {
		b.e.t.Fatal(err)
	}
	resp, err := b.e.Transport().RoundTrip(req)
	if err != nil {
		b.e.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	for sc := bufio.NewScanner(resp.Body); sc.Scan(); {
		if strings.Contains(sc.Text(), `"stdout"`) {
			return
		}
	}
	b.e.t.Fatal("no output")
}

// bareSandbox makes sandboxes without an engine.
type bareSandbox struct {
	b                  *testing.B
	program, dir, base string
	tops               []string
}

func newBare(b *testing.B, e *testEngine) *bareSandbox {
	b.Helper()
	bare := &bareSandbox{b: b, dir: b.TempDir()}
	bare.program = filepath.Join(bare.dir, "bare")
	build := exec.Command("go", "build", "-o", bare.program, "./testdata/bare")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("building: %v\n%s", err, out)
	}
	bases, err := filepath.Glob(filepath.Join(e.dir, "base", "*", "rootfs", "workspace"))
	if err != nil || len(bases) == 0 {
		b.Fatalf("no base layer: %v", err)
	}
	bare.base = filepath.Dir(filepath.Dir(bases[0]))
	for _, top := range []string{"usr", "etc", "opt", "srv", "var", "bin", "sbin", "lib", "lib32", "lib64", "libx32"} {
		if st, err := os.Lstat("/" + top); err == nil && st.IsDir() {
			bare.tops = append(bare.tops, top)
		}
	}
	return bare
}

func (s *bareSandbox) firstOutput(command string) time.Duration {
	s.b.Helper()
	began := time.Now()
	dir, err := os.MkdirTemp(s.dir, "box")
	if err != nil {
		s.b.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, d := range append([]string{"rootfs"}, s.tops...) {
		for _, kind := range []string{"upper", "work"} {
			if err := os.MkdirAll(filepath.Join(dir, kind, d), 0o755); err != nil {
				s.b.Fatal(err)
			}
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "root"), 0o755); err != nil {
		s.b.Fatal(err)
	}
	cmd := exec.Command(s.program, s.base, dir, command)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS |
			syscall.CLONE_NEWIPC | syscall.CLONE_NEWCGROUP,
		UidMappings: ids, GidMappings: ids,
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.b.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	took := time.Since(began)
	if werr := cmd.Wait(); err != nil || werr != nil || line != "hi\n" {
		s.b.Fatalf("bare: %q %v %v %s", line, err, werr, stderr.String())
	}
	return took
}

// BenchmarkExecTrue measures a command from the request to the end of its stream, beside starting the
// same program here.
func BenchmarkExecTrue(b *testing.B) {
	e := requireNamespaces(b)
	box := e.create(nil)
	var ours, least []time.Duration
	for b.Loop() {
		began := time.Now()
		box.must("true")
		ours = append(ours, time.Since(began))
		began = time.Now()
		if err := exec.Command("/bin/bash", "-c", "true").Run(); err != nil {
			b.Fatal(err)
		}
		least = append(least, time.Since(began))
	}
	report(b, "exec", ours)
	report(b, "bare", least)
	b.ReportMetric(ratio(least, ours), "of-bare")
}

// BenchmarkSnapshotAndFork compares a snapshot of 200 MB, and a sandbox made of it, with cp -a of the
// same files.
func BenchmarkSnapshotAndFork(b *testing.B) {
	e := requireNamespaces(b)
	for _, c := range []struct{ name, command string }{
		{"1x200MB", "head -c 200000000 /dev/urandom > f"},
		{"200x1MB", "for i in $(seq 200); do head -c 1000000 /dev/urandom > f$i; done"},
		{"20000x10kB", "head -c 10000 /dev/urandom > f; seq 20000 | xargs -n 1000 sh -c 'for i; do cp f f$i; done' -"},
	} {
		b.Run(c.name, func(b *testing.B) {
			e := &testEngine{b, e.Engine, e.dir}
			box := e.create(nil)
			defer box.delete()
			box.must(c.command)
			var snapshot, fork, both, copied []time.Duration
			for b.Loop() {
				began := time.Now()
				snap := e.snapshot(box, "")
				snapshot = append(snapshot, time.Since(began))
				half := time.Now()
				again := e.create(map[string]any{"image": nil, "snapshotId": snap})
				fork = append(fork, time.Since(half))
				both = append(both, time.Since(began))
				again.delete()
				e.want(http.MethodDelete, "/snapshots/"+snap, 204, "")
				to := filepath.Join(e.dir, "copy")
				began = time.Now()
				if out, err := exec.Command("cp", "-a", filepath.Join(e.dir, "sandboxes", box.ID, "layer"), to).CombinedOutput(); err != nil {
					b.Fatalf("%v %s", err, out)
				}
				// A snapshot is on disk when it is ready.
				if out, err := exec.Command("sync", "-f", to).CombinedOutput(); err != nil {
					b.Fatalf("%v %s", err, out)
				}
				copied = append(copied, time.Since(began))
				if err := os.RemoveAll(to); err != nil {
					b.Fatal(err)
				}
			}
			report(b, "snapshot", snapshot)
			report(b, "fork", fork)
			report(b, "cp", copied)
			b.ReportMetric(ratio(copied, both), "of-cp")
		})
	}
}
