package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/alineo-labs/alineo-host/host/store"
)

// DamageKind says what was found not to be as it was written.
type DamageKind string

// What damage there may be.
const (
	DamageEdited  DamageKind = "edited"  // the row is there, but is not what was written, or another stands in its place
	DamageDeleted DamageKind = "deleted" // a row that was written is not there, or can't be read
	DamageMoved   DamageKind = "moved"   // rows stand in another order
	DamageChain   DamageKind = "chain"   // the segments don't follow from one another, or were changed
	DamageHead    DamageKind = "head"    // the head is not where the chain ends: the end was cut off, or the head changed
	DamageGone    DamageKind = "gone"    // the sandbox was there when heads were exported, and no tombstone says where it went
	DamageCutBack DamageKind = "cut"     // the chain does not go through the head that was exported
)

// Damage is the first thing wrong with a sandbox's ledger.
type Damage struct {
	Kind  DamageKind `json:"kind"`
	ID    int64      `json:"id,omitempty"`    // of the entry that it is about, 0 when that is not known
	TS    int64      `json:"ts,omitempty"`    // of that entry, Unix milliseconds, when it is there
	Event string     `json:"event,omitempty"` // the same
	Text  string     `json:"text"`            // a sentence for people
	// Among are the ids of the rows of which it is one, when that is all that can be known: others wrote
	// rows beside it. ID is the first of them.
	Among []int64 `json:"among,omitempty"`
}

// SandboxReport is what verifying one sandbox found.
type SandboxReport struct {
	Key      store.Key `json:"-"`
	Entries  uint64    `json:"entries"`  // rows that were read
	Chained  uint64    `json:"chained"`  // of them, those that are what a segment says
	Foreign  uint64    `json:"foreign"`  // of them, those that others wrote: they are in no segment
	Segments uint64    `json:"segments"` // of the chain, up to its head
	Hash     []byte    `json:"-"`        // of the chain as it was computed anew; nil without one
	Damages  int       `json:"damages"`  // how much is wrong
	Damage   *Damage   `json:"damage"`   // the first of it; nil when the ledger is whole
	// Live says that a driver wrote to it meanwhile; what came after the beginning was not looked at.
	Live bool `json:"live,omitempty"`
	// FirstForeign is the first row that others wrote, nil when there is none.
	FirstForeign *Row `json:"firstForeign,omitempty"`
	// Unreadable says which rows could not be read, empty when all could. Others wrote them, or changed
	// them: then Damage says so too.
	Unreadable string `json:"unreadable,omitempty"`
	// Note explains what was found in a file of heads and is no damage.
	Note string `json:"note,omitempty"`
}

// Row names an entry.
type Row struct {
	ID    int64  `json:"id"`
	TS    int64  `json:"ts"` // Unix milliseconds
	Event string `json:"event"`
}

func rowOf(e *store.Entry) Row { return Row{ID: e.ID, TS: e.TS, Event: e.Event} }

// maxTries bounds how often a sandbox is looked at again because it was written to meanwhile.
const maxTries = 5

// VerifySandbox recomputes every hash of one sandbox's ledger: of its rows, of its segments, of the
// chain up to its head. What it finds is in the report; an error means that it could not look. A
// sandbox that has no entries and never had gives an empty report.
func VerifySandbox(ctx context.Context, st store.Ledger, key store.Key) (*SandboxReport, error) {
	o, err := operate(st)
	if err != nil {
		return nil, fmt.Errorf("verifying %s: %w", key, err)
	}
	head, ok, err := o.findHead(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("verifying %s: %w", key, err)
	}
	if !ok {
		return &SandboxReport{Key: key}, nil
	}
	return o.verify(ctx, head, nil, nil)
}

// verify looks at a sandbox, again when it was written to or deleted while it was looked at. check sees
// the hash of every segment and how many entries there are up to it.
func (o operable) verify(ctx context.Context, head placedHead, check func(hash Hash, entries uint64), m *meter) (*SandboxReport, error) {
	for try := 1; ; try++ {
		v := &verifier{o: o, head: head, check: check, meter: m, report: &SandboxReport{Key: head.Key}}
		if err := v.run(ctx); err != nil {
			return nil, fmt.Errorf("verifying %s: %w", head.Key, err)
		}
		r := v.report
		if r.Damage == nil && v.beyond == 0 && !v.more {
			return r, nil
		}
		now, ok, err := o.head(ctx, head)
		if err != nil {
			return nil, fmt.Errorf("verifying %s: %w", head.Key, err)
		}
		if ok && bytes.Equal(now.Hash, head.Hash) && now.Entries == head.Entries {
			v.settle()
			return r, nil
		}
		if r.Live = true; r.Damage == nil {
			return r, nil // what there was at the beginning is whole
		}
		if !ok {
			return &SandboxReport{Key: head.Key, Live: true}, nil // deleted meanwhile
		}
		if try == maxTries {
			return r, nil
		}
		head = now
	}
}

// verifier looks at one sandbox.
type verifier struct {
	o      operable
	head   placedHead
	check  func(Hash, uint64)
	meter  *meter
	report *SandboxReport

	canon   Canonicalizer
	scratch []byte

	previous []byte // hash of the segment before the next one
	last     int64  // highest id of a segment so far
	reached  bool   // the head
	more     bool   // there are segments behind it
	entries  uint64 // of the segments so far
	open     []*openSegment
	loose    []Row  // rows behind the last segment, the first of them
	beyond   uint64 // how many

	order int // of the damage in the report; smaller comes first
}

func (v *verifier) run(ctx context.Context) error {
	next, stop := pull(v.o.segments(ctx, v.head.Key))
	defer stop()
	v.order = int(^uint(0) >> 1)
	v.reached = len(v.head.Hash) == 0
	var waiting *store.StoredSegment
	advance := func() error {
		s, ok, err := next()
		waiting = nil
		if err != nil || !ok {
			return err
		}
		if v.reached {
			v.more = true
			return nil
		}
		waiting = &s
		return nil
	}
	if err := advance(); err != nil {
		return err
	}
	take := func() error {
		v.load(waiting)
		return advance()
	}
	for e, err := range v.o.rows(ctx, v.head.Key, nil) {
		if err != nil {
			var unreadable *UnreadableError
			if !errors.As(err, &unreadable) {
				return err
			}
			v.report.Unreadable = unreadable.Error()
			break
		}
		for waiting != nil && waiting.FirstID <= e.ID {
			if err := take(); err != nil {
				return err
			}
		}
		v.place(e)
	}
	for _, s := range v.open {
		v.close(s)
	}
	for waiting != nil {
		v.open = v.open[:0]
		if err := take(); err != nil {
			return err
		}
		for _, s := range v.open {
			v.close(s)
		}
	}
	v.end()
	return nil
}

// damage notes what is wrong; of two things that of the smaller order is the first.
func (v *verifier) damage(order int, d Damage) {
	v.report.Damages++
	if v.report.Damage == nil || order < v.order {
		v.report.Damage, v.order = &d, order
	}
}

// load takes up the next segment of the chain.
func (v *verifier) load(s *store.StoredSegment) {
	r := v.report
	index := int(r.Segments)
	r.Segments++
	count := len(s.Leaves) / len(Hash{})
	v.entries += uint64(count)
	span := fmt.Sprintf("the segment of entries %d to %d", s.FirstID, s.LastID)
	hash := SegmentHash(s.Previous, s.ID, s.Leaves)
	switch {
	case len(s.Previous) != 0 && len(s.Previous) != len(Hash{}) || len(s.Leaves)%len(Hash{}) != 0 || s.LastID-s.FirstID+1 < int64(count):
		v.damage(index, Damage{Kind: DamageChain, ID: s.FirstID, Text: span + " is malformed: it was changed"})
	case hash != s.Hash:
		v.damage(index, Damage{Kind: DamageChain, ID: s.FirstID, Text: span + " was changed: its hash is not that of its content"})
	case !bytes.Equal(s.Previous, v.previous):
		text := span + " does not follow the one before it: segments are missing, or were changed"
		if index == 0 {
			text = span + " is not the beginning of the chain: what was before it is missing"
		}
		v.damage(index, Damage{Kind: DamageChain, ID: s.FirstID, Text: text})
	case v.check != nil && r.Damages == 0:
		v.check(hash, v.entries)
	}
	v.previous, v.last = s.Hash[:], max(v.last, s.LastID)
	r.Hash = bytes.Clone(hash[:])
	v.reached = bytes.Equal(s.Hash[:], v.head.Hash)
	if count > 0 && s.LastID-s.FirstID+1 >= int64(count) {
		v.open = append(v.open, newOpenSegment(s, index))
	}
}

// place finds a row's place in the chain.
func (v *verifier) place(e *store.Entry) {
	v.report.Entries++
	v.meter.entry()
	var leaf Hash
	leaf, v.scratch = v.canon.formLeaf(e, v.scratch)
	if cap(v.scratch) > maxScratch {
		v.scratch, v.canon = nil, Canonicalizer{}
	}
	var within *openSegment
	for i, s := range slices.Backward(v.open) {
		if e.ID < s.FirstID || e.ID > s.LastID {
			continue
		}
		if s.match(e, leaf) {
			v.report.Chained++
			if s.left == 0 {
				v.close(s)
				v.open = slices.Delete(v.open, i, i+1)
			}
			return
		}
		if within == nil {
			within = s
		}
	}
	switch {
	case within != nil && len(within.extra) < maxExtra:
		within.extra = append(within.extra, placed{Row: rowOf(e), at: -1})
	case e.ID > v.last:
		if v.beyond++; len(v.loose) == 0 {
			v.loose = append(v.loose, rowOf(e))
		}
	default:
		v.foreign(rowOf(e))
	}
}

func (v *verifier) foreign(row Row) {
	r := v.report
	if r.Foreign++; r.FirstForeign == nil || row.TS < r.FirstForeign.TS || row.TS == r.FirstForeign.TS && row.ID < r.FirstForeign.ID {
		r.FirstForeign = &row
	}
}

// settle counts the rows behind the chain's end as foreign, once it is known that no driver wrote them
// meanwhile.
func (v *verifier) settle() {
	if v.more {
		v.damage(v.order, Damage{Kind: DamageHead, Text: "the chain goes on behind the head: the head was set back"})
	}
	for i := range v.beyond {
		if i == 0 {
			v.foreign(v.loose[0])
		} else {
			v.report.Foreign++
		}
	}
}

// end looks at where the chain ended.
func (v *verifier) end() {
	h := v.head
	behind := int(v.report.Segments) // in order, after every segment
	switch {
	case !v.reached && v.report.Segments == 0:
		v.damage(behind, Damage{Kind: DamageHead, Text: fmt.Sprintf("the head says that there are %d entries, but the whole chain is gone", h.Entries)})
	case !v.reached:
		v.damage(behind, Damage{Kind: DamageHead, ID: v.last, Text: fmt.Sprintf(
			"the chain ends with entry %d, %d entries long, and not at the head, which says %d: the end was cut off, or the head was changed", v.last, v.entries, h.Entries)})
	case v.entries != h.Entries:
		v.damage(behind, Damage{Kind: DamageHead, Text: fmt.Sprintf("the head says %d entries, the chain holds %d: the head was changed", h.Entries, v.entries)})
	}
}
