package storetest_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/host/store/storetest"
	"github.com/alineo-labs/alineo-host/internal/nativeledger"
)

// That each rule's case notices when the rule is broken, and nothing else, is shown with a guest, by
// host's tests: plugins/internal/wrongledger. Here are the faults that a guest can't have, and what the
// suite itself does.

// bent is a right store with some of its methods bent.
type bent struct {
	*nativeledger.Ledger

	append func(ctx context.Context, l store.Ledger, b *store.Batch) error
	read   func(ctx context.Context, l store.Ledger, key store.Key, opts store.ReadOptions) (store.Page, error)
	last   func() error
	list   func(ctx context.Context, l store.Ledger, opts store.ListOptions) (store.DetailsPage, error)
}

func (b bent) Append(ctx context.Context, batch *store.Batch) error {
	if b.append != nil {
		return b.append(ctx, b.Ledger, batch)
	}
	return b.Ledger.Append(ctx, batch)
}

func (b bent) Read(ctx context.Context, key store.Key, opts store.ReadOptions) (store.Page, error) {
	if b.read != nil {
		return b.read(ctx, b.Ledger, key, opts)
	}
	return b.Ledger.Read(ctx, key, opts)
}

func (b bent) LastCheckpoint(ctx context.Context, key store.Key, tag string) (store.Entry, error) {
	if b.last != nil {
		if err := b.last(); err != nil {
			return store.Entry{}, err
		}
	}
	return b.Ledger.LastCheckpoint(ctx, key, tag)
}

func (b bent) ListSandboxes(ctx context.Context, opts store.ListOptions) (store.DetailsPage, error) {
	if b.list != nil {
		return b.list(ctx, b.Ledger, opts)
	}
	return b.Ledger.ListSandboxes(ctx, opts)
}

// fresh makes storage for stores that are bent like this one.
func fresh(how bent) func(t storetest.T) storetest.Storage {
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
				one := how
				one.Ledger = l
				return one, nil
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

// aboutStores is how many cases are about what a ledger is not.
func aboutStores() int {
	n := 0
	for _, c := range storetest.Cases() {
		if c.AboutStores() {
			n++
		}
	}
	return n
}

func failed(report storetest.Report) []string {
	var names []string
	for _, r := range report.Results {
		if r.Status == storetest.Failed {
			names = append(names, r.Case.Name)
		}
	}
	return names
}

func named(names ...string) func(storetest.Case) bool {
	return func(c storetest.Case) bool { return slices.Contains(names, c.Name) }
}

func TestFaultsThatNoGuestHas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		how   bent
		fails []string
	}{
		"none": {},
		"refuses to append nothing": {bent{append: func(ctx context.Context, l store.Ledger, b *store.Batch) error {
			if len(b.Segments) == 0 {
				return store.ErrInvalid
			}
			return l.Append(ctx, b)
		}}, []string{"append/empty"}},
		"writes for nobody": {bent{append: func(ctx context.Context, l store.Ledger, b *store.Batch) error {
			return l.Append(context.WithoutCancel(ctx), b)
		}}, []string{"handle/context"}},
		"takes no notice of a cursor": {bent{read: func(ctx context.Context, l store.Ledger, key store.Key, opts store.ReadOptions) (store.Page, error) {
			if opts.Last > 0 {
				opts.Cursor = nil
			}
			return l.Read(ctx, key, opts)
		}}, []string{"read/last-cursor"}},
		"takes no notice of a beginning of ids": {bent{list: func(ctx context.Context, l store.Ledger, opts store.ListOptions) (store.DetailsPage, error) {
			opts.IDPrefix = "" // of a guest's answer the host looks through what it did not ask for
			return l.ListSandboxes(ctx, opts)
		}}, []string{"list/prefix"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := storetest.Check(t.Context(), fresh(c.how), storetest.CheckOptions{Features: storetest.AllFeatures(), Parallel: 2})
			if got := failed(report); !slices.Equal(got, c.fails) {
				t.Errorf("failed %q, want %q: %+v", got, c.fails, report.Results)
			}
			if report.Failed != len(c.fails) || report.NotRun != 3+aboutStores() || report.Passed+report.Failed+report.NotRun != len(storetest.Cases()) {
				t.Errorf("counts are %d passed, %d failed, %d not run of %d", report.Passed, report.Failed, report.NotRun, len(storetest.Cases()))
			}
		})
	}
}

func TestPanicsFailTheirCases(t *testing.T) {
	t.Parallel()
	report := storetest.Check(t.Context(), fresh(bent{last: func() error { panic("out of order") }}), storetest.CheckOptions{
		Match: named("checkpoint/last", "checkpoint/list"),
	})
	if got := failed(report); !slices.Equal(got, []string{"checkpoint/last"}) || !strings.Contains(report.Results[0].Messages[0], "panic: out of order\n") {
		t.Errorf("failed %q: %+v", got, report.Results)
	}
}

// TestChance: what fails in one of several rounds has failed, and is told so.
func TestChance(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	report := storetest.Check(t.Context(), fresh(bent{last: func() error {
		if calls.Add(1) == 4 { // the case calls it twice
			return errors.New("bad luck")
		}
		return nil
	}}), storetest.CheckOptions{Match: named("checkpoint/last"), Rounds: 3})
	r := report.Results[0]
	if r.Status != storetest.Failed || !strings.Contains(strings.Join(r.Messages, "\n"), "it failed in 1 of 3 runs") {
		t.Errorf("%+v", r)
	}
}

// TestOrder: several at once and in other rounds in another order, endings are told in the order of Cases.
func TestOrder(t *testing.T) {
	t.Parallel()
	var told []string
	opts := storetest.CheckOptions{Parallel: 4, Rounds: 2, Seed: 3, Ended: func(r storetest.Result) { told = append(told, r.Case.Name) }}
	opts.Match = func(c storetest.Case) bool {
		return strings.HasPrefix(c.Name, "checkpoint/") || strings.HasPrefix(c.Name, "environment/")
	}
	report := storetest.Check(t.Context(), fresh(bent{}), opts)
	var want []string
	for i, c := range storetest.Cases() {
		if opts.Match(c) {
			want = append(want, storetest.Cases()[i].Name)
		}
	}
	if !slices.Equal(told, want) || len(report.Results) != len(want) || report.Failed != 0 || report.NotRun != 5 {
		t.Errorf("told %q, want %q: %+v", told, want, report)
	}
}

// TestDeadline: a store that never answers fails the case that waits for it, and the others go on.
func TestDeadline(t *testing.T) {
	t.Parallel()
	var hung sync.Once
	how := bent{read: func(ctx context.Context, l store.Ledger, key store.Key, opts store.ReadOptions) (store.Page, error) {
		hung.Do(func() { <-ctx.Done() })
		return l.Read(ctx, key, opts)
	}}
	report := storetest.Check(t.Context(), fresh(how), storetest.CheckOptions{
		Match: named("append/null", "append/names"), Deadline: 3 * time.Second,
	})
	if got := failed(report); len(got) != 1 || got[0] != "append/null" ||
		!strings.Contains(strings.Join(report.Results[0].Messages, "\n"), "the case had 3s and needed more") {
		t.Errorf("failed %q: %+v", got, report.Results)
	}
}

func TestGiveUp(t *testing.T) {
	t.Parallel()
	report := storetest.Check(t.Context(), fresh(bent{}), storetest.CheckOptions{
		Match:  named("append/null", "append/names", "append/ids"),
		GiveUp: func(storetest.Result) string { return "enough" },
	})
	if report.Passed != 1 || report.NotRun != 2 || report.Results[2].Messages[0] != "enough" {
		t.Errorf("%+v", report)
	}
}

func TestUndeclaredFeaturesAreNotRun(t *testing.T) {
	t.Parallel()
	report := storetest.Check(t.Context(), fresh(bent{}), storetest.CheckOptions{Parallel: 2})
	for _, r := range report.Results {
		want := storetest.Passed
		switch {
		case r.Case.AboutStores():
			want = storetest.NotRun
		case strings.HasPrefix(r.Case.Name, "undeclared/"):
			want = storetest.Failed // the store has what it doesn't declare
		case len(r.Case.Needs) > 0:
			want = storetest.NotRun
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

// TestStoppedInACase: the call that is given up with the check is no failure of the store.
func TestStoppedInACase(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	report := storetest.Check(ctx, fresh(bent{last: func() error {
		cancel()
		return ctx.Err()
	}}), storetest.CheckOptions{Match: named("checkpoint/last")})
	if report.NotRun != 1 || report.Failed != 0 {
		t.Errorf("%+v", report)
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
	if len(seen) < 90 {
		t.Errorf("only %d cases", len(seen))
	}
}
