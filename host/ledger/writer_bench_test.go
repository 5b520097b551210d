package ledger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/nativeledger"
)

// frame is a line of output of about 200 bytes, in the order in which execd sends its keys.
var frame = json.RawMessage(`{"seq":1,"type":"stdout","text":"` + strings.Repeat("0123456789 abcd ", 9) + `","timestamp":1795964634665}`)

func BenchmarkCanonicalJSON(b *testing.B) {
	for name, payload := range map[string]json.RawMessage{
		"frame":     frame,
		"canonical": json.RawMessage(canonical(b, string(frame))),
		"64KiB":     json.RawMessage(`{"seq":1,"type":"stdout","text":"` + strings.Repeat("0123456789 abcd ", 4096) + `"}`),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(payload)))
			b.ReportAllocs()
			var c ledger.Canonicalizer
			var dst []byte
			for b.Loop() {
				dst, _ = c.AppendJSON(dst[:0], payload)
			}
		})
	}
}

func BenchmarkLeaf(b *testing.B) {
	e := store.Entry{TS: 1795964634665, Name: "run-a", SandboxID: "00000001-aaaa-bbbb-cccc-dddddddddddd", StepIndex: 1, Event: "exec.output", Payload: frame}
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	var c ledger.Canonicalizer
	var scratch []byte
	for b.Loop() {
		_, scratch, _ = c.Leaf(&e, scratch)
	}
}

// sink is a store that keeps nothing: what is left is the writer's own cost.
type sink struct{ store.Ledger }

func (sink) OpenLedger(context.Context, store.Key) (store.Head, error) {
	return store.Head{Epoch: 1}, nil
}
func (sink) Append(context.Context, *store.Batch) error { return nil }

// BenchmarkAppend is one durable append with others in flight; sink is the writer alone, sqlite is
// the native SQLite store with synchronous=FULL.
func BenchmarkAppend(b *testing.B) {
	for _, name := range []string{"sink", "sqlite"} {
		for _, callers := range []int{1, 64, 512} {
			b.Run(fmt.Sprintf("%s/in-flight=%d", name, callers), func(b *testing.B) {
				w := benchWriter(b, name)
				streams := openAll(b, w, min(callers, 16))
				b.SetBytes(int64(len(frame)))
				b.ReportAllocs()
				b.ResetTimer()
				var group sync.WaitGroup
				for c := range callers {
					s, n := streams[c%len(streams)], b.N/callers
					if c < b.N%callers {
						n++
					}
					group.Go(func() {
						for range n {
							if err := s.Append(context.Background(), ledger.Event{Step: 1, Name: "exec.output", Payload: frame}); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				group.Wait()
			})
		}
	}
}

// BenchmarkKnown is what it costs to look for values of credentials in every entry: the writer alone,
// with none and with a hundred that are known.
func BenchmarkKnown(b *testing.B) {
	for _, known := range []int{0, 1, 100} {
		b.Run(fmt.Sprint("values=", known), func(b *testing.B) {
			w := benchWriter(b, "sink")
			for i := range known {
				w.Redactor().Add(credential.NewSecret(fmt.Sprintf("ghp_%032d", i*7919)))
			}
			s := openAll(b, w, 1)[0]
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Append(context.Background(), ledger.Event{Step: 1, Name: "exec.output", Payload: frame}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEnqueue is one caller who keeps 512 entries in flight, as a stream of output does.
func BenchmarkEnqueue(b *testing.B) {
	for _, name := range []string{"sink", "sqlite"} {
		b.Run(name, func(b *testing.B) {
			s := openAll(b, benchWriter(b, name), 1)[0]
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			b.ResetTimer()
			var ring [512]*ledger.Ticket
			for i := range b.N {
				slot := &ring[i%len(ring)]
				if *slot != nil {
					if err := (*slot).Wait(context.Background()); err != nil {
						b.Fatal(err)
					}
				}
				ticket, err := s.Enqueue(context.Background(), ledger.Event{Step: 1, Name: "exec.output", Payload: frame})
				if err != nil {
					b.Fatal(err)
				}
				*slot = ticket
			}
			for _, ticket := range &ring {
				if ticket != nil {
					if err := ticket.Wait(context.Background()); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func benchWriter(b *testing.B, name string) *ledger.Writer {
	var st store.Ledger = sink{}
	if name == "sqlite" {
		native, err := nativeledger.Open(filepath.Join(b.TempDir(), "ledger.db"), nativeledger.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := native.Close(context.Background()); err != nil {
				b.Error(err)
			}
		})
		st = native
	}
	w := ledger.NewWriter(st, ledger.WriterOptions{})
	b.Cleanup(func() {
		if err := w.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return w
}

func openAll(b *testing.B, w *ledger.Writer, n int) []*ledger.Stream {
	streams := make([]*ledger.Stream, n)
	for i := range streams {
		var err error
		if streams[i], err = w.Open(context.Background(), store.Key{Name: "run", SandboxID: fmt.Sprint("id-", i)}); err != nil {
			b.Fatal(err)
		}
	}
	return streams
}
