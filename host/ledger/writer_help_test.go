package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/nativeledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script decides what one try of Append does: whether the store underneath gets it, and what the
// writer is told instead of the store's own answer (nil: that one). n counts tries from 1.
type script func(n int, b *store.Batch) (apply bool, answer error)

// faulty is a real store with a fault between it and the writer.
type faulty struct {
	store.Ledger
	mu      sync.Mutex
	script  script
	tries   [][]string       // the events of each try, in order, "id:event"
	applied []*store.Segment // copies of what was applied
	gate    chan struct{}    // when not nil each try takes a token first
	began   chan struct{}    // when not nil each try puts a token before
}

func (f *faulty) Append(ctx context.Context, b *store.Batch) error {
	var names []string
	for i := range b.Segments {
		for _, e := range b.Segments[i].Entries {
			names = append(names, e.SandboxID+":"+e.Event)
		}
	}
	f.mu.Lock()
	f.tries = append(f.tries, names)
	n, decide, gate, began := len(f.tries), f.script, f.gate, f.began
	f.mu.Unlock()
	if began != nil {
		began <- struct{}{}
	}
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	apply, answer := true, error(nil)
	if decide != nil {
		apply, answer = decide(n, b)
	}
	if apply {
		if err := f.Ledger.Append(ctx, b); err != nil {
			return err
		}
		f.mu.Lock()
		for i := range b.Segments {
			s := b.Segments[i]
			s.Entries, s.Leaves, s.Previous = append([]store.Entry(nil), s.Entries...), append([]byte(nil), s.Leaves...), append([]byte(nil), s.Previous...)
			f.applied = append(f.applied, &s)
		}
		f.mu.Unlock()
	}
	return answer
}

func (f *faulty) log() [][]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([][]string(nil), f.tries...)
}

// hold makes tries wait for tokens; began gets a token when one arrives.
func (f *faulty) hold() (release, began chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gate, f.began = make(chan struct{}, 1000), make(chan struct{}, 1000)
	return f.gate, f.began
}

// rig is a writer over a faulty store.
type rig struct {
	t     testing.TB
	path  string
	store *faulty
	w     *ledger.Writer
}

func newRig(t testing.TB, decide script, opts ledger.WriterOptions) *rig {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	native, err := nativeledger.Open(path, nativeledger.Options{Synchronous: "off"})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, path: path, store: &faulty{Ledger: native, script: decide}}
	if opts.MinBackoff == 0 {
		opts.MinBackoff, opts.MaxBackoff = time.Microsecond, time.Millisecond
	}
	r.w = ledger.NewWriter(r.store, opts)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_ = r.w.Close(ctx) // tests that care look at it themselves
		if err := native.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rig) open(id string) *ledger.Stream {
	r.t.Helper()
	s, err := r.w.Open(r.t.Context(), store.Key{Name: "run", SandboxID: id})
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *rig) enqueue(s *ledger.Stream, event string) *ledger.Ticket {
	r.t.Helper()
	ticket, err := s.Enqueue(r.t.Context(), ledger.Event{Step: -1, Name: event, Payload: json.RawMessage(`{}`)})
	if err != nil {
		r.t.Fatalf("enqueueing %s: %v", event, err)
	}
	return ticket
}

func (r *rig) append(s *ledger.Stream, event string) error {
	return s.Append(r.t.Context(), ledger.Event{Step: -1, Name: event, Payload: json.RawMessage(`{}`)})
}

// entries reads a sandbox's ledger through the store underneath.
func (r *rig) entries(id string) []store.Entry {
	r.t.Helper()
	var all []store.Entry
	for e, err := range ledger.ReadSandbox(r.t.Context(), r.store.Ledger, store.Key{Name: "run", SandboxID: id}) {
		if err != nil {
			r.t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// wantEvents checks a sandbox's ledger.
func (r *rig) wantEvents(id, want string) {
	r.t.Helper()
	var names []string
	for _, e := range r.entries(id) {
		names = append(names, e.Event)
	}
	if got := strings.Join(names, " "); got != want {
		r.t.Errorf("events of %s are %q, want %q", id, got, want)
	}
}

// wantTries checks what was sent.
func (r *rig) wantTries(want ...string) {
	r.t.Helper()
	var got []string
	for _, names := range r.store.log() {
		got = append(got, strings.Join(names, " "))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		r.t.Errorf("tries:\n got %q\nwant %q", got, want)
	}
}

// verifyChain recomputes every hash of what was applied.
func (r *rig) verifyChain() {
	r.t.Helper()
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	heads := map[store.Key][]byte{}
	seen := map[ledger.Hash]bool{}
	var c ledger.Canonicalizer
	for _, s := range r.store.applied {
		if seen[s.Hash] {
			continue // a retry that the store recognised
		}
		seen[s.Hash] = true
		if !bytes.Equal(heads[s.Key], s.Previous) {
			r.t.Errorf("a segment of %s follows %x, want %x", s.Key, s.Previous, heads[s.Key])
		}
		var leaves []byte
		for i := range s.Entries {
			leaf, _, err := c.Leaf(&s.Entries[i], nil)
			if err != nil {
				r.t.Fatal(err)
			}
			leaves = append(leaves, leaf[:]...)
		}
		if !bytes.Equal(leaves, s.Leaves) || ledger.SegmentHash(s.Previous, s.ID, leaves) != s.Hash {
			r.t.Errorf("the hashes of a segment of %s are wrong", s.Key)
		}
		heads[s.Key] = append([]byte(nil), s.Hash[:]...)
	}
}
