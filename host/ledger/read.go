package ledger

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"github.com/alineo-labs/alineo-host/host/store"
)

// How much of a ledger is in memory at a time.
const (
	pageRows  = 1000
	pageBytes = 1 << 20
)

// ReadSandbox streams one sandbox's entries, oldest first, page by page. The first error ends it.
func ReadSandbox(ctx context.Context, st store.Ledger, key store.Key) iter.Seq2[store.Entry, error] {
	return readSandbox(ctx, st, key, pageRows)
}

// readSandbox is ReadSandbox with a first page of another size, for readers who stop early.
func readSandbox(ctx context.Context, st store.Ledger, key store.Key, first int) iter.Seq2[store.Entry, error] {
	return stream(ctx, "reading ledger of "+key.String(), first, func(ctx context.Context, opts store.ReadOptions) (store.Page, error) {
		return st.Read(ctx, key, opts)
	})
}

// ReadAll streams every sandbox's entries in the order in which they were written. The first error
// ends it.
func ReadAll(ctx context.Context, st store.Ledger) iter.Seq2[store.Entry, error] {
	return stream(ctx, "reading ledger", pageRows, st.ReadAll)
}

func stream(
	ctx context.Context, doing string, first int, read func(context.Context, store.ReadOptions) (store.Page, error),
) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		opts := store.ReadOptions{Limit: first, MaxBytes: pageBytes}
		for {
			page, err := read(ctx, opts)
			if err != nil {
				yield(store.Entry{}, fmt.Errorf("%s: %w", doing, err))
				return
			}
			for _, e := range page.Entries {
				if !yield(e, nil) {
					return
				}
			}
			if !page.More {
				return
			}
			if bytes.Equal(page.Cursor, opts.Cursor) {
				yield(store.Entry{}, fmt.Errorf("%s: the store says that there is more but its cursor does not move", doing))
				return
			}
			opts.Cursor, opts.Limit = page.Cursor, pageRows
		}
	}
}
