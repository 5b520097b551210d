package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

// An entry of 64 MiB goes through the plugin, which has no more memory than that, and comes back as it
// was, among small ones.
func TestLargeEntry(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("LEFT OUT: minutes of SQLite, for one caller")
	}
	h := newSite(t).open(t)
	stream, err := h.Writer().Open(t.Context(), sandboxKey(0))
	if err != nil {
		t.Fatal(err)
	}
	large := bytes.Repeat([]byte("0123456789abcdef"), 4<<20)
	payload := append(append([]byte(`{"text":"`), large...), `"}`...)
	var tickets []*ledger.Ticket
	for _, p := range []json.RawMessage{json.RawMessage(`{"n":1}`), payload, json.RawMessage(`{"n":2}`)} {
		ticket, err := stream.Enqueue(t.Context(), ledger.Event{Step: 1, Name: "large.entry", Payload: p})
		if err != nil {
			t.Fatal(err)
		}
		tickets = append(tickets, ticket)
	}
	for _, ticket := range tickets {
		if err := ticket.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var sizes []int
	for e, err := range ledger.ReadSandbox(t.Context(), h.Store(), sandboxKey(0)) {
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(e.Payload))
		if len(e.Payload) == len(payload) && !bytes.Equal(e.Payload, payload) {
			t.Error("the large entry came back changed")
		}
	}
	if len(sizes) != 3 || sizes[1] != len(payload) {
		t.Errorf("entries of %v bytes came back", sizes)
	}
}

// gathered holds the first batch back, so that what comes meanwhile is the second.
type gathered struct {
	store.Ledger
	once    sync.Once
	held    chan struct{} // closed when the first batch is there
	release chan struct{}
	most    [2]int // entries and segments of the largest batch
}

// Append remembers how large batches are.
func (g *gathered) Append(ctx context.Context, batch *store.Batch) error {
	g.once.Do(func() {
		close(g.held)
		<-g.release
	})
	entries := 0
	for i := range batch.Segments {
		entries += len(batch.Segments[i].Entries)
	}
	if entries > g.most[0] {
		g.most = [2]int{entries, len(batch.Segments)}
	}
	return g.Ledger.Append(ctx, batch)
}

// One batch has 10,000 entries of 500 sandboxes: it is written at once, in order, with each chain whole.
func TestLargeBatch(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("LEFT OUT: minutes of SQLite, for one caller")
	}
	const boxes, each = 500, 20
	h := newSite(t).open(t)
	g := &gathered{Ledger: h.Store(), held: make(chan struct{}), release: make(chan struct{})}
	w := ledger.NewWriter(g, ledger.WriterOptions{MaxBatchRows: boxes * each, MaxBatchBytes: 64 << 20, MaxPendingBytes: 64 << 20})
	var streams [boxes]*ledger.Stream
	for i := range streams {
		var err error
		if streams[i], err = w.Open(t.Context(), sandboxKey(i)); err != nil {
			t.Fatal(err)
		}
	}
	first, err := w.Open(t.Context(), sandboxKey(boxes))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Enqueue(t.Context(), ledger.Event{Name: "large.first"}); err != nil {
		t.Fatal(err)
	}
	<-g.held
	for n := range each {
		for i, stream := range streams {
			event := ledger.Event{Step: int64(n), Name: "large.batch", Payload: json.RawMessage(fmt.Sprintf(`{"box":%d,"n":%d}`, i, n))}
			if _, err := stream.Enqueue(t.Context(), event); err != nil {
				t.Fatal(err)
			}
		}
	}
	close(g.release)
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g.most != [2]int{boxes * each, boxes} {
		t.Errorf("the largest batch had %d entries in %d segments", g.most[0], g.most[1])
	}
	for i, stream := range streams {
		n := 0
		for e, err := range ledger.ReadSandbox(t.Context(), h.Store(), stream.Key()) {
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf(`{"box":%d,"n":%d}`, i, n); string(e.Payload) != want {
				t.Fatalf("%s where %s belongs", e.Payload, want)
			}
			n++
		}
		if n != each {
			t.Fatalf("sandbox %d has %d entries", i, n)
		}
	}
}
