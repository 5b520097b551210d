package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/alineo-labs/alineo-host/host/store"
)

// PruneOptions say which sandboxes go: those that one of OlderThan, Keep and MaxBytes is about. At least
// one of them must be given.
type PruneOptions struct {
	OlderThan time.Duration // those whose last entry is older; 0: not given
	Keep      *int          // all but the newest so many; nil: not given
	MaxBytes  *int64        // the oldest, until the rest has no more text than this; nil: not given
	Name      string        // only of this name; the others don't count
	// IncludeRunning also takes sandboxes that have no sandbox.closed. Their drivers can't write any more
	// then.
	IncludeRunning bool
	// IncludeAncestors also takes sandboxes that others, which stay, were resumed from: those can't replay
	// what was before their own beginning any more, and so not be resumed again.
	IncludeAncestors bool
	DryRun           bool // find them only
	Now              time.Time
	// Found is given what is to go, before any of it goes; an error ends the work. Nil goes on.
	Found func([]Prunable) error
	// Spared is told, before Found, of each sandbox that stays because another one, which stays too, was
	// resumed from it.
	Spared func(p Prunable, descendant store.Key)
	// Each is told of each sandbox that went.
	Each func(Prunable)
	// Progress is told now and then: until Found how far the search is, and then the removal.
	Progress func(Progress)
}

// Prunable is a sandbox that goes.
type Prunable struct {
	Key     store.Key `json:"-"`
	Entries uint64    `json:"entries"`
	Bytes   uint64    `json:"bytes"`  // of text
	LastTS  int64     `json:"lastTs"` // Unix milliseconds, of its last entry
	Running bool      `json:"running"`
	Why     string    `json:"why"`
}

// PruneReport sums pruning up.
type PruneReport struct {
	Sandboxes uint64 `json:"sandboxes"` // that went
	Entries   uint64 `json:"entries"`   // that went with them
	Bytes     uint64 `json:"bytes"`     // of their text
	Kept      uint64 `json:"kept"`      // sandboxes that stay
	Running   uint64 `json:"running"`   // of those, the ones that would have gone but are running
	Ancestors uint64 `json:"ancestors"` // of those, the ones that would have gone but others were resumed from them
}

// Prune removes whole sandboxes, those with the oldest last entry first, and leaves a tombstone of each.
// An error reports what went until then.
func Prune(ctx context.Context, st store.Ledger, opts PruneOptions) (*PruneReport, error) {
	fail := func(r *PruneReport, err error) (*PruneReport, error) { return r, fmt.Errorf("pruning: %w", err) }
	o, err := operate(st)
	if err != nil {
		return fail(nil, err)
	}
	if opts.OlderThan <= 0 && opts.Keep == nil && opts.MaxBytes == nil {
		return fail(nil, errors.New("neither an age, nor a number, nor a size is given"))
	}
	if opts.Now.IsZero() {
		opts.Now = time.Now()
	}
	m := newMeter(opts.Progress)
	all, others, err := o.usages(ctx, opts.Name, m)
	if err != nil {
		return fail(nil, err)
	}
	chosen, err := o.choose(ctx, &opts, all, others)
	if err != nil {
		return fail(nil, err)
	}
	going, report := chosen.report()
	if opts.Found != nil {
		if err := opts.Found(going); err != nil {
			return fail(report, err)
		}
	}
	if !opts.DryRun {
		m.removing(going)
	}
	for _, p := range going {
		if !opts.DryRun {
			if err := ctx.Err(); err != nil {
				return fail(report, err)
			}
			rows, err := o.DeleteSandbox(ctx, p.Key)
			if err != nil {
				return fail(report, err)
			}
			m.removed(p.Entries)
			p.Entries = rows
		}
		report.Sandboxes++
		report.Entries += p.Entries
		report.Bytes += p.Bytes
		if opts.Each != nil && !opts.DryRun {
			opts.Each(p)
		}
	}
	m.end()
	return report, nil
}

// usages sums every sandbox of a name up, oldest last entry first; others are those of other names.
func (o operable) usages(ctx context.Context, name string, m *meter) (all []Prunable, others []store.Key, err error) {
	for head, err := range o.heads(ctx) {
		if err != nil {
			return nil, nil, err
		}
		if name != "" && head.Key.Name != name {
			others = append(others, head.Key)
			continue
		}
		u, err := o.Usage(ctx, head.Key)
		if err != nil {
			return nil, nil, err
		}
		m.sandbox()
		all = append(all, Prunable{Key: head.Key, Entries: u.Entries, Bytes: u.Bytes, LastTS: u.LastTS, Running: !u.Closed})
	}
	slices.SortFunc(all, func(a, b Prunable) int {
		return cmp.Or(cmp.Compare(a.LastTS, b.LastTS), compareKeys(a.Key, b.Key))
	})
	return all, others, nil
}
