package engine_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/engine"
)

// BenchmarkCreate measures from the request to the answer, and to the first
// output of a first command.
func BenchmarkCreate(b *testing.B) {
	e := requireNamespaces(b)
	e.create(nil).delete() // the first one waits for the base layer
	var ready, output, gone []time.Duration
	for b.Loop() {
		began := time.Now()
		box := e.create(nil)
		ready = append(ready, time.Since(began))
		box.must("echo hi")
		output = append(output, time.Since(began))
		began = time.Now()
		box.delete()
		gone = append(gone, time.Since(began))
	}
	report(b, "ready", ready)
	report(b, "output", output)
	report(b, "delete", gone)
}

// BenchmarkOpen measures taking a data directory and giving it back.
func BenchmarkOpen(b *testing.B) {
	e := requireNamespaces(b)
	if err := e.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		again, err := engine.Open(b.Context(), engine.Options{DataDir: e.dir})
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
		if err := again.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	report(b, "open", took)
}

// BenchmarkSnapshot measures a copy of 200 MB in 200 files, and that of a
// thousand small files.
func BenchmarkSnapshot(b *testing.B) {
	e := requireNamespaces(b)
	for name, command := range map[string]string{
		"200x1MB":   "for i in $(seq 200); do head -c 1000000 /dev/urandom > f$i; done",
		"1000x10kB": "for i in $(seq 1000); do head -c 10000 /dev/urandom > f$i; done",
	} {
		b.Run(name, func(b *testing.B) {
			box := e.create(nil)
			box.must(command)
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				snap := e.snapshot(box, "")
				took = append(took, time.Since(began))
				if code, _, out := e.do(http.MethodDelete, "/snapshots/"+snap, nil); code != http.StatusNoContent {
					b.Fatal(code, out)
				}
			}
			report(b, "snapshot", took)
			box.delete()
		})
	}
}

// BenchmarkRestore measures a sandbox that stands on a snapshot.
func BenchmarkRestore(b *testing.B) {
	e := requireNamespaces(b)
	box := e.create(nil)
	box.must("for i in $(seq 100); do head -c 10000 /dev/urandom > f$i; done")
	snap := e.snapshot(box, "s")
	box.delete()
	var ready []time.Duration
	for b.Loop() {
		began := time.Now()
		box := e.create(map[string]any{"image": nil, "snapshotId": snap})
		ready = append(ready, time.Since(began))
		box.delete()
	}
	report(b, "ready", ready)
}

// BenchmarkExec measures a command from the request to the end of its stream.
func BenchmarkExec(b *testing.B) {
	e := requireNamespaces(b)
	box := e.create(nil)
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		box.must("true")
		took = append(took, time.Since(began))
	}
	report(b, "exec", took)
}

// BenchmarkOutput measures how fast lines come out.
func BenchmarkOutput(b *testing.B) {
	e := requireNamespaces(b)
	box := e.create(nil)
	for b.Loop() {
		code, _, out := e.do(http.MethodPost, box.execd("/command"), map[string]string{"command": "seq 100000"})
		if code != http.StatusOK {
			b.Fatal(code)
		}
		b.SetBytes(int64(len(out)))
	}
}

func report(b *testing.B, name string, d []time.Duration) {
	slices.Sort(d)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(d[len(d)/2]), name+"-p50-ms")
	b.ReportMetric(ms(d[len(d)*95/100]), name+"-p95-ms")
	b.ReportMetric(0, "ns/op")
}
