package ledger

import (
	"context"

	"github.com/alineo-labs/alineo-host/host/store"
)

// candidate is a sandbox that may go.
type candidate struct {
	Prunable
	parents  []int       // from which it was resumed
	children []store.Key // that were resumed from it
	staying  int         // of those
	goes     bool
	spared   bool // it would go but for its children
	counted  bool // it would go but is running
}

// choice finds what goes, oldest last entry first, without the ancestors of what stays: a sandbox goes
// after all that were resumed from it.
type choice struct {
	opts  *PruneOptions
	all   []candidate
	total uint64 // text of what stays
	gone  map[store.Key]bool
}

// choose finds what goes. Others stay in any case.
func (o operable) choose(ctx context.Context, opts *PruneOptions, all []Prunable, others []store.Key) (*choice, error) {
	c := &choice{opts: opts, all: make([]candidate, len(all)), gone: map[store.Key]bool{}}
	for i := range all {
		c.all[i].Prunable = all[i]
		c.total += all[i].Bytes
	}
	if !opts.IncludeAncestors {
		if err := c.trace(ctx, o, others); err != nil {
			return nil, err
		}
	}
	for i := range c.all {
		c.try(i, false)
	}
	for i := range c.all {
		c.try(i, true)
	}
	return c, nil
}

// trace reads what every sandbox was resumed from.
func (c *choice) trace(ctx context.Context, o operable, others []store.Key) error {
	byID := map[string][]int{}
	for i := range c.all {
		id := c.all[i].Key.SandboxID
		byID[id] = append(byID[id], i)
	}
	look := func(key store.Key, self *candidate) error {
		_, from, snapshot, err := creation(ctx, o, key)
		if err != nil || from == "" || snapshot == "" {
			return err
		}
		for _, parent := range byID[from] {
			p := &c.all[parent]
			if p.Key == key {
				continue
			}
			p.children = append(p.children, key)
			p.staying++
			if self != nil {
				self.parents = append(self.parents, parent)
			}
		}
		return nil
	}
	for i := range c.all {
		if err := look(c.all[i].Key, &c.all[i]); err != nil {
			return err
		}
	}
	for _, key := range others {
		if err := look(key, nil); err != nil {
			return err
		}
	}
	return nil
}

// why says why a sandbox goes, or nothing. Sizes count only after everything else was seen.
func (c *choice) why(i int, sizes bool) string {
	switch {
	case c.opts.OlderThan > 0 && c.all[i].LastTS < c.opts.Now.Add(-c.opts.OlderThan).UnixMilli():
		return "age"
	case c.opts.Keep != nil && i < len(c.all)-*c.opts.Keep:
		return "number"
	case sizes && c.opts.MaxBytes != nil && c.total > uint64(max(0, *c.opts.MaxBytes)):
		return "size"
	}
	return ""
}

// try lets a sandbox go if there is a reason and nothing against it, and then those that it was resumed
// from, which are older.
func (c *choice) try(i int, sizes bool) {
	p := &c.all[i]
	why := c.why(i, sizes)
	switch {
	case p.goes || why == "":
		return
	case p.Running && !c.opts.IncludeRunning:
		p.counted = true
		return
	case p.staying > 0:
		p.spared = true
		return
	}
	p.goes, p.Why = true, why
	c.total -= p.Bytes
	c.gone[p.Key] = true
	for _, parent := range p.parents {
		c.all[parent].staying--
		c.try(parent, sizes)
	}
}

// report lists what goes, and counts what stays. It tells of what is spared.
func (c *choice) report() ([]Prunable, *PruneReport) {
	report := &PruneReport{}
	var going []Prunable
	for i := range c.all {
		p := &c.all[i]
		if p.goes {
			going = append(going, p.Prunable)
			continue
		}
		report.Kept++
		switch {
		case p.counted:
			report.Running++
		case p.spared:
			report.Ancestors++
			for _, child := range p.children {
				if !c.gone[child] && c.opts.Spared != nil {
					c.opts.Spared(p.Prunable, child)
					break
				}
			}
		}
	}
	return going, report
}
