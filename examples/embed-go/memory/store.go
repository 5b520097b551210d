package memory

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/alineo-labs/alineo-host/host/store"
)

// Store is a ledger in memory. It is safe for concurrent use.
type Store struct {
	mu           sync.Mutex
	sandboxes    map[store.Key]*sandbox
	entries      []store.Entry // of all sandboxes, by ID
	environments map[string]store.Environment
	lastID       int64
	lastEpoch    uint64
}

var _ store.Ledger = (*Store)(nil)

// sandbox is what is known of one that was claimed.
type sandbox struct {
	epoch    uint64
	segments []segment
	counted  uint64
	entries  []store.Entry // by (TS, ID)
}

type segment struct {
	id   [16]byte
	hash [32]byte
}

// New returns an empty ledger.
func New() *Store {
	return &Store{sandboxes: map[store.Key]*sandbox{}, environments: map[string]store.Environment{}}
}

// OpenLedger claims a sandbox's ledger: whoever had it can't append any more.
func (st *Store) OpenLedger(ctx context.Context, key store.Key) (store.Head, error) {
	if err := ctx.Err(); err != nil {
		return store.Head{}, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	s := st.sandboxes[key]
	if s == nil {
		s = &sandbox{}
		st.sandboxes[key] = s
	}
	st.lastEpoch++ // one count for all: it is higher than every earlier claim, of deleted sandboxes too
	s.epoch = st.lastEpoch
	head := store.Head{Epoch: s.epoch, LastStep: -1, Entries: s.counted}
	if n := len(s.segments); n > 0 {
		head.Hash, head.SegmentID = slices.Clone(s.segments[n-1].hash[:]), slices.Clone(s.segments[n-1].id[:])
	}
	for i := range s.entries {
		head.LastStep, head.MaxTS = max(head.LastStep, s.entries[i].StepIndex), max(head.MaxTS, s.entries[i].TS)
	}
	return head, nil
}

// Append writes a batch, all of it or nothing: it is looked at whole before anything is changed.
func (st *Store) Append(ctx context.Context, batch *store.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	retries := make([]bool, len(batch.Segments))
	for i := range batch.Segments {
		g := &batch.Segments[i]
		s := st.sandboxes[g.Key]
		switch {
		case s != nil && s.follows(g):
		case s != nil && slices.Contains(s.segments, segment{g.ID, g.Hash}):
			retries[i] = true
		default:
			moved := fmt.Errorf("the ledger of %s has moved on: %w", g.Key, store.ErrConflict)
			return &store.SegmentError{Segment: i, Entry: -1, Err: moved}
		}
	}
	for i := range batch.Segments {
		if !retries[i] {
			st.apply(&batch.Segments[i])
		}
	}
	return nil
}

// follows says whether a segment is the one behind the head.
func (s *sandbox) follows(g *store.Segment) bool {
	var hash []byte
	if n := len(s.segments); n > 0 {
		hash = s.segments[n-1].hash[:]
	}
	return s.epoch == g.Epoch && bytes.Equal(hash, g.Previous)
}

func (st *Store) apply(g *store.Segment) {
	s := st.sandboxes[g.Key]
	s.segments, s.counted = append(s.segments, segment{g.ID, g.Hash}), s.counted+uint64(len(g.Entries))
	for _, e := range g.Entries {
		st.lastID++
		e.ID = st.lastID
		e.Name, e.SandboxID = g.Key.Name, g.Key.SandboxID
		e.Payload = bytes.Clone(e.Payload) // it is the caller's again when Append returns
		at := len(s.entries)               // its place, which is almost always the end
		for at > 0 && s.entries[at-1].TS > e.TS {
			at--
		}
		s.entries = slices.Insert(s.entries, at, e)
		st.entries = append(st.entries, e)
	}
}

// DeleteSandbox removes all that is kept of a sandbox.
func (st *Store) DeleteSandbox(ctx context.Context, key store.Key) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	s := st.sandboxes[key]
	if s == nil {
		return 0, nil
	}
	delete(st.sandboxes, key)
	st.entries = slices.DeleteFunc(st.entries, func(e store.Entry) bool { return e.Name == key.Name && e.SandboxID == key.SandboxID })
	return uint64(len(s.entries)), nil
}

// GetEnvironment returns a prebuilt snapshot by its name.
func (st *Store) GetEnvironment(_ context.Context, name string) (store.Environment, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if env, ok := st.environments[name]; ok {
		return env, nil
	}
	return store.Environment{}, fmt.Errorf("environment %q: %w", name, store.ErrNotFound)
}

// SaveEnvironment adds one, or replaces the one of that name.
func (st *Store) SaveEnvironment(_ context.Context, env store.Environment) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.environments[env.Name] = env
	return nil
}

// DeleteEnvironment forgets one.
func (st *Store) DeleteEnvironment(_ context.Context, name string) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	delete(st.environments, name)
	return nil
}

// ListEnvironments returns all, newest first.
func (st *Store) ListEnvironments(context.Context) ([]store.Environment, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	var list []store.Environment
	for _, env := range st.environments {
		list = append(list, env)
	}
	slices.SortFunc(list, func(a, b store.Environment) int { return cmp.Compare(b.BuiltAt, a.BuiltAt) })
	return list, nil
}

// Close has nothing to release.
func (*Store) Close(context.Context) error { return nil }

// field is a text of an entry's payload, empty when there is none.
func field(e *store.Entry, name string) string {
	var object map[string]json.RawMessage
	var text string
	if json.Unmarshal(e.Payload, &object) != nil || json.Unmarshal(object[name], &text) != nil {
		return ""
	}
	return text
}
