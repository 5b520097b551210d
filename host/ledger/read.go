package ledger

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

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
	read := func(ctx context.Context, opts store.ReadOptions) (store.Page, error) { return st.Read(ctx, key, opts) }
	return stream(ctx, "reading ledger of "+key.String(), first, read, func(a, b *store.Entry) bool {
		return a.TS < b.TS || a.TS == b.TS && a.ID < b.ID
	})
}

// ReadAll streams every sandbox's entries in the order in which they were written. The first error
// ends it.
func ReadAll(ctx context.Context, st store.Ledger) iter.Seq2[store.Entry, error] {
	return stream(ctx, "reading ledger", pageRows, st.ReadAll, func(a, b *store.Entry) bool { return a.ID < b.ID })
}

// stream reads page after page, from the second on one ahead of the reader: the store looks for a page
// while the reader is busy with the one before. What a store may get wrong must not keep the reader for
// ever: each page has to lead on from the one before, so that none comes twice.
func stream(
	ctx context.Context, what string, first int, read func(context.Context, store.ReadOptions) (store.Page, error),
	before func(a, b *store.Entry) bool,
) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		var last *store.Entry // of the page before
		var ahead sync.WaitGroup
		defer ahead.Wait()
		opts := store.ReadOptions{Limit: first, MaxBytes: pageBytes}
		page, err := read(ctx, opts)
		for pages := 1; ; pages++ {
			if err != nil {
				yield(store.Entry{}, doing(what, err))
				return
			}
			n := len(page.Entries)
			if n > 0 && last != nil && !before(last, &page.Entries[0]) {
				yield(store.Entry{}, fmt.Errorf("%s: the store's page does not follow the one before it", what))
				return
			}
			if page.More && n == 0 {
				yield(store.Entry{}, fmt.Errorf("%s: the store says that there is more but its page is empty", what))
				return
			}
			var next store.Page
			var failed error
			more := func() {
				next, failed = read(ctx, store.ReadOptions{Cursor: page.Cursor, Limit: pageRows, MaxBytes: pageBytes})
			}
			if page.More && pages > 1 { // who wants the beginning only is not made to wait for more
				ahead.Go(more)
			}
			for i := range page.Entries {
				if !yield(page.Entries[i], nil) {
					return
				}
			}
			if !page.More {
				return
			}
			last = &store.Entry{TS: page.Entries[n-1].TS, ID: page.Entries[n-1].ID}
			if pages == 1 {
				more()
			}
			ahead.Wait()
			page, err = next, failed
		}
	}
}

// Checkpoints streams a sandbox's checkpoints, oldest first. The first error ends it.
func Checkpoints(ctx context.Context, st store.Ledger, key store.Key) iter.Seq2[store.Checkpoint, error] {
	return func(yield func(store.Checkpoint, error) bool) {
		what := "listing checkpoints of " + key.String()
		var last *store.Checkpoint // of the page before
		opts := store.ReadOptions{Limit: pageRows, MaxBytes: pageBytes}
		for {
			page, err := st.ListCheckpoints(ctx, key, opts)
			if err == nil && last != nil && len(page.Checkpoints) > 0 && !last.Before(&page.Checkpoints[0]) {
				err = errors.New("the store's page does not follow the one before it")
			}
			if err == nil && page.More && len(page.Checkpoints) == 0 {
				err = errors.New("the store says that there is more but its page is empty")
			}
			if err != nil {
				yield(store.Checkpoint{}, doing(what, err))
				return
			}
			for i := range page.Checkpoints {
				if !yield(page.Checkpoints[i], nil) {
					return
				}
			}
			if !page.More {
				return
			}
			last = &page.Checkpoints[len(page.Checkpoints)-1]
			opts.Cursor = page.Cursor
		}
	}
}

// doing says what was done when a store failed, unless the store has said it in these words.
func doing(what string, err error) error {
	if strings.HasPrefix(err.Error(), what+": ") {
		return err
	}
	return fmt.Errorf("%s: %w", what, err)
}
