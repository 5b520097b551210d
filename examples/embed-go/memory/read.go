package memory

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/alineo-labs/alineo-host/host/store"
)

const (
	checkpointCreated = "sandbox.checkpoint_created"
	pageRows          = 1000 // of a page where the caller leaves it to the store
)

// place is where an entry stands: by time and id in a sandbox, by id alone in the whole.
type place struct{ ts, id int64 }

func of(e *store.Entry) place { return place{e.TS, e.ID} }

func (p place) compare(other place) int {
	return cmp.Or(cmp.Compare(p.ts, other.ts), cmp.Compare(p.id, other.id))
}

func (p place) cursor() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(p.ts)), uint64(p.id))
}

// parse reads a cursor, which is nothing but a place; found is false at the beginning.
func parse(cursor []byte) (p place, found bool, err error) {
	const size = 16
	switch len(cursor) {
	case 0:
		return place{}, false, nil
	case size:
		return place{int64(binary.BigEndian.Uint64(cursor)), int64(binary.BigEndian.Uint64(cursor[size/2:]))}, true, nil
	}
	return place{}, false, fmt.Errorf("this is no cursor of this ledger: %w", store.ErrInvalid)
}

// bounds say how much goes into a page: it ends with the entry that passes the bytes, and always has one.
type bounds struct {
	rows, count int
	bytes, used int64
}

func newBounds(opts store.ReadOptions) *bounds {
	b := &bounds{rows: opts.Limit, bytes: opts.MaxBytes}
	if b.rows == 0 {
		b.rows = pageRows
	}
	return b
}

func size(e *store.Entry) int64 { return int64(len(e.Event) + len(e.Payload)) }

func (b *bounds) admits(e *store.Entry) bool {
	if b.count == b.rows || b.bytes > 0 && b.used > b.bytes {
		return false
	}
	b.count, b.used = b.count+1, b.used+size(e)
	return true
}

// Read returns a page of a sandbox's entries.
func (st *Store) Read(ctx context.Context, key store.Key, opts store.ReadOptions) (store.Page, error) {
	if err := ctx.Err(); err != nil {
		return store.Page{}, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	var list []store.Entry
	if s := st.sandboxes[key]; s != nil {
		list = s.entries
	}
	return page(list, opts, place.compare)
}

// ReadAll returns a page of all entries.
func (st *Store) ReadAll(ctx context.Context, opts store.ReadOptions) (store.Page, error) {
	if err := ctx.Err(); err != nil {
		return store.Page{}, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	return page(st.entries, opts, func(a, b place) int { return cmp.Compare(a.id, b.id) })
}

func page(list []store.Entry, opts store.ReadOptions, compare func(a, b place) int) (store.Page, error) {
	after, found, err := parse(opts.Cursor)
	switch {
	case err != nil:
		return store.Page{}, err
	case opts.Last > 0 && found:
		return store.Page{}, fmt.Errorf("the last entries have no cursor that they come behind: %w", store.ErrInvalid)
	case opts.Last > 0:
		list = last(list, opts)
		opts = store.ReadOptions{Limit: len(list)}
	}
	result := store.Page{Cursor: slices.Clone(opts.Cursor)}
	b := newBounds(opts)
	for i := range list {
		e := &list[i]
		if found && compare(of(e), after) <= 0 {
			continue
		}
		if !b.admits(e) {
			result.More = true
			break
		}
		result.Entries, result.Cursor = append(result.Entries, *e), of(e).cursor()
	}
	return result, nil
}

// last are as many of the last entries as fit into a page.
func last(list []store.Entry, opts store.ReadOptions) []store.Entry {
	most := opts.Last
	if opts.Limit > 0 {
		most = min(most, opts.Limit)
	}
	at, used := len(list), int64(0)
	for at > 0 && len(list)-at < most {
		used += size(&list[at-1])
		if opts.MaxBytes > 0 && used > opts.MaxBytes && at < len(list) {
			break
		}
		at--
	}
	return list[at:]
}

// LastCheckpoint returns the newest checkpoint, of a tag if there is one.
func (st *Store) LastCheckpoint(_ context.Context, key store.Key, tag string) (store.Entry, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if s := st.sandboxes[key]; s != nil {
		for i := range slices.Backward(s.entries) {
			e := &s.entries[i]
			if e.Event == checkpointCreated && (tag == "" || field(e, "name") == tag) {
				return *e, nil
			}
		}
	}
	return store.Entry{}, fmt.Errorf("checkpoint %q of %s: %w", tag, key, store.ErrNotFound)
}

// ListCheckpoints returns a page of a sandbox's checkpoints.
func (st *Store) ListCheckpoints(_ context.Context, key store.Key, opts store.ReadOptions) (store.CheckpointPage, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	after, found, err := parse(opts.Cursor)
	if err != nil {
		return store.CheckpointPage{}, err
	}
	result := store.CheckpointPage{Cursor: slices.Clone(opts.Cursor)}
	s := st.sandboxes[key]
	if s == nil {
		return result, nil
	}
	b := newBounds(opts)
	for i := range s.entries {
		e := &s.entries[i]
		if e.Event != checkpointCreated || found && of(e).compare(after) <= 0 {
			continue
		}
		if !b.admits(e) {
			result.More = true
			break
		}
		one := store.Checkpoint{ID: e.ID, SnapshotID: field(e, "snapshotId"), Tag: field(e, "name"), CreatedAt: e.TS}
		result.Checkpoints, result.Cursor = append(result.Checkpoints, one), of(e).cursor()
	}
	return result, nil
}
