package sandbox_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/nativeledger"
)

// paged is a ledger whose listing has one sandbox a page. Each page's cursor is the next one's number, and
// next says which that is; empty is none.
type paged struct {
	store.Ledger
	next   func(cursor string) string
	limits []uint64 // that were asked for
}

func (p *paged) ListSandboxes(_ context.Context, opts store.ListOptions) (store.DetailsPage, error) {
	if opts.Limit != nil {
		p.limits = append(p.limits, *opts.Limit)
	}
	next := p.next(string(opts.Cursor))
	return store.DetailsPage{Sandboxes: []store.Details{{SandboxID: "after " + string(opts.Cursor)}}, Cursor: []byte(next), More: next != ""}, nil
}

// A listing is walked over all of its pages, as far as its limit allows, and one that leads in a circle ends.
func TestSandboxesWalksPages(t *testing.T) {
	t.Parallel()
	native, err := nativeledger.Open(filepath.Join(t.TempDir(), "ledger.db"), nativeledger.Options{})
	must(t, err)
	writer := ledger.NewWriter(native, ledger.WriterOptions{}) // a client wants one
	t.Cleanup(func() {
		must(t, writer.Close(context.Background()))
		must(t, native.Close(context.Background()))
	})
	three := func(cursor string) string { return map[string]string{"": "a", "a": "b"}[cursor] }
	for name, test := range map[string]struct {
		next  func(string) string
		limit *uint64
		want  string
		fails bool
	}{
		"three pages":         {three, nil, "after ,after a,after b", false},
		"as many as wanted":   {three, new(uint64(2)), "after ,after a", false},
		"fewer than wanted":   {three, new(uint64(9)), "after ,after a,after b", false},
		"the same page again": {func(string) string { return "a" }, nil, "", true},
		"a circle of two":     {func(c string) string { return map[string]string{"": "a", "a": "b", "b": "a"}[c] }, nil, "", true},
	} {
		st := &paged{Ledger: native, next: test.next}
		client, err := sandbox.New(sandbox.Options{Wire: wireClient(shared.Transport()), Store: st, Ledger: writer})
		must(t, err)
		var got []string
		var last error
		for details, err := range client.Sandboxes(t.Context(), store.ListOptions{Limit: test.limit}) {
			if last = err; err != nil || len(got) > 20 {
				break
			}
			got = append(got, details.SandboxID)
		}
		if (last != nil) != test.fails || !test.fails && strings.Join(got, ",") != test.want {
			t.Errorf("%s: got %q, %v", name, got, last)
		}
		if test.limit != nil && (len(st.limits) < 2 || st.limits[1] != *test.limit-1) {
			t.Errorf("%s: asked for %v", name, st.limits)
		}
	}
}
