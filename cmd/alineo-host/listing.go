package main

import (
	"context"
	"errors"
	"iter"

	"github.com/alineo-labs/alineo-host/host/store"
)

// errCircle is a ledger that would be listed for ever.
var errCircle = errors.New("listing sandboxes: the ledger's pages lead in a circle")

// eachSandbox lists page after page, opts.Limit at a time.
func eachSandbox(ctx context.Context, st store.Ledger, opts store.ListOptions) iter.Seq2[store.Details, error] {
	return func(yield func(store.Details, error) bool) {
		var circle store.Circle
		for {
			list, err := st.ListSandboxes(ctx, opts)
			if err != nil {
				yield(store.Details{}, err)
				return
			}
			for _, d := range list.Sandboxes {
				if !yield(d, nil) {
					return
				}
			}
			if !list.More {
				return
			}
			if circle.Closes(list.Cursor) {
				yield(store.Details{}, errCircle)
				return
			}
			opts.Cursor = list.Cursor
		}
	}
}
