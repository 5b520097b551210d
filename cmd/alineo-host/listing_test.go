package main

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/alineo-labs/alineo-host/host/store"
)

// pages is a ledger that is nothing but its listing, each cursor a page.
type pages struct {
	store.Ledger
	list map[string]store.DetailsPage
}

func (p pages) ListSandboxes(_ context.Context, opts store.ListOptions) (store.DetailsPage, error) {
	return p.list[string(opts.Cursor)], nil
}

func TestEachSandbox(t *testing.T) {
	t.Parallel()
	page := func(id, next string) store.DetailsPage {
		return store.DetailsPage{Sandboxes: []store.Details{{SandboxID: id}}, Cursor: []byte(next), More: next != ""}
	}
	for _, tc := range []struct {
		list map[string]store.DetailsPage
		want []string
		err  error
	}{
		{map[string]store.DetailsPage{"": page("1", "b"), "b": page("2", "c"), "c": page("3", "")}, []string{"1", "2", "3"}, nil},
		{map[string]store.DetailsPage{"": page("1", "b"), "b": page("2", "b")}, []string{"1", "2"}, errCircle},
		{map[string]store.DetailsPage{"": page("1", "b"), "b": page("2", "c"), "c": page("3", "d"), "d": page("4", "b")}, nil, errCircle},
	} {
		var got []string
		var last error
		for d, err := range eachSandbox(t.Context(), pages{list: tc.list}, store.ListOptions{}) {
			if last = err; err == nil {
				got = append(got, d.SandboxID)
			}
		}
		if !errors.Is(last, tc.err) || tc.want != nil && !slices.Equal(got, tc.want) || len(got) > 20 {
			t.Errorf("got %v, %v, want %v, %v", got, last, tc.want, tc.err)
		}
	}
}
