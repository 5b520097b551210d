package ledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/alineo-labs/alineo-host/host/store"
)

// committer is the state of whoever writes: one goroutine, or a caller in its place while it is idle.
type committer struct {
	turn     sync.Mutex // held by whoever writes; taken before the writer's mu
	tried    *tried     // what a caller leaves to the goroutine
	parts    []*part    // scratch of gather
	free     []*part
	segments []store.Segment // scratch of send
	flights  []*flight       // parked
	down     bool            // the store did not answer last time: try once, don't insist
	once     bool            // a flight is being tried, in which nobody waits: don't insist either
	until    time.Time       // when to stop looking for what of a batch is refused; zero before a refusal
	refusal  error           // the last one of this batch
	lost     int             // entries given up by Close; read after done
}

// run writes until the writer is closed and everything is settled.
func (w *Writer) run() {
	defer close(w.done)
	defer w.abort()
	for w.base.Err() == nil {
		worked, finished, due := w.work()
		if finished {
			return
		}
		if !worked {
			w.idle(due)
		}
	}
	w.turn.Lock()
	defer w.turn.Unlock()
	w.abandon()
}

// work commits one batch. When there is none, finished says that there will be no more, and due when the
// next flight is to be tried again, if there is one.
func (w *Writer) work() (worked, finished bool, due time.Time) {
	w.turn.Lock()
	defer w.turn.Unlock()
	w.until = time.Time{}
	if t := w.tried; t != nil {
		w.tried = nil
		w.commit(t.parts, t)
		return true, false, due
	}
	if f := w.due(); f != nil {
		w.once = true
		w.commit(w.unpark(f), nil)
		w.once = false
		return true, false, due
	}
	if parts := w.gather(); len(parts) > 0 {
		w.commit(parts, nil)
		return true, false, due
	}
	if len(w.flights) > 0 {
		due = slices.MinFunc(w.flights, func(a, b *flight) int { return a.due.Compare(b.due) }).due
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return false, w.closed && len(w.ready) == 0 && len(w.flights) == 0, due
}

// idle waits for work, or until due, unless that is zero.
func (w *Writer) idle(due time.Time) {
	var timer <-chan time.Time
	if !due.IsZero() {
		t := time.NewTimer(time.Until(due))
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-w.wake:
	case <-timer:
	case <-w.base.Done():
	}
}

// outcome of sending a batch.
type outcome int

const (
	written outcome = iota
	refused         // nothing was written, nor will be: conflict or invalid
	missed          // nothing was written, but may be later
	unknown
)

// judge says what an error of Append means. What can't be told is unknown.
func judge(err error) outcome {
	switch {
	case err == nil:
		return written
	case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrInvalid):
		return refused
	case errors.Is(err, store.ErrUnknownOutcome):
		return unknown
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrUnsupported):
		return missed
	default:
		return unknown
	}
}

// commit writes parts, in one batch as long as the store takes it, and settles every ticket. before is
// what they were tried with already, or nil.
func (w *Writer) commit(parts []*part, before *tried) {
	for {
		// A part whose stream failed since it was gathered must not be written behind the gap.
		parts = slices.DeleteFunc(parts, func(p *part) bool {
			if p.failures == p.stream.failures {
				return false
			}
			w.finish(p, w.failureOf(p.stream))
			return true
		})
		if len(parts) == 0 {
			return
		}
		if !w.until.IsZero() && time.Now().After(w.until) {
			w.miss(parts, fmt.Errorf("%w: the ledger takes too long to say which entries it refuses: %s",
				store.ErrUnavailable, w.refusal.Error())) // its text only: it is not two things
			return
		}
		result, err := w.send(parts, before)
		before = nil
		switch result {
		case written:
			w.wrote(parts)
			return
		case refused:
			if w.until.IsZero() {
				w.until = time.Now().Add(w.opts.RetryFor)
			}
			w.refusal = err
			parts = w.refuse(parts, err)
		case missed:
			w.miss(parts, err)
			return
		case unknown:
			w.park(parts, err)
			return
		}
	}
}

// batch forms the segments of parts.
func (w *Writer) batch(parts []*part) *store.Batch {
	w.segments = w.segments[:0]
	for _, p := range parts {
		p.form()
		w.segments = append(w.segments, p.segment)
	}
	return &store.Batch{Segments: w.segments}
}

// send tries one batch, the same each time, until the store answers or patience ends. Of a batch that was
// tried before, that is the first try.
func (w *Writer) send(parts []*part, before *tried) (outcome, error) {
	base, s := w.startSpan(parts)
	result, err := w.insist(base, parts, before)
	s.End(failureWord(err))
	return result, err
}

func (w *Writer) insist(base context.Context, parts []*part, before *tried) (outcome, error) {
	batch := w.batch(parts)
	defer clear(w.segments)
	doubt := slices.ContainsFunc(parts, func(p *part) bool { return p.doubt })
	started, wait := time.Now(), w.opts.MinBackoff
	for {
		var err error
		if before != nil {
			err, before = before.err, nil
		} else {
			ctx, cancel := context.WithTimeout(base, w.opts.CommitTimeout)
			err = w.st.Append(ctx, batch)
			cancel()
		}
		result := judge(err)
		if result == unknown && !doubt {
			doubt = true
			for _, p := range parts {
				p.doubt = true
			}
		}
		if result == missed && doubt {
			result = unknown // that this try wrote nothing says nothing about the one before
		}
		if result == written || result == refused {
			return result, err
		}
		if w.down || w.once || errors.Is(err, store.ErrUnsupported) || time.Since(started)+wait > w.opts.RetryFor || !w.sleep(wait) {
			if result == unknown && !errors.Is(err, store.ErrUnknownOutcome) {
				// The last answer may have been about nothing but the last try.
				err = fmt.Errorf("%w: %v", store.ErrUnknownOutcome, err) //nolint:errorlint // so as not to be two things
			}
			if w.base.Err() != nil {
				err = fmt.Errorf("%w: %w", ErrClosed, err)
			}
			return result, err
		}
		wait = min(2*wait, w.opts.MaxBackoff)
	}
}

// sleep waits for about d; false when the writer is abandoned.
func (w *Writer) sleep(d time.Duration) bool {
	t := time.NewTimer(d/2 + rand.N(d/2+1)) //nolint:gosec // spreads load, keeps no secret
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-w.base.Done():
		return false
	}
}

// wrote settles parts that are durable.
func (w *Writer) wrote(parts []*part) {
	w.mu.Lock()
	for _, p := range parts {
		p.stream.down = nil
	}
	w.mu.Unlock()
	for _, p := range parts {
		p.stream.hash = append(p.stream.hash[:0], p.segment.Hash[:]...)
		w.finish(p, nil)
	}
	if w.down {
		w.down = false
		w.opts.Logger.Info("the ledger answers again")
	}
}

// refuse settles what a refusal is about and returns what is left to be written.
func (w *Writer) refuse(parts []*part, err error) []*part {
	at, entry := place(parts, err)
	if at < 0 {
		if len(parts) > 1 {
			for _, p := range parts {
				w.commit([]*part{p}, nil)
			}
			return nil
		}
		at = 0
	}
	p := parts[at]
	rest := slices.Delete(slices.Clone(parts), at, at+1)
	switch {
	case errors.Is(err, store.ErrConflict):
		w.fence(p, err)
	case len(p.entries) == 1:
		w.finish(p, p.stream.wrap(err))
	case entry >= 0:
		w.settle(p, entry, p.stream.wrap(err))
		p.without(entry)
		rest = append(rest, p)
	default:
		first, second := w.split(p)
		w.commit([]*part{first}, nil)
		w.commit([]*part{second}, nil)
	}
	return rest
}

// place finds what a refusal names: a part, and an entry of it; -1 when it names none that is there.
func place(parts []*part, err error) (at, entry int) {
	var where *store.SegmentError
	if !errors.As(err, &where) || where.Segment < 0 || where.Segment >= len(parts) {
		return -1, -1
	}
	if where.Entry < 0 || where.Entry >= len(parts[where.Segment].entries) {
		return where.Segment, -1
	}
	return where.Segment, where.Entry
}
