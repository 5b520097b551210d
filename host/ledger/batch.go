package ledger

import (
	"crypto/rand"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/alineo-labs/alineo-host/host/store"
)

// part is what one commit has of one sandbox. While its outcome may be unknown it is sent again only
// as it is.
type part struct {
	stream   *Stream
	entries  []store.Entry
	hashed   []byte    // leavesAt bytes for hashSegment, then the leaves
	tickets  []*Ticket // nil where the caller was told
	failures uint      // of the stream when it was formed
	formed   bool      // segment is set
	doubt    bool      // it may have been written
	// parkedFor is how long its flight waited last, 0 when it was in none.
	parkedFor time.Duration
	segment   store.Segment
	previous  []byte
	cause     trace.SpanContext
}

// flight is a batch whose outcome is still unknown after its callers were told so. Its sandboxes
// wait for it.
type flight struct {
	parts []*part
	due   time.Time
	wait  time.Duration
	asked bool // someone asks the ledger again; guarded by the writer's mu
}

// gather takes a batch off the streams that have entries, each in its turn.
func (w *Writer) gather() []*part {
	w.mu.Lock()
	defer w.mu.Unlock()
	parts := w.parts[:0]
	rows, size := 0, int64(0)
	turns := len(w.ready)
	for ; turns > 0 && rows < w.opts.MaxBatchRows && (rows == 0 || size < w.opts.MaxBatchBytes); turns-- {
		s := w.ready[0]
		w.ready = slices.Delete(w.ready, 0, 1)
		if s.first == len(s.queue) {
			s.ready = false
			continue
		}
		if s.parked != nil {
			w.ready = append(w.ready, s)
			continue
		}
		p := w.newPart(s)
		for s.first < len(s.queue) && rows < w.opts.MaxBatchRows {
			q := &s.queue[s.first]
			n := int64(len(q.entry.Payload) + len(q.entry.Event))
			if rows > 0 && size+n > w.opts.MaxBatchBytes {
				size = w.opts.MaxBatchBytes // full
				break
			}
			p.entries = append(p.entries, q.entry)
			p.hashed = append(p.hashed, q.leaf[:]...)
			p.tickets = append(p.tickets, q.ticket)
			*q = queued{}
			s.first++
			rows++
			size += n
		}
		if s.first == len(s.queue) {
			s.queue, s.first, s.ready = s.queue[:0], 0, false
		} else {
			w.ready = append(w.ready, s)
		}
		if len(p.entries) == 0 {
			w.recycle(p)
			continue
		}
		p.cause = s.cause
		parts = append(parts, p)
	}
	w.parts = parts
	return parts
}

func (w *Writer) newPart(s *Stream) *part {
	var p *part
	if n := len(w.free); n > 0 {
		p, w.free = w.free[n-1], w.free[:n-1]
	} else {
		p = &part{}
	}
	p.hashed = append(p.hashed[:0], make([]byte, leavesAt)...)
	p.stream, p.failures = s, s.failures
	return p
}

const (
	maxFree     = 64 // parts kept for the next batch
	maxFreeRows = 4096
)

// recycle keeps a part's memory, not what it points at. The part must not be used any more.
func (w *Writer) recycle(p *part) {
	clear(p.entries)
	clear(p.tickets)
	if len(w.free) < maxFree && cap(p.entries) <= maxFreeRows {
		*p = part{entries: p.entries[:0], hashed: p.hashed[:0], tickets: p.tickets[:0], previous: p.previous[:0]}
		w.free = append(w.free, p)
	}
}

// form makes the part's segment, where the stream's chain stands now.
func (p *part) form() {
	if p.formed {
		return
	}
	s := p.stream
	p.previous = append(p.previous[:0], s.hash...)
	p.segment = store.Segment{
		Key: s.key, Epoch: s.head.Epoch, Previous: p.previous, Leaves: p.hashed[leavesAt:], Entries: p.entries,
	}
	if len(p.previous) == 0 {
		p.segment.Previous = nil
	}
	rand.Read(p.segment.ID[:]) //nolint:errcheck // never fails
	p.segment.Hash = hashSegment(p.hashed, p.previous, p.segment.ID)
	p.formed = true
}

// leaf is where entry i's leaf starts in hashed.
func leaf(i int) int { return leavesAt + i*len(Hash{}) }

// without removes one entry; the rest is to be formed anew.
func (p *part) without(i int) {
	p.entries = slices.Delete(p.entries, i, i+1)
	p.hashed = slices.Delete(p.hashed, leaf(i), leaf(i+1))
	p.tickets = slices.Delete(p.tickets, i, i+1)
	p.formed, p.doubt = false, false
}

// split cuts a part in two, to be formed anew one after the other.
func (w *Writer) split(p *part) (first, second *part) {
	half := len(p.entries) / 2
	second = w.newPart(p.stream)
	second.failures, second.cause = p.failures, p.cause
	second.entries = append(second.entries, p.entries[half:]...)
	second.hashed = append(second.hashed, p.hashed[leaf(half):]...)
	second.tickets = append(second.tickets, p.tickets[half:]...)
	clear(p.entries[half:])
	clear(p.tickets[half:])
	p.entries, p.hashed, p.tickets = p.entries[:half], p.hashed[:leaf(half)], p.tickets[:half]
	p.formed, p.doubt = false, false
	return p, second
}
