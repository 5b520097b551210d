package adapter_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/nativeledger"
)

// appender writes the same batches to one store.
type appender struct {
	st    store.Ledger
	key   store.Key
	head  store.Head
	spent []float64 // CPU nanoseconds a batch, by slice
}

func newAppender(b *testing.B, st store.Ledger) *appender {
	b.Helper()
	key := store.Key{Name: "bench", SandboxID: "3f1f0f6e-0b3a-4a6e-9a61-6f4f6c0f9f11"}
	head, err := st.OpenLedger(b.Context(), key)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := st.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return &appender{st: st, key: key, head: head}
}

var payload = json.RawMessage(`{"seq":1,"type":"stdout","text":"a line of output such as a compiler prints, of some length, ` +
	`with a path and a number in it: src/server/routes.go:128","timestamp":1795958579278}`)

func (a *appender) append(b *testing.B, n int, ts *int64) {
	segment := store.Segment{
		Key: a.key, Epoch: a.head.Epoch, Previous: a.head.Hash, Leaves: make([]byte, 32*n), Entries: make([]store.Entry, n),
	}
	_, _ = rand.Read(segment.ID[:])
	_, _ = rand.Read(segment.Hash[:])
	for i := range segment.Entries {
		*ts++
		segment.Entries[i] = store.Entry{
			TS: *ts, Name: a.key.Name, SandboxID: a.key.SandboxID, StepIndex: 1, Event: store.EventExecOutput, Payload: payload,
		}
	}
	if err := a.st.Append(b.Context(), &store.Batch{Segments: []store.Segment{segment}}); err != nil {
		b.Fatal(err)
	}
	a.head.Hash = segment.Hash[:]
}

// BenchmarkAppend appends the same batches through the WebAssembly ledger and through the same
// statements in native Go over database/sql, in turns. of-native is the native CPU time divided by
// the plugin's, the median over slices of one run: 1 is as fast, more is faster.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1, 64, 512} {
		b.Run(fmt.Sprintf("events=%d", n), func(b *testing.B) {
			guest, err := openSQLite(b.Context(), newRuntime(b), filepath.Join(b.TempDir(), "guest.db"), "normal")
			if err != nil {
				b.Fatal(err)
			}
			native, err := nativeledger.Open(filepath.Join(b.TempDir(), "native.db"), nativeledger.Options{Synchronous: "normal"})
			if err != nil {
				b.Fatal(err)
			}
			ways := []*appender{newAppender(b, guest), newAppender(b, native)}
			ts := time.Now().UnixMilli()
			slice := max(4, 1024/n)
			var wall time.Duration
			turn := 0
			run := func(count int) {
				turn++
				for k := range ways {
					way := ways[(k+turn)%len(ways)]
					began, start := time.Now(), cpuTime(b)
					for range count {
						way.append(b, n, &ts)
					}
					way.spent = append(way.spent, float64(cpuTime(b)-start)/float64(count))
					if way == ways[0] {
						wall += time.Since(began)
					}
				}
			}
			run(slice)
			ways[0].spent, ways[1].spent, wall = nil, nil, 0
			b.ResetTimer()
			for done := 0; done < b.N; done += slice {
				run(min(slice, b.N-done))
			}
			b.StopTimer()
			ratios := make([]float64, len(ways[0].spent))
			for i := range ratios {
				ratios[i] = ways[1].spent[i] / ways[0].spent[i]
			}
			b.ReportMetric(median(ratios), "of-native")
			b.ReportMetric(median(ways[0].spent)/float64(n), "cpu-ns/event")
			b.ReportMetric(float64(b.N*n)/wall.Seconds(), "events/s")
		})
	}
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// cpuTime is the CPU time that the process has used, in nanoseconds.
func cpuTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
