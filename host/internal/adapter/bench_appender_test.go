package adapter_test

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/alineo-labs/alineo-host/host/store"
)

// appender writes the same batches to one store.
type appender struct {
	st   store.Ledger
	key  store.Key
	head store.Head
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
