package main

import (
	"bytes"
	"context"
	"errors"
	"iter"

	"github.com/alineo-labs/alineo-host/host/store"
)

// errCircle is a ledger that would be listed for ever.
var errCircle = errors.New("listing sandboxes: the ledger's pages lead in a circle")

// eachSandbox lists page after page, opts.Limit at a time. A ledger may be anybody's: one whose cursor
// comes again is an error, found by comparing with one that is kept at every power of two.
func eachSandbox(ctx context.Context, st store.Ledger, opts store.ListOptions) iter.Seq2[store.Details, error] {
	return func(yield func(store.Details, error) bool) {
		var kept []byte
		for page, power := 1, 1; ; page++ {
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
			if bytes.Equal(list.Cursor, kept) {
				yield(store.Details{}, errCircle)
				return
			}
			if page == power {
				kept, power = list.Cursor, 2*power
			}
			opts.Cursor = list.Cursor
		}
	}
}
