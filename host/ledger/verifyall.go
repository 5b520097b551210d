package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/alineo-labs/alineo-host/host/store"
)

// VerifyOptions say what is verified.
type VerifyOptions struct {
	// Keys are the sandboxes to look at; all when there are none.
	Keys []store.Key
	// Heads were exported before: every sandbox of them must still be there with all that it had then,
	// or have a tombstone.
	Heads *Heads
	// Each is given each sandbox's report as it is made; an error ends the work.
	Each func(*SandboxReport) error
	// Progress is told now and then.
	Progress func(Progress)
}

// VerifyReport sums verifying up.
type VerifyReport struct {
	Sandboxes uint64 `json:"sandboxes"`
	Entries   uint64 `json:"entries"`
	Foreign   uint64 `json:"foreign"` // entries that others wrote
	Damaged   uint64 `json:"damaged"` // sandboxes
	Heads     uint64 `json:"heads"`   // of the file that were found again
	Explained uint64 `json:"deleted"` // heads of the file whose sandboxes have a tombstone
}

// Verify verifies sandboxes one after the other, by name and id. A damaged ledger is no error: the
// reports say it.
func Verify(ctx context.Context, st store.Ledger, opts VerifyOptions) (*VerifyReport, error) {
	o, err := operate(st)
	if err != nil {
		return nil, fmt.Errorf("verifying: %w", err)
	}
	v := &verification{o: o, opts: opts, report: &VerifyReport{}}
	if opts.Heads != nil {
		v.heads = make(map[store.Key]savedHead, len(opts.Heads.byKey))
		for key, head := range opts.Heads.byKey {
			if len(opts.Keys) == 0 || slices.Contains(opts.Keys, key) {
				v.heads[key] = head
			}
		}
	}
	if err := v.run(ctx); err != nil {
		return v.report, err
	}
	return v.report, nil
}

type verification struct {
	o      operable
	opts   VerifyOptions
	report *VerifyReport
	heads  map[store.Key]savedHead // that were not looked for yet
	graves map[store.Key]store.Tombstone
	meter  *meter
}

func (v *verification) run(ctx context.Context) error {
	v.meter = newMeter(v.opts.Progress)
	defer v.meter.end()
	if v.meter != nil && len(v.opts.Keys) == 0 {
		v.meter.at.Total = v.o.total(ctx)
	}
	wanted := map[store.Key]bool{}
	for _, key := range v.opts.Keys {
		wanted[key] = true
	}
	for head, err := range v.o.heads(ctx) {
		if err != nil {
			return fmt.Errorf("verifying: %w", err)
		}
		if len(v.opts.Keys) > 0 && !wanted[head.Key] {
			continue
		}
		delete(wanted, head.Key)
		if err := v.one(ctx, head); err != nil {
			return err
		}
	}
	for key := range wanted {
		if _, saved := v.heads[key]; !saved { // those are told below
			return fmt.Errorf("verifying %s: %w", key, store.ErrNotFound)
		}
	}
	return v.missing(ctx)
}

// one verifies a sandbox.
func (v *verification) one(ctx context.Context, head placedHead) error {
	saved, expected := v.heads[head.Key]
	delete(v.heads, head.Key)
	found := false
	var check func(Hash, uint64)
	if expected {
		check = func(hash Hash, entries uint64) { found = found || hash == saved.hash && entries == saved.entries }
	}
	r, err := v.o.verify(ctx, head, check, v.meter)
	if err != nil {
		return err
	}
	switch {
	case found:
		v.report.Heads++
	case expected && r.Damage == nil:
		if err := v.lost(ctx, r, saved); err != nil {
			return err
		}
	}
	return v.tell(r)
}

// lost judges a sandbox whose chain does not go through the head that was exported.
func (v *verification) lost(ctx context.Context, r *SandboxReport, saved savedHead) error {
	grave, err := v.grave(ctx, r.Key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		kind, text := DamageCutBack, fmt.Sprintf("the %d entries that it had when the heads were exported are not its beginning: it was cut back or written anew, and its head with it", saved.entries)
		if r.Entries == 0 {
			kind, text = DamageGone, fmt.Sprintf("its %d entries are gone, and there is no tombstone: they were not deleted through a ledger", saved.entries)
		}
		r.Damages++
		r.Damage = &Damage{Kind: kind, Text: text}
		return nil
	case err != nil:
		return err
	}
	v.report.Explained++
	r.Note = fmt.Sprintf("deleted since the heads were exported: a tombstone of %s is for %d entries",
		time.UnixMilli(grave.DeletedAt).UTC().Format(time.RFC3339), grave.Entries)
	return nil
}

// missing reports the sandboxes of the file of heads that are not there.
func (v *verification) missing(ctx context.Context) error {
	keys := make([]store.Key, 0, len(v.heads))
	for key := range v.heads {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, compareKeys)
	for _, key := range keys {
		r := &SandboxReport{Key: key}
		if err := v.lost(ctx, r, v.heads[key]); err != nil {
			return err
		}
		v.report.Sandboxes-- // it is not there
		if err := v.tell(r); err != nil {
			return err
		}
	}
	return nil
}

func (v *verification) grave(ctx context.Context, key store.Key) (store.Tombstone, error) {
	if v.graves == nil {
		v.graves = map[store.Key]store.Tombstone{}
		for t, err := range v.o.tombstones(ctx) {
			if err != nil {
				return t, fmt.Errorf("verifying: %w", err)
			}
			v.graves[t.Key] = t
		}
	}
	if t, ok := v.graves[key]; ok {
		return t, nil
	}
	return store.Tombstone{}, store.ErrNotFound
}

func (v *verification) tell(r *SandboxReport) error {
	sum := v.report
	sum.Sandboxes++
	sum.Entries += r.Entries
	sum.Foreign += r.Foreign
	if r.Damage != nil {
		sum.Damaged++
	}
	v.meter.sandbox()
	if v.opts.Each == nil {
		return nil
	}
	return v.opts.Each(r)
}
