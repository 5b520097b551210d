package engine_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/engine"
)

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
