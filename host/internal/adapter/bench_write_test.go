package adapter_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

// streaming is a stream of a writer over the plugin's ledger.
func streaming(b *testing.B, synchronous string) *ledger.Stream {
	b.Helper()
	st, err := openSQLite(b.Context(), newRuntime(b), filepath.Join(b.TempDir(), "write.db"), synchronous)
	if err != nil {
		b.Fatal(err)
	}
	w := ledger.NewWriter(st, ledger.WriterOptions{})
	b.Cleanup(func() {
		if err := w.Close(context.Background()); err != nil {
			b.Error(err)
		}
		if err := st.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	stream, err := w.Open(b.Context(), benchKey)
	if err != nil {
		b.Fatal(err)
	}
	return stream
}

// inFlight is how many frames of one exec may wait for their commit, as in host/sandbox.
const inFlight = 1024

// stream appends n events as a running command does: each is made, queued, and handed on when it is
// committed, in order.
func streamEvents(b testing.TB, s *ledger.Stream, n int) {
	b.Helper()
	tickets := make(chan *ledger.Ticket, inFlight)
	failed := make(chan error, 1)
	go func() {
		var failure error
		for ticket := range tickets {
			if err := ticket.Wait(context.Background()); err != nil {
				failure = err
			}
		}
		failed <- failure
	}()
	for range n {
		ticket, err := s.Enqueue(context.Background(), event())
		if err != nil {
			b.Fatal(err)
		}
		tickets <- ticket
	}
	close(tickets)
	if err := <-failed; err != nil {
		b.Fatal(err)
	}
}

// event has a payload of its own, as every frame has.
func event() ledger.Event {
	return ledger.Event{Step: 1, Name: store.EventExecOutput, Payload: append(payload[:0:0], payload...)}
}

// BenchmarkStream is the whole write path of a streamed exec, from the event that is made to its
// acknowledgement, with group commit, and, in turns, the same with one awaited append an event. Both
// are as durable. of-awaited is the awaited way's time an event divided by the stream's.
func BenchmarkStream(b *testing.B) {
	for _, synchronous := range []string{"normal", "full"} {
		b.Run(synchronous, func(b *testing.B) {
			const events, awaited = 4096, 256
			fast, slow := streaming(b, synchronous), streaming(b, synchronous)
			streamEvents(b, fast, events)
			var mine, theirs []float64
			var allocated uint64
			var before, after runtime.MemStats
			for b.Loop() {
				runtime.ReadMemStats(&before)
				began := time.Now()
				streamEvents(b, fast, events)
				mine = append(mine, float64(time.Since(began))/events)
				runtime.ReadMemStats(&after)
				allocated += after.TotalAlloc - before.TotalAlloc
				began = time.Now()
				for range awaited {
					if err := slow.Append(context.Background(), event()); err != nil {
						b.Fatal(err)
					}
				}
				theirs = append(theirs, float64(time.Since(began))/awaited)
			}
			b.ReportMetric(1e9/median(mine), "events/s")
			b.ReportMetric(1e9/median(theirs), "awaited-events/s")
			b.ReportMetric(float64(allocated)/float64(len(mine)*events), "B/event")
			b.ReportMetric(ratio(theirs, mine), "of-awaited-wall")
		})
	}
}

// BenchmarkAwaited is one durable append after another through the whole write path, and, in turns,
// over modernc's C interface, each its own transaction: the bare insert, and the same statements as the
// plugin's. of-X is the median single append of X divided by that of the path.
func BenchmarkAwaited(b *testing.B) {
	for _, synchronous := range []string{"normal", "full"} {
		b.Run(fmt.Sprint(synchronous), func(b *testing.B) {
			const slice = 16
			path, one := streaming(b, synchronous), newBatch(1)
			bare, native := newLite(b, synchronous, true), newLite(b, synchronous, false)
			ways := [...]func(){
				func() {
					if err := path.Append(context.Background(), event()); err != nil {
						b.Fatal(err)
					}
				},
				func() { one.next(); bare.append(&one.segment) },
				func() { one.next(); native.append(&one.segment) },
			}
			var took [len(ways)][]float64
			for b.Loop() {
				for i, way := range ways {
					for range slice {
						began := time.Now()
						way()
						took[i] = append(took[i], float64(time.Since(began)))
					}
				}
			}
			mine := median(took[0])
			b.ReportMetric(mine/1000, "µs/event")
			b.ReportMetric(median(took[1])/mine, "of-bare")
			b.ReportMetric(median(took[2])/mine, "of-native")
		})
	}
}
