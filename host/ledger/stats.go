package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/alineo-labs/alineo-host/host/store"
)

// Stats are what is in a ledger.
type Stats struct {
	Sandboxes     uint64 `json:"sandboxes"`
	Running       uint64 `json:"running"` // of them, those without sandbox.closed
	Entries       uint64 `json:"entries"`
	Bytes         uint64 `json:"bytes"`    // of payloads and errors as text
	OldestTS      int64  `json:"oldestTs"` // Unix milliseconds, of the first entry; 0 without entries
	NewestTS      int64  `json:"newestTs"` // the same, of the last one
	StorageBytes  int64  `json:"storageBytes"`
	SchemaVersion int64  `json:"schemaVersion"`
	Tombstones    uint64 `json:"tombstones"`
	Environments  uint64 `json:"environments"`
	// Names are the sandboxes of each name summed up, the largest first.
	Names []NameStats `json:"names"`
}

// NameStats sums the sandboxes of one name up.
type NameStats struct {
	Name      string `json:"name"`
	Sandboxes uint64 `json:"sandboxes"`
	Entries   uint64 `json:"entries"`
	Bytes     uint64 `json:"bytes"`
}

// CollectStats sums a ledger up. It reads all of it, in the store and not over the wire. progress may be
// nil.
func CollectStats(ctx context.Context, st store.Ledger, progress func(Progress)) (*Stats, error) {
	o, err := operate(st)
	if err != nil {
		return nil, fmt.Errorf("summing up the ledger: %w", err)
	}
	s, err := o.stats(ctx, newMeter(progress))
	if err != nil {
		return nil, fmt.Errorf("summing up the ledger: %w", err)
	}
	return s, nil
}

func (o operable) stats(ctx context.Context, m *meter) (*Stats, error) {
	base, err := o.Stats(ctx)
	if err != nil {
		return nil, err
	}
	s := &Stats{StorageBytes: base.StorageBytes, SchemaVersion: base.SchemaVersion, Names: []NameStats{}}
	for head, err := range o.heads(ctx) {
		if err != nil {
			return nil, err
		}
		u, err := o.Usage(ctx, head.Key)
		if err != nil {
			return nil, err
		}
		m.sandbox()
		s.add(head.Key.Name, &u)
	}
	slices.SortStableFunc(s.Names, func(a, b NameStats) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	for _, err := range o.tombstones(ctx) {
		if err != nil {
			return nil, err
		}
		s.Tombstones++
	}
	environments, err := o.ListEnvironments(ctx)
	if err != nil {
		return nil, err
	}
	s.Environments = uint64(len(environments))
	m.end()
	return s, nil
}

// add adds one sandbox; those of one name come behind one another.
func (s *Stats) add(name string, u *store.Usage) {
	s.Sandboxes++
	if !u.Closed {
		s.Running++
	}
	s.Entries += u.Entries
	s.Bytes += u.Bytes
	if u.Entries > 0 {
		if s.OldestTS == 0 || u.FirstTS < s.OldestTS {
			s.OldestTS = u.FirstTS
		}
		s.NewestTS = max(s.NewestTS, u.LastTS)
	}
	if n := len(s.Names); n == 0 || s.Names[n-1].Name != name {
		s.Names = append(s.Names, NameStats{Name: name})
	}
	one := &s.Names[len(s.Names)-1]
	one.Sandboxes++
	one.Entries += u.Entries
	one.Bytes += u.Bytes
}
