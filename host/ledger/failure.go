package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/alineo-labs/alineo-host/host/store"
)

// settle tells one caller of a part, unless it was told before.
func (w *Writer) settle(p *part, i int, err error) {
	e := &p.entries[i]
	w.gate.leave(w.gate.cost(entrySize(len(e.Event), len(e.Payload))))
	if t := p.tickets[i]; t != nil {
		p.tickets[i] = nil // it may serve another entry from now on
		t.settle(err)
	}
}

// finish tells every caller of a part and is done with it.
func (w *Writer) finish(p *part, err error) {
	room := int64(0)
	for i := range p.entries {
		e := &p.entries[i]
		room += w.gate.cost(entrySize(len(e.Event), len(e.Payload)))
	}
	w.gate.leave(room)
	w.tell(p, err)
	w.recycle(p)
}

// tell tells the callers of a part that were not told yet.
func (w *Writer) tell(p *part, err error) {
	for i, t := range p.tickets {
		if t != nil {
			p.tickets[i] = nil
			t.settle(err)
		}
	}
}

// flush fails everything that waits in a stream. The writer's mu is held.
func (w *Writer) flush(s *Stream, err error) (entries int) {
	room := int64(0)
	for i := s.first; i < len(s.queue); i++ {
		q := &s.queue[i]
		room += w.gate.cost(entrySize(len(q.entry.Event), len(q.entry.Payload)))
		q.ticket.settle(err)
		entries++
	}
	clear(s.queue)
	s.queue, s.first = s.queue[:0], 0
	w.gate.leave(room)
	return entries
}

// failureOf returns why a stream's entries were given up.
func (w *Writer) failureOf(s *Stream) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.fenced != nil {
		return s.wrap(s.fenced)
	}
	return s.wrap(s.down)
}

// fence ends a stream: another driver has the sandbox.
func (w *Writer) fence(p *part, err error) {
	s := p.stream
	s.failures++
	w.mu.Lock()
	s.fenced = err
	w.flush(s, s.wrap(err))
	w.mu.Unlock()
	w.finish(p, s.wrap(err))
	w.opts.Logger.Warn("another driver has taken the sandbox over", "sandbox", s.key.SandboxID, "name", s.key.Name, "err", err)
}

// miss gives up entries that were not written, and what waits behind them.
func (w *Writer) miss(parts []*part, err error) {
	w.fail(parts, err)
	for _, p := range parts {
		if w.base.Err() != nil {
			w.lost += len(p.entries)
		}
		w.finish(p, p.stream.wrap(err))
	}
}

// fail makes the streams of parts refuse work until the ledger answers.
func (w *Writer) fail(parts []*part, err error) {
	w.mu.Lock()
	for _, p := range parts {
		p.stream.failures++
		p.stream.down = err
		if n := w.flush(p.stream, p.stream.wrap(err)); w.base.Err() != nil {
			w.lost += n
		}
	}
	w.mu.Unlock()
	if !w.down {
		w.down = true
		w.opts.Logger.Warn("the ledger does not answer", "err", err)
	}
}

const (
	minParked = 100 * time.Millisecond // between tries of a flight
	maxParked = 5 * time.Second
)

// park tells the callers of parts that their outcome is unknown, and keeps the parts until it is.
func (w *Writer) park(parts []*part, err error) {
	behind := fmt.Errorf("%w: the outcome of an entry before it is unknown: %v", store.ErrUnavailable, err) //nolint:errorlint // it is not unknown itself
	if w.base.Err() != nil {
		behind = fmt.Errorf("%w: %w", ErrClosed, behind)
	}
	w.fail(parts, behind)
	f := &flight{parts: slices.Clone(parts), wait: minParked}
	for _, p := range parts {
		w.tell(p, p.stream.wrap(err))
		f.wait = max(f.wait, min(2*p.parkedFor, maxParked))
	}
	f.due = time.Now().Add(f.wait)
	w.mu.Lock()
	for _, p := range parts {
		p.parkedFor = f.wait
		p.stream.parked = f
	}
	w.mu.Unlock()
	w.flights = append(w.flights, f)
}

// due returns a flight that it is time to try again.
func (w *Writer) due() *flight {
	if len(w.flights) == 0 {
		return nil
	}
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.flights {
		if f.asked || !f.due.After(now) {
			return f
		}
	}
	return nil
}

// unpark takes a flight up again.
func (w *Writer) unpark(f *flight) []*part {
	w.flights = slices.DeleteFunc(w.flights, func(other *flight) bool { return other == f })
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range f.parts {
		p.stream.parked = nil
		p.failures = p.stream.failures
	}
	return f.parts
}

// abandon fails everything that is left.
func (w *Writer) abandon() {
	if t := w.tried; t != nil {
		for _, p := range t.parts {
			w.lost += len(p.entries)
			w.finish(p, p.stream.wrap(fmt.Errorf("%w: %w", ErrClosed, t.err)))
		}
		w.tried = nil
	}
	for _, f := range w.flights {
		for _, p := range f.parts {
			w.lost += len(p.entries)
			w.finish(p, p.stream.wrap(ErrClosed))
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, s := range w.ready {
		w.lost += w.flush(s, s.wrap(fmt.Errorf("not written: %w", ErrClosed)))
	}
	w.ready = nil
}
