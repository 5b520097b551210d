package sandbox

import (
	"context"
	"errors"
	"iter"

	"github.com/alineo-labs/alineo-host/host/store"
)

// errCircle is a ledger that would be listed for ever.
var errCircle = errors.New("listing sandboxes: the ledger's pages lead in a circle")

// Sandboxes walks the ledger's sandboxes, newest first, fetching pages as they are needed. Limit
// bounds all of it. An error ends the sequence.
func (c *Client) Sandboxes(ctx context.Context, opts store.ListOptions) iter.Seq2[store.Details, error] {
	return func(yield func(store.Details, error) bool) {
		opts := opts
		var left uint64
		if opts.Limit != nil {
			left = *opts.Limit
		}
		var circle store.Circle
		for opts.Limit == nil || left > 0 {
			if opts.Limit != nil {
				opts.Limit = &left
			}
			page, err := c.store.ListSandboxes(ctx, opts)
			if err != nil {
				yield(store.Details{}, err)
				return
			}
			for _, details := range page.Sandboxes {
				if !yield(details, nil) {
					return
				}
			}
			if opts.Limit != nil {
				left -= min(left, uint64(len(page.Sandboxes)))
			}
			if !page.More {
				return
			}
			if circle.Closes(page.Cursor) {
				yield(store.Details{}, errCircle)
				return
			}
			opts.Cursor = page.Cursor
		}
	}
}

// ListSandboxes lists the ledger's sandboxes, newest first.
func (c *Client) ListSandboxes(ctx context.Context, opts store.ListOptions) (store.DetailsPage, error) {
	return c.store.ListSandboxes(ctx, opts)
}

// GetSandbox sums up one sandbox's ledger, or returns store.ErrNotFound.
func (c *Client) GetSandbox(ctx context.Context, key store.Key) (store.Details, error) {
	return c.store.GetSandbox(ctx, key)
}

// FindSandbox is GetSandbox by id alone.
func (c *Client) FindSandbox(ctx context.Context, sandboxID string) (store.Details, error) {
	return c.store.FindSandbox(ctx, sandboxID)
}

// DeleteSandbox removes a sandbox's entries from the ledger and returns how many there were. The
// sandbox itself, if it still runs, is not touched.
func (c *Client) DeleteSandbox(ctx context.Context, key store.Key) (uint64, error) {
	return c.store.DeleteSandbox(ctx, key)
}
