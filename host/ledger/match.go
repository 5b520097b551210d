package ledger

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/alineo-labs/alineo-host/host/store"
)

// maxExtra bounds the rows that are kept of a segment because they match none of its leaves.
const maxExtra = 4096

// openSegment is a segment some of whose rows have not been seen yet.
type openSegment struct {
	*store.StoredSegment
	index int      // in the chain
	rows  []placed // by leaf, at -1 where none was found yet; nil before the first
	next  int      // the leaf that is expected
	left  int      // leaves without a row
	extra []placed // rows within the segment's ids that match no leaf
}

// placed is a row and the leaf that it matches, -1 for none.
type placed struct {
	Row
	at int
}

func newOpenSegment(s *store.StoredSegment, index int) *openSegment {
	return &openSegment{StoredSegment: s, index: index, left: len(s.Leaves) / len(Hash{})}
}

// slots makes room for the rows.
func (s *openSegment) slots() {
	if s.rows == nil {
		s.rows = make([]placed, len(s.Leaves)/len(Hash{}))
		for i := range s.rows {
			s.rows[i].at = -1
		}
	}
}

// dense tells whether every id between the first and the last is the segment's own, so that each leaf
// has its id.
func (s *openSegment) dense() bool { return s.LastID-s.FirstID == int64(len(s.rows)-1) }

func (s *openSegment) leafAt(i int) []byte {
	return s.Leaves[i*len(Hash{}) : (i+1)*len(Hash{})]
}

// match gives a row to the leaf that it is, the expected one when it may be several.
func (s *openSegment) match(e *store.Entry, leaf Hash) bool {
	s.slots()
	at := s.next
	if s.dense() {
		at = int(e.ID - s.FirstID)
	}
	if !s.is(at, leaf) {
		if at = s.search(leaf); at < 0 {
			return false
		}
	}
	s.rows[at] = placed{Row: rowOf(e), at: at}
	s.left--
	s.next = at + 1
	return true
}

func (s *openSegment) is(at int, leaf Hash) bool {
	return at < len(s.rows) && s.rows[at].at < 0 && Hash(s.leafAt(at)) == leaf
}

func (s *openSegment) search(leaf Hash) int {
	for i := range s.rows {
		if at := (s.next + i) % len(s.rows); s.is(at, leaf) {
			return at
		}
	}
	return -1
}

// close judges a segment of which no more rows will come.
func (v *verifier) close(s *openSegment) {
	s.slots()
	ordered := slices.IsSortedFunc(s.rows, func(a, b placed) int { return cmp.Compare(a.ID, b.ID) })
	if s.left == 0 && ordered {
		for i := range s.extra {
			v.foreign(s.extra[i].Row)
		}
		return
	}
	rows := slices.Clone(s.extra)
	for _, r := range s.rows {
		if r.at >= 0 {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b placed) int { return cmp.Compare(a.ID, b.ID) })
	if s.dense() {
		v.closeDense(s, rows)
	} else {
		v.closeSparse(s, rows)
	}
}

// closeDense compares id by id.
func (v *verifier) closeDense(s *openSegment, rows []placed) {
	for at := range s.rows {
		id := s.FirstID + int64(at)
		i, found := slices.BinarySearchFunc(rows, id, func(r placed, id int64) int { return cmp.Compare(r.ID, id) })
		switch {
		case !found:
			v.damage(s.index, v.deleted(id, fmt.Sprintf("entry %d was deleted", id)))
		case rows[i].at < 0:
			v.damage(s.index, edited(rows[i].Row))
		case rows[i].at != at:
			v.damage(s.index, moved(rows[i].Row))
		}
	}
}

// closeSparse lines rows and leaves up, since ids of other sandboxes lie between.
func (v *verifier) closeSparse(s *openSegment, rows []placed) {
	at, before := 0, int64(0)
	var strangers []Row // rows without a leaf since the last one that had its own
	gap := func(end int, next *Row) {
		missing := 0
		for ; at < end; at++ {
			if s.rows[at].at < 0 {
				missing++
			} else if next != nil { // its row stands elsewhere
				v.damage(s.index, moved(*next))
			}
		}
		for i := range missing {
			if i < len(strangers) {
				v.damage(s.index, among(strangers, missing))
			} else {
				v.damage(s.index, v.deleted(0, between(s, before, next)))
			}
		}
		for _, row := range strangers[min(missing, len(strangers)):] {
			v.foreign(row)
		}
		strangers = nil
	}
	for i := range rows {
		r := &rows[i]
		switch {
		case r.at < 0:
			strangers = append(strangers, r.Row)
			continue
		case r.at < at:
			continue // what stands where it belongs has been named
		}
		gap(r.at, &r.Row)
		at, before = r.at+1, r.ID
	}
	gap(len(s.rows), nil)
}

// between says where an entry was deleted of which the id is not known.
func between(s *openSegment, before int64, next *Row) string {
	text := fmt.Sprintf("an entry after entry %d was deleted", before)
	if before == 0 {
		text = fmt.Sprintf("an entry was deleted, the first of those from %d on", s.FirstID)
	}
	if next != nil {
		text += fmt.Sprintf(", before entry %d", next.ID)
	}
	return text
}

// among names the rows of which some are not what was written, when there are more than are missing.
func among(rows []Row, missing int) Damage {
	d := edited(rows[0])
	if len(rows) <= missing {
		return d
	}
	for _, r := range rows {
		d.Among = append(d.Among, r.ID)
	}
	d.Text = fmt.Sprintf("of the entries %v, which others wrote as well, %d is not what was written: it was edited, or put in place of another", d.Among, missing)
	return d
}

func edited(r Row) Damage {
	return Damage{
		Kind: DamageEdited, ID: r.ID, TS: r.TS, Event: r.Event,
		Text: fmt.Sprintf("entry %d (%s) is not what was written: it was edited, or put in place of another", r.ID, r.Event),
	}
}

func moved(r Row) Damage {
	return Damage{
		Kind: DamageMoved, ID: r.ID, TS: r.TS, Event: r.Event,
		Text: fmt.Sprintf("entry %d (%s) was written at another place: entries were exchanged", r.ID, r.Event),
	}
}

func (v *verifier) deleted(id int64, text string) Damage {
	if v.report.Unreadable != "" {
		text += ", or made unreadable"
	}
	return Damage{Kind: DamageDeleted, ID: id, Text: text}
}
