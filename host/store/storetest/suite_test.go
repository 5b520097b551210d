package storetest_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/host/store/storetest"
	"github.com/alineo-labs/alineo-host/internal/nativeledger"
)

// bent is a right store with some of its methods bent.
type bent struct {
	store.Ledger
	store.Maintenance

	append    func(ctx context.Context, l store.Ledger, b *store.Batch) error
	read      func(opts *store.ReadOptions, page *store.Page)
	readFirst func(opts *store.ReadOptions)
	last      func(ctx context.Context, l store.Ledger, key store.Key, tag string) (store.Entry, error)
	list      func(opts *store.ListOptions)
	listed    func(page *store.DetailsPage)
	delete    func(ctx context.Context, l store.Ledger, key store.Key) (uint64, error)
	get       func(d *store.Details, err error) error
}

func (b bent) Append(ctx context.Context, batch *store.Batch) error {
	if b.append != nil {
		return b.append(ctx, b.Ledger, batch)
	}
	return b.Ledger.Append(ctx, batch)
}

func (b bent) Read(ctx context.Context, key store.Key, opts store.ReadOptions) (store.Page, error) {
	if b.readFirst != nil {
		b.readFirst(&opts)
	}
	page, err := b.Ledger.Read(ctx, key, opts)
	if b.read != nil {
		b.read(&opts, &page)
	}
	return page, err
}

func (b bent) LastCheckpoint(ctx context.Context, key store.Key, tag string) (store.Entry, error) {
	if b.last != nil {
		return b.last(ctx, b.Ledger, key, tag)
	}
	return b.Ledger.LastCheckpoint(ctx, key, tag)
}

func (b bent) ListSandboxes(ctx context.Context, opts store.ListOptions) (store.DetailsPage, error) {
	if b.list != nil {
		b.list(&opts)
	}
	page, err := b.Ledger.ListSandboxes(ctx, opts)
	if b.listed != nil {
		b.listed(&page)
	}
	return page, err
}

func (b bent) GetSandbox(ctx context.Context, key store.Key) (store.Details, error) {
	d, err := b.Ledger.GetSandbox(ctx, key)
	if b.get != nil {
		err = b.get(&d, err)
	}
	return d, err
}

func (b bent) DeleteSandbox(ctx context.Context, key store.Key) (uint64, error) {
	if b.delete != nil {
		return b.delete(ctx, b.Ledger, key)
	}
	return b.Ledger.DeleteSandbox(ctx, key)
}

// faults are stores that break one rule each, and the cases that must notice.
var faults = []struct {
	name  string
	bend  func(l store.Ledger) bent
	fails []string
}{
	{"none", func(l store.Ledger) bent { return bent{Ledger: l} }, nil},
	{
		"not atomic", func(l store.Ledger) bent {
			return bent{Ledger: l, append: func(ctx context.Context, l store.Ledger, b *store.Batch) error {
				for i := range b.Segments {
					if err := l.Append(ctx, &store.Batch{Segments: b.Segments[i : i+1]}); err != nil {
						return &store.SegmentError{Segment: i, Entry: -1, Err: store.ErrConflict}
					}
				}
				return nil
			}}
		}, []string{"append/atomic", "fencing/epoch"},
	},
	{
		"forgets what it applied", func(l store.Ledger) bent {
			var mu sync.Mutex
			seen := map[[32]byte]bool{}
			return bent{Ledger: l, append: func(ctx context.Context, l store.Ledger, b *store.Batch) error {
				mu.Lock()
				defer mu.Unlock()
				for i := range b.Segments {
					if seen[b.Segments[i].Hash] {
						return &store.SegmentError{Segment: i, Entry: -1, Err: store.ErrConflict}
					}
				}
				err := l.Append(ctx, b)
				for i := range b.Segments {
					seen[b.Segments[i].Hash] = err == nil
				}
				return err
			}}
		}, []string{"retry/after-claim", "retry/alone", "retry/identical", "segments/retry"},
	},
	{
		"writes a retry twice", func(l store.Ledger) bent {
			var mu sync.Mutex
			seen := map[[32]byte]bool{}
			return bent{Ledger: l, append: func(ctx context.Context, l store.Ledger, b *store.Batch) error {
				mu.Lock()
				defer mu.Unlock()
				for i := range b.Segments {
					if seen[b.Segments[i].Hash] {
						return l.(*nativeledger.Ledger).Insert(ctx, b.Segments[i].Entries)
					}
				}
				err := l.Append(ctx, b)
				for i := range b.Segments {
					seen[b.Segments[i].Hash] = err == nil
				}
				return err
			}}
		}, []string{"retry/after-claim", "retry/alone", "retry/identical", "retry/late", "segments/retry"},
	},
	{
		"conflicts without saying where", func(l store.Ledger) bent {
			return bent{Ledger: l, append: func(ctx context.Context, l store.Ledger, b *store.Batch) error {
				if err := l.Append(ctx, b); errors.Is(err, store.ErrConflict) {
					return store.ErrConflict
				}
				return nil
			}}
		}, []string{
			"fencing/deleted", "fencing/epoch", "fencing/previous", "fencing/unclaimed",
			"handle/context", "handle/takeover", "retry/differs", "retry/refused",
		},
	},
	{
		"JSON null becomes SQL NULL", func(l store.Ledger) bent {
			return bent{Ledger: l, read: func(_ *store.ReadOptions, page *store.Page) {
				for i := range page.Entries {
					if string(page.Entries[i].Payload) == "null" {
						page.Entries[i].Payload = nil
					}
				}
			}}
		}, []string{"append/null"},
	},
	{
		"drops branches", func(l store.Ledger) bent {
			return bent{Ledger: l, read: func(_ *store.ReadOptions, page *store.Page) {
				for i := range page.Entries {
					page.Entries[i].Branch = nil
				}
			}}
		}, []string{"append/round-trip"},
	},
	{
		"ignores the limit", func(l store.Ledger) bent {
			return bent{Ledger: l, readFirst: func(opts *store.ReadOptions) { opts.Limit = 0 }}
		}, []string{"read/last-bounds", "read/paging"},
	},
	{
		"ignores the bytes", func(l store.Ledger) bent {
			return bent{Ledger: l, readFirst: func(opts *store.ReadOptions) { opts.MaxBytes = 0 }}
		}, []string{"read/bytes", "read/last-bounds"},
	},
	{
		"no cursor at the end", func(l store.Ledger) bent {
			return bent{Ledger: l, read: func(_ *store.ReadOptions, page *store.Page) {
				if !page.More {
					page.Cursor = nil
				}
			}}
		}, []string{"read/last", "read/tail"},
	},
	{
		"ties by chance", func(l store.Ledger) bent {
			return bent{Ledger: l, read: func(_ *store.ReadOptions, page *store.Page) {
				slices.Reverse(page.Entries)
				slices.SortStableFunc(page.Entries, func(a, b store.Entry) int { return int(a.TS - b.TS) })
			}}
		}, []string{
			"append/ids", "append/many", "handle/concurrent", "handle/several", "read/growing", "read/last", "read/order", "read/paging", "read/tail",
		},
	},
	{
		"ignores tags", func(l store.Ledger) bent {
			return bent{Ledger: l, last: func(ctx context.Context, l store.Ledger, key store.Key, _ string) (store.Entry, error) {
				return l.LastCheckpoint(ctx, key, "")
			}}
		}, []string{"checkpoint/tag"},
	},
	{
		"limit 0 is no limit", func(l store.Ledger) bent {
			return bent{Ledger: l, list: func(opts *store.ListOptions) {
				if opts.Limit != nil && *opts.Limit == 0 {
					opts.Limit = nil
				}
			}}
		}, []string{"list/limit"},
	},
	{
		"before 0 is not given", func(l store.Ledger) bent {
			return bent{Ledger: l, list: func(opts *store.ListOptions) {
				if opts.Before != nil && *opts.Before == 0 {
					opts.Before = nil
				}
			}}
		}, []string{"list/before"},
	},
	{
		"pages forget filters", func(l store.Ledger) bent {
			return bent{Ledger: l, list: func(opts *store.ListOptions) {
				if opts.Cursor != nil {
					opts.RunID, opts.Name = "", ""
				}
			}}
		}, []string{"list/paging"},
	},
	{
		"ignores the status", func(l store.Ledger) bent {
			return bent{Ledger: l, list: func(opts *store.ListOptions) { opts.Status = "" }}
		}, []string{"list/limit", "list/status"},
	},
	{
		"oldest first", func(l store.Ledger) bent {
			return bent{Ledger: l, listed: func(page *store.DetailsPage) { slices.Reverse(page.Sandboxes) }}
		}, []string{"list/before", "list/limit", "list/malformed", "list/name", "list/order", "list/paging", "list/run", "list/status"},
	},
	{
		"not found without its sentinel", func(l store.Ledger) bent {
			return bent{Ledger: l, get: func(_ *store.Details, err error) error {
				if err != nil {
					return errors.New("no such sandbox")
				}
				return nil
			}}
		}, []string{"list/without-created", "sandbox/delete", "sandbox/unknown"},
	},
	{
		"deletes environments too", func(l store.Ledger) bent {
			return bent{Ledger: l, delete: func(ctx context.Context, l store.Ledger, key store.Key) (uint64, error) {
				return 0, errors.Join(l.DeleteEnvironment(ctx, key.Name), func() error { _, err := l.DeleteSandbox(ctx, key); return err }())
			}}
		}, []string{"sandbox/delete", "sandbox/delete-others"},
	},
	{
		"panics", func(l store.Ledger) bent {
			return bent{Ledger: l, last: func(context.Context, store.Ledger, store.Key, string) (store.Entry, error) { panic("out of order") }}
		}, []string{
			"checkpoint/last", "checkpoint/none", "checkpoint/scope", "checkpoint/tag", "handle/reopened", "sandbox/delete", "sandbox/old-names",
		},
	},
}

func fresh(bend func(store.Ledger) bent) func(t storetest.T) storetest.Storage {
	return func(t storetest.T) storetest.Storage {
		path := filepath.Join(t.TempDir(), "ledger.db")
		open := func() (*nativeledger.Ledger, error) {
			return nativeledger.Open(path, nativeledger.Options{Synchronous: "off"})
		}
		return storetest.Storage{
			Open: func(context.Context) (store.Ledger, error) {
				l, err := open()
				if err != nil {
					return nil, err
				}
				b := bend(l)
				b.Maintenance = l
				return b, nil
			},
			Insert: func(ctx context.Context, entries []store.Entry) error {
				l, err := open()
				if err != nil {
					return err
				}
				return errors.Join(l.Insert(ctx, entries), l.Close(ctx))
			},
		}
	}
}

func TestEachFaultFailsItsCases(t *testing.T) {
	t.Parallel()
	tried := faults
	if raceEnabled {
		tried = faults[:3] // a fault is about what the suite sees, not about goroutines
	}
	for _, fault := range tried {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			report := storetest.Check(t.Context(), fresh(fault.bend), storetest.CheckOptions{
				Features: storetest.AllFeatures(), Parallel: 2,
			})
			var failed []string
			for _, r := range report.Results {
				if r.Status == storetest.Failed {
					failed = append(failed, r.Case.Name)
				}
			}
			slices.Sort(failed)
			if !slices.Equal(failed, fault.fails) {
				t.Errorf("failed:\n got %q\nwant %q\n%+v", failed, fault.fails, report.Results)
			}
			if report.Failed != len(failed) || report.NotRun != 2 || report.Passed+report.Failed+report.NotRun != len(storetest.Cases()) {
				t.Errorf("counts are %d passed, %d failed, %d not run of %d", report.Passed, report.Failed, report.NotRun, len(storetest.Cases()))
			}
		})
	}
}

func TestUndeclaredFeaturesAreNotRun(t *testing.T) {
	t.Parallel()
	right := func(l store.Ledger) bent { return bent{Ledger: l} }
	report := storetest.Check(t.Context(), fresh(right), storetest.CheckOptions{})
	need := map[string]bool{}
	for _, c := range storetest.Cases() {
		need[c.Name] = len(c.Needs) > 0
	}
	for _, r := range report.Results {
		want := storetest.Passed
		switch {
		case need[r.Case.Name]:
			want = storetest.NotRun
		case strings.HasPrefix(r.Case.Name, "undeclared/"):
			want = storetest.Failed // the store has what it doesn't declare
		}
		if r.Status != want {
			t.Errorf("%s ended as %s, want %s: %q", r.Case.Name, r.Status, want, r.Messages)
		}
	}
}

func TestCheckStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	report := storetest.Check(ctx, nil, storetest.CheckOptions{})
	if report.NotRun != len(storetest.Cases()) || report.Failed != 0 {
		t.Errorf("a stopped check ran something: %+v", report)
	}
}

func TestCasesAreNamedOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range storetest.Cases() {
		if seen[c.Name] || c.Rule == "" || strings.HasSuffix(c.Rule, ".") {
			t.Errorf("case %q: seen before %v, rule %q", c.Name, seen[c.Name], c.Rule)
		}
		seen[c.Name] = true
	}
	if len(seen) < 60 {
		t.Errorf("only %d cases", len(seen))
	}
}
