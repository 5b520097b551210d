package adapter

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/store"
)

// ListSandboxes returns a page of sandboxes, newest first.
func (l *Ledger) ListSandboxes(ctx context.Context, opts store.ListOptions) (store.DetailsPage, error) {
	list := l.listSandboxes
	if opts.IDPrefix != "" {
		list = l.listBeginning
	}
	page, err := list(ctx, opts)
	if err != nil {
		return store.DetailsPage{}, fmt.Errorf("listing sandboxes: %w", err)
	}
	return page, nil
}

// listBeginning lists those whose ids begin with what is asked for. A guest that was made before there was
// that filter knows nothing of it: the host looks for itself, and asks on until it has a page.
func (l *Ledger) listBeginning(ctx context.Context, opts store.ListOptions) (store.DetailsPage, error) {
	var found []store.Details
	var circle store.Circle
	limit := opts.Limit
	for {
		page, err := l.listSandboxes(ctx, opts)
		if err != nil {
			return store.DetailsPage{}, err
		}
		all := len(page.Sandboxes)
		page.Sandboxes = slices.DeleteFunc(page.Sandboxes, func(d store.Details) bool { return !strings.HasPrefix(d.SandboxID, opts.IDPrefix) })
		known := len(page.Sandboxes) == all
		found = append(found, page.Sandboxes...)
		page.Sandboxes = found
		full := len(found) > 0
		if limit != nil {
			full = uint64(len(found)) >= *limit
		}
		if known || full || !page.More {
			return page, nil
		}
		if circle.Closes(page.Cursor) {
			return store.DetailsPage{}, l.brokenf(abi.OpLedgerListSandboxes, "the plugin's pages lead in a circle")
		}
		opts.Cursor = page.Cursor
		if limit != nil {
			opts.Limit = new(*limit - uint64(len(found)))
		}
	}
}

// listSandboxes asks for a page.
func (l *Ledger) listSandboxes(ctx context.Context, opts store.ListOptions) (store.DetailsPage, error) {
	const op = abi.OpLedgerListSandboxes
	req := abi.ListSandboxesRequest{
		Name: opts.Name, Status: opts.Status, Limit: opts.Limit, Before: opts.Before, RunID: opts.RunID,
		ResourceID: opts.ResourceID, TeamID: opts.TeamID, Cursor: opts.Cursor, IDPrefix: opts.IDPrefix,
	}
	most := uint64(0)
	if opts.Limit != nil {
		most = max(*opts.Limit, 1)
	}
	rows, reply, err := l.rows(ctx, op, &req, shape{abi.SandboxColumns, most})
	if err == nil {
		err = l.checkPage(op, opts.Cursor, rows, &reply)
	}
	var list []store.Details
	if err == nil {
		list, err = l.decodeDetails(op, rows)
	}
	if err != nil {
		return store.DetailsPage{}, err
	}
	return store.DetailsPage{Sandboxes: list, Cursor: reply.Cursor, More: reply.More}, nil
}
