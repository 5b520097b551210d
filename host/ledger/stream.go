package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"

	"github.com/alineo-labs/alineo-host/host/store"
)

// Event is what a caller adds to a sandbox's ledger.
type Event struct {
	Step int64  // sequence number of the exec, -1 for an event of the sandbox itself
	Name string // "exec.output", …
	// Payload is one JSON value, or nil for none (SQL NULL). The writer keeps it: it must not be
	// changed afterwards.
	Payload json.RawMessage
}

// Stream is one sandbox's ledger, claimed for this writer. It is safe for concurrent use; entries
// are written in the order in which Append and Enqueue were called, as far as one call returned or
// was blocked before the other began.
type Stream struct {
	w    *Writer
	key  store.Key
	head store.Head

	lastStep atomic.Int64

	stamp   sync.Mutex // guards what follows, and so the order of time stamps
	lastTS  int64
	canon   Canonicalizer
	scratch []byte

	// Guarded by the writer's mu.
	queue  []queued
	first  int   // of the queue that was not taken yet
	ready  bool  // in the writer's list
	fenced error // for good
	down   error // the last failure; work is refused until the ledger answers
	parked *flight
	cause  trace.SpanContext // of the last entry, when somebody wants to know

	// Of whoever commits.
	hash     []byte // where the chain stands
	failures uint   // how often entries were given up
}

// queued is an entry on its way to the committer.
type queued struct {
	entry  store.Entry
	leaf   Hash
	ticket *Ticket
}

// Key returns which sandbox's ledger it is.
func (s *Stream) Key() store.Key { return s.key }

// Head returns where the ledger stood when it was opened.
func (s *Stream) Head() store.Head { return s.head }

// LastStep returns the highest step in the ledger or accepted by this stream, -1 when there is none.
func (s *Stream) LastStep() int64 { return s.lastStep.Load() }

// Append writes one entry and returns when it is durable; errors are those of Ticket.Wait. When ctx
// ends first, the entry is written all the same.
//
// After a failure it is Append that asks the ledger again: the entry is tried, and when it can be
// written the stream is well.
func (s *Stream) Append(ctx context.Context, ev Event) error {
	if !s.w.keeps {
		return s.discard(ctx, ev)
	}
	ticket, _ := s.w.tickets.Get().(*Ticket)
	if ticket == nil {
		ticket = newTicket()
	}
	if err := s.enqueue(ctx, ev, ticket, true); err != nil {
		s.w.tickets.Put(ticket)
		return err
	}
	s.w.commitHere(ctx, s)
	settled, err := ticket.take(ctx)
	if settled {
		ticket.err = nil
		s.w.tickets.Put(ticket)
	}
	return err
}

// Enqueue accepts one entry and returns without waiting for the commit. It blocks only while too
// much waits to be written. After a failed entry it refuses work, with that failure, until an Append
// has succeeded: what follows a lost entry must not be written as if nothing were missing.
func (s *Stream) Enqueue(ctx context.Context, ev Event) (*Ticket, error) {
	ticket := newTicket()
	if !s.w.keeps {
		if err := s.discard(ctx, ev); err != nil {
			return nil, err
		}
		ticket.settle(nil)
		return ticket, nil
	}
	if err := s.enqueue(ctx, ev, ticket, false); err != nil {
		return nil, err
	}
	return ticket, nil
}

// discard accepts an entry that nobody keeps.
func (s *Stream) discard(ctx context.Context, ev Event) error {
	if err := ctx.Err(); err != nil {
		return s.wrap(err)
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if s.w.closed {
		return s.wrap(ErrClosed)
	}
	s.lastStep.Store(max(s.lastStep.Load(), ev.Step))
	return nil
}

func (s *Stream) enqueue(ctx context.Context, ev Event, ticket *Ticket, asks bool) error {
	now := s.w.opts.Now().UnixMilli()
	if s.w.Redacts() && s.w.Redactor().Active() {
		ev = s.w.redacted(ev)
	}
	if err := ctx.Err(); err != nil {
		return s.wrap(err)
	}
	if err := s.admit(asks); err != nil {
		return s.wrap(err)
	}
	size := entrySize(len(ev.Name), len(ev.Payload))
	if err := s.w.gate.enter(ctx, size); err != nil {
		return s.wrap(err)
	}
	s.caused(ctx)
	if err := s.push(ev, now, ticket, asks); err != nil {
		s.w.gate.leave(s.w.gate.cost(size))
		return s.wrap(err)
	}
	return nil
}

// redacted returns an event without the values of credentials. It is the one way into the ledger, so
// none can be forgotten; what is split over several events is for those to find who make them.
func (w *Writer) redacted(ev Event) Event {
	own := store.Reserved(store.CurrentName(ev.Name))
	if !own {
		ev.Name = w.Redactor().Text(ev.Name)
	}
	if ev.Payload != nil {
		ev.Payload = w.Redactor().JSON(ev.Payload, own)
	}
	return ev
}

func (s *Stream) wrap(err error) error { return fmt.Errorf("appending to %s: %w", s.key, err) }

// admit reports why new work is refused.
func (s *Stream) admit(asks bool) error {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return s.refusal(asks)
}

// refusal is admit with the writer's mu held.
func (s *Stream) refusal(asks bool) error {
	switch {
	case s.w.closed:
		return ErrClosed
	case s.fenced != nil:
		return s.fenced
	case s.down != nil && !asks:
		return fmt.Errorf("refused until the ledger answers again: %w", s.down)
	}
	return nil
}

const maxScratch = 64 << 10 // of memory kept between entries

// push stamps, checks and hashes an entry and hands it to the committer.
func (s *Stream) push(ev Event, now int64, ticket *Ticket, asks bool) error {
	s.stamp.Lock()
	defer s.stamp.Unlock()
	q := queued{ticket: ticket, entry: store.Entry{
		TS: max(now, s.lastTS), Name: s.key.Name, SandboxID: s.key.SandboxID,
		StepIndex: ev.Step, Event: ev.Name, Payload: ev.Payload,
	}}
	var err error
	q.leaf, s.scratch, err = s.canon.Leaf(&q.entry, s.scratch)
	if cap(s.scratch) > maxScratch {
		s.scratch, s.canon = nil, Canonicalizer{}
	}
	if err != nil {
		return err
	}
	s.lastTS = q.entry.TS
	return s.w.push(s, &q, asks)
}

// entryOverhead is about what an entry takes in memory beside its text.
const entryOverhead = 256

func entrySize(event, payload int) int64 { return int64(entryOverhead + event + payload) }
