package adapter_test

import (
	"context"
	"encoding/binary"
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

var benchKey = store.Key{Name: "bench", SandboxID: "3f1f0f6e-0b3a-4a6e-9a61-6f4f6c0f9f11"}

var payload = json.RawMessage(`{"seq":1,"type":"stdout","text":"a line of output such as a compiler prints, of some length, ` +
	`with a path and a number in it: src/server/routes.go:128","timestamp":1795958579278}`)

// batch is one append after another: the same events, with a later time each, as one segment.
type batch struct {
	segment store.Segment
	count   uint64
	ts      int64
}

func newBatch(n int) *batch {
	b := &batch{ts: time.Now().UnixMilli(), segment: store.Segment{Key: benchKey, Leaves: make([]byte, 32*n), Entries: make([]store.Entry, n)}}
	for i := range b.segment.Entries {
		b.segment.Entries[i] = store.Entry{
			Name: benchKey.Name, SandboxID: benchKey.SandboxID, StepIndex: 1, Event: store.EventExecOutput, Payload: payload,
		}
	}
	return b
}

func (b *batch) next() {
	b.count++
	binary.LittleEndian.PutUint64(b.segment.ID[:], b.count)
	binary.LittleEndian.PutUint64(b.segment.Hash[:], b.count)
	for i := range b.segment.Entries {
		b.ts++
		b.segment.Entries[i].TS = b.ts
	}
}

// way is a way to append batches.
type way interface {
	append(s *store.Segment)
}

// throughStore appends to a store.
type throughStore struct {
	b     *testing.B
	st    store.Ledger
	head  store.Head
	hash  []byte
	batch store.Batch
}

func newThroughStore(b *testing.B, st store.Ledger) *throughStore {
	b.Helper()
	head, err := st.OpenLedger(b.Context(), benchKey)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := st.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return &throughStore{b: b, st: st, head: head, hash: head.Hash, batch: store.Batch{Segments: make([]store.Segment, 1)}}
}

func (w *throughStore) append(s *store.Segment) {
	w.batch.Segments[0] = *s
	w.batch.Segments[0].Epoch, w.batch.Segments[0].Previous = w.head.Epoch, w.hash
	if err := w.st.Append(w.b.Context(), &w.batch); err != nil {
		w.b.Fatal(err)
	}
	w.hash = append(w.hash[:0:0], s.Hash[:]...)
}

// turns is one way's share of a benchmark: what an append cost it, turn after turn.
type turns struct {
	name      string // of its ratio, empty for the plugin
	way       way    // or
	node      *node  // another program
	bare      bool
	batch     *batch
	cpu, wall []float64 // ns an append, turn after turn
	each      []float64 // ns, of every append
}

func (t *turns) take(b *testing.B, n, count int) {
	if t.node != nil {
		t.wall = append(t.wall, t.node.run(b, n, count, t.bare)/float64(count))
		return
	}
	began, start := time.Now(), cpuTime(b)
	last := began
	for range count {
		t.batch.next()
		t.way.append(&t.batch.segment)
		now := time.Now()
		t.each = append(t.each, float64(now.Sub(last)))
		last = now
	}
	t.cpu = append(t.cpu, float64(cpuTime(b)-start)/float64(count))
	t.wall = append(t.wall, float64(time.Since(began))/float64(count))
}

// BenchmarkAppend appends the same batches through the WebAssembly plugin and in other ways, in turns,
// and reports how they stand: "of-X" is X's time divided by the plugin's, the median over the turns of
// one run, so that 1 is as fast and more is faster. -cpu is the process's CPU time, which
// neighbours and the disk disturb least; -wall is what a user waits for. -each compares the median single
// append of one with that of the other, by the clock: most of them no neighbour has disturbed.
//
//   - native: modernc's C interface, 32 rows an insert, and the same statements as the plugin's
//   - bare: the same, but nothing except the events: no head, no segment
//   - driver: database/sql with the same statements
//   - better-sqlite3, better-sqlite3-bare: what a Node program does (make bench-node)
//
// ns/op is that of all together.
func BenchmarkAppend(b *testing.B) {
	for _, synchronous := range []string{"normal", "full"} {
		for _, n := range []int{1, 64, 512} {
			b.Run(fmt.Sprintf("%s/events=%d", synchronous, n), func(b *testing.B) { benchAppend(b, synchronous, n) })
		}
	}
}

func benchAppend(b *testing.B, synchronous string, n int) {
	guest, err := openSQLite(b.Context(), newRuntime(b), filepath.Join(b.TempDir(), "guest.db"), synchronous)
	if err != nil {
		b.Fatal(err)
	}
	driver, err := nativeledger.Open(filepath.Join(b.TempDir(), "driver.db"), nativeledger.Options{Synchronous: synchronous})
	if err != nil {
		b.Fatal(err)
	}
	all := []*turns{
		{way: newThroughStore(b, guest)},
		{name: "native", way: newLite(b, synchronous, false)},
		{name: "bare", way: newLite(b, synchronous, true)},
		{name: "driver", way: newThroughStore(b, driver)},
	}
	if other := newNode(b, synchronous); other != nil {
		all = append(all, &turns{name: "better-sqlite3", node: other})
	}
	if other := newNode(b, synchronous); other != nil {
		all = append(all, &turns{name: "better-sqlite3-bare", node: other, bare: true})
	}
	for _, t := range all {
		t.batch = newBatch(n)
	}
	slice := max(8, 2048/n)
	if n == 1 && synchronous == "full" {
		slice = 64
	}
	turn := 0
	run := func(count int) {
		turn++
		for k := range all {
			all[(k+turn)%len(all)].take(b, n, count)
		}
	}
	run(slice) // opens, prepares
	for _, t := range all {
		t.cpu, t.wall, t.each = nil, nil, nil
	}
	b.ResetTimer()
	for done := 0; done < b.N; done += slice {
		run(min(slice, b.N-done))
	}
	b.StopTimer()
	mine := all[0]
	b.ReportMetric(median(mine.cpu)/float64(n), "cpu-ns/event")
	b.ReportMetric(1e9*float64(n)/median(mine.wall), "events/s")
	for _, other := range all[1:] {
		b.ReportMetric(ratio(other.wall, mine.wall), "of-"+other.name+"-wall")
		if other.node == nil {
			b.ReportMetric(ratio(other.cpu, mine.cpu), "of-"+other.name+"-cpu")
			b.ReportMetric(median(other.each)/median(mine.each), "of-"+other.name+"-each")
		}
	}
}

// ratio is the median of theirs to mine, turn by turn.
func ratio(theirs, mine []float64) float64 {
	ratios := make([]float64, len(mine))
	for i := range ratios {
		ratios[i] = theirs[i] / mine[i]
	}
	return median(ratios)
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
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
