package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/alineo-labs/alineo-host/host/store"
)

// operable is a store that can be operated.
type operable struct {
	store.Ledger
	store.Maintenance
}

// operate asks a store for what exporting, verifying and pruning need.
func operate(st store.Ledger) (operable, error) {
	m, ok := st.(store.Maintenance)
	if !ok {
		return operable{}, fmt.Errorf("%w: this ledger does not list the heads and segments of its sandboxes, so it can't be exported, imported into, verified or pruned", store.ErrUnsupported)
	}
	return operable{st, m}, nil
}

// errCircle is a list that would go on for ever.
var errCircle = errors.New("the store's pages do not lead on from one another")

// pages walks over a list page by page. A store may be anybody's: two pages that end alike would never
// end.
func pages(ctx context.Context, start []byte, read func(context.Context, store.ReadOptions) (cursor []byte, items int, more bool, err error)) error {
	opts := store.ReadOptions{Cursor: start, Limit: pageRows, MaxBytes: pageBytes}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		cursor, items, more, err := read(ctx, opts)
		if err != nil || !more {
			return err
		}
		if items == 0 || bytes.Equal(cursor, opts.Cursor) {
			return errCircle
		}
		opts.Cursor = cursor
	}
}

func compareKeys(a, b store.Key) int {
	if c := strings.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	return strings.Compare(a.SandboxID, b.SandboxID)
}

// placedHead is a head and where the page that it came on began.
type placedHead struct {
	store.SandboxHead
	page []byte
}

// headRows is how many heads a page has at most. A store that has no index in the order of names looks at
// every sandbox for each page.
const headRows = 10_000

// heads walks over every sandbox, by name and id.
func (o operable) heads(ctx context.Context) iter.Seq2[placedHead, error] {
	return o.headsFrom(ctx, nil)
}

func (o operable) headsFrom(ctx context.Context, start []byte) iter.Seq2[placedHead, error] {
	return func(yield func(placedHead, error) bool) {
		var last *store.Key
		stopped := false
		err := pages(ctx, start, func(ctx context.Context, opts store.ReadOptions) ([]byte, int, bool, error) {
			opts.Limit = headRows
			page, err := o.ListHeads(ctx, opts)
			if err != nil {
				return nil, 0, false, err
			}
			for _, h := range page.Heads {
				if last != nil && compareKeys(*last, h.Key) >= 0 {
					return nil, 0, false, fmt.Errorf("listing heads: %w", errCircle)
				}
				key := h.Key
				last = &key
				if !yield(placedHead{h, opts.Cursor}, nil) {
					stopped = true
					return nil, 0, false, nil
				}
			}
			return page.Cursor, len(page.Heads), page.More, nil
		})
		if err != nil && !stopped {
			yield(placedHead{}, err)
		}
	}
}

// head looks again where a sandbox stands; ok is false when it is gone.
func (o operable) head(ctx context.Context, h placedHead) (now placedHead, ok bool, err error) {
	for now, err := range o.headsFrom(ctx, h.page) {
		if err != nil {
			return now, false, err
		}
		if c := compareKeys(now.Key, h.Key); c >= 0 {
			return now, c == 0, nil
		}
	}
	return placedHead{}, false, nil
}

// findHead looks for one sandbox among all.
func (o operable) findHead(ctx context.Context, key store.Key) (placedHead, bool, error) {
	return o.head(ctx, placedHead{SandboxHead: store.SandboxHead{Key: key}})
}

// segments walks over a sandbox's chain, oldest first.
func (o operable) segments(ctx context.Context, key store.Key) iter.Seq2[store.StoredSegment, error] {
	return func(yield func(store.StoredSegment, error) bool) {
		stopped := false
		err := pages(ctx, nil, func(ctx context.Context, opts store.ReadOptions) ([]byte, int, bool, error) {
			page, err := o.ListSegments(ctx, key, opts)
			if err != nil {
				return nil, 0, false, err
			}
			for _, s := range page.Segments {
				if !yield(s, nil) {
					stopped = true
					return nil, 0, false, nil
				}
			}
			return page.Cursor, len(page.Segments), page.More, nil
		})
		if err != nil && !stopped {
			yield(store.StoredSegment{}, err)
		}
	}
}

// tombstones walks over what is left of deleted sandboxes.
func (o operable) tombstones(ctx context.Context) iter.Seq2[store.Tombstone, error] {
	return func(yield func(store.Tombstone, error) bool) {
		stopped := false
		err := pages(ctx, nil, func(ctx context.Context, opts store.ReadOptions) ([]byte, int, bool, error) {
			page, err := o.ListTombstones(ctx, opts)
			if err != nil {
				return nil, 0, false, err
			}
			for _, t := range page.Tombstones {
				if !yield(t, nil) {
					stopped = true
					return nil, 0, false, nil
				}
			}
			return page.Cursor, len(page.Tombstones), page.More, nil
		})
		if err != nil && !stopped {
			yield(store.Tombstone{}, err)
		}
	}
}

// total is how many entries there are, 0 when the store can't tell.
func (o operable) total(ctx context.Context) int64 {
	stats, err := o.Stats(ctx)
	if err != nil {
		return 0
	}
	return max(0, stats.Entries)
}

// UnreadableError says that a sandbox's entries could not be read to their end: one of them is not of
// the kinds that an entry has, such as a text where a time belongs. Others must have written it.
type UnreadableError struct {
	Key   store.Key
	After int64 // id of the last entry that could be read, 0 when there was none
	Err   error
}

// Error says where it is.
func (e *UnreadableError) Error() string {
	if e.After == 0 {
		return fmt.Sprintf("the first entry of %s can't be read: %v", e.Key, e.Err)
	}
	return fmt.Sprintf("the entries of %s can't be read beyond entry %d: %v", e.Key, e.After, e.Err)
}

// Unwrap returns what the store said.
func (e *UnreadableError) Unwrap() error { return e.Err }

// rows walks over a sandbox's entries as ReadSandbox does, but as far as they can be read: what ends it
// early is an *UnreadableError. page is called before each page is read, unless it is nil.
func (o operable) rows(ctx context.Context, key store.Key, page func()) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		if key == (store.Key{}) {
			yield(nil, &UnreadableError{Key: key, Err: errors.New("neither a name nor a sandbox id")})
			return
		}
		var last store.Entry
		opts := store.ReadOptions{Limit: pageRows, MaxBytes: pageBytes}
		for begun := false; ; {
			if page != nil {
				page()
			}
			page, err := o.Read(ctx, key, opts)
			if err != nil {
				if ctx.Err() != nil || errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnsupported) {
					yield(nil, doing("reading ledger of "+key.String(), err))
					return
				}
				if opts.Limit > 1 { // what stands before the bad entry can be read
					opts.Limit /= 8
					opts.Limit = max(opts.Limit, 1)
					continue
				}
				yield(nil, &UnreadableError{Key: key, After: last.ID, Err: err})
				return
			}
			for i := range page.Entries {
				e := &page.Entries[i]
				if begun && (e.TS < last.TS || e.TS == last.TS && e.ID <= last.ID) {
					yield(nil, fmt.Errorf("reading ledger of %s: %w", key, errCircle))
					return
				}
				begun, last = true, store.Entry{TS: e.TS, ID: e.ID}
				if !yield(e, nil) {
					return
				}
			}
			if !page.More {
				return
			}
			if len(page.Entries) == 0 {
				yield(nil, fmt.Errorf("reading ledger of %s: %w", key, errCircle))
				return
			}
			opts.Cursor = page.Cursor
		}
	}
}
