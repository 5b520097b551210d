package durable

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/alineo-labs/alineo-host/host/store"
)

// errAdopted: the log has the run's end already, written by a driver that died before it wrote the rest.
var errAdopted = errors.New("the log has the run's end")

// logWriter appends a driver's events to the log exactly once. Where it isn't sure what the log has (after
// a takeover, after an append whose outcome isn't known, when somebody else emitted an event) it compares
// what is stored with what it would append, and appends the rest.
type logWriter struct {
	r     *Runs
	runID string
	epoch uint64

	tail   uint64           // offset of the last event that is accounted for
	ahead  bool             // the log may have events behind it
	stored []store.LogEvent // such, in order
	more   bool             // behind those are others
	ended  *Ended           // what the log has as the run's end
}

// fence shuts lower epochs out of the log, and finds out whether anything is in it.
func (w *logWriter) fence(ctx context.Context) error {
	return w.retry(ctx, func() error {
		tail, err := w.r.stores.Log.Append(ctx, store.LogAppend{RunID: w.runID, Epoch: w.epoch})
		if err == nil {
			w.ahead = tail > w.tail
		}
		return err
	})
}

// put appends events, all of them from one driver and in their order.
func (w *logWriter) put(ctx context.Context, events []store.LogEvent) error {
	for len(events) > 0 {
		if w.ahead {
			found, err := w.peek(ctx)
			switch {
			case err != nil:
				return err
			case found == nil:
			case found.Kind == events[0].Kind && bytes.Equal(found.Data, events[0].Data):
				events = events[1:]
				w.consume()
			case found.Kind == EventEnded:
				return w.adopt(found)
			case !inBand(found.Kind):
				w.consume()
			default:
				return &DivergedError{Offset: found.Offset, Stored: fingerprint(*found), Replayed: fingerprint(events[0])}
			}
			continue
		}
		if err := w.append(ctx, events); err != nil || !w.ahead {
			return err
		}
	}
	return nil
}

// append sends events once. When it isn't known what came of it, w.ahead is set.
func (w *logWriter) append(ctx context.Context, events []store.LogEvent) error {
	err := w.retry(ctx, func() error {
		after := w.tail
		tail, err := w.r.stores.Log.Append(ctx, store.LogAppend{RunID: w.runID, Epoch: w.epoch, After: &after, Events: events})
		if err == nil {
			w.tail = tail
			return nil
		}
		var refused *store.LogError
		if errors.As(err, &refused) && !refused.Closed && refused.Epoch <= w.epoch && refused.Tail != after {
			w.ahead = true
			return nil
		}
		if maybe(err) {
			w.ahead = true
		}
		return err
	})
	if err == nil {
		w.r.wake(w.runID)
	}
	return err
}

// maybe says whether an append that failed may have been applied.
func maybe(err error) bool {
	return !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrInvalid) && !errors.Is(err, store.ErrUnavailable)
}

// retry calls f until it succeeds, fails for good, or w.ahead asks for another look.
func (w *logWriter) retry(ctx context.Context, f func() error) error {
	ahead := w.ahead
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := f()
		var refused *store.LogError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &refused) && refused.Closed:
			return fmt.Errorf("%w: %w", ErrSuperseded, err) // whoever closed it had the last word
		case errors.Is(err, store.ErrConflict):
			return fmt.Errorf("%w: %w", ErrSuperseded, err)
		case errors.Is(err, store.ErrInvalid), errors.Is(err, store.ErrUnsupported):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		w.r.log.Debug("the log did not answer as it should, trying again", "run", w.runID, "err", err)
		if err := pause(ctx, wait); err != nil {
			return err
		}
		if w.ahead && !ahead {
			return nil
		}
	}
}

// peek returns the next stored event behind the tail, nil when there is none.
func (w *logWriter) peek(ctx context.Context) (*store.LogEvent, error) {
	if len(w.stored) == 0 {
		err := w.retry(ctx, func() error {
			page, err := w.r.stores.Log.Read(ctx, w.runID, store.LogReadOptions{After: w.tail, MaxBytes: 1 << 20})
			if err == nil {
				w.stored, w.more = page.Events, page.More
				w.tail = max(w.tail, page.Dropped)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(w.stored) == 0 {
		w.ahead = false
		return nil, nil
	}
	return &w.stored[0], nil
}

func (w *logWriter) consume() {
	w.tail = w.stored[0].Offset
	w.stored = w.stored[1:]
	if len(w.stored) == 0 && !w.more {
		w.stored = nil
	}
}

func (w *logWriter) adopt(event *store.LogEvent) error {
	var ended Ended
	if err := json.Unmarshal(event.Data, &ended); err != nil || !ended.Status.Terminal() {
		return fmt.Errorf("event %d of run %q tells no end: %w", event.Offset, w.runID, errors.Join(store.ErrInvalid, err))
	}
	w.ended = &ended
	return errAdopted
}

// end appends how the run ended, unless the log has it. whole says that all output was put: then stored
// output that is left over is a divergence.
func (w *logWriter) end(ctx context.Context, ended Ended, whole bool) (Ended, error) {
	event := store.LogEvent{Kind: EventEnded, Data: encode(ended)}
	for w.ended == nil {
		if !w.ahead {
			err := w.append(ctx, []store.LogEvent{event})
			if err != nil {
				return ended, err
			}
			if !w.ahead {
				w.ended = &ended
			}
			continue
		}
		found, err := w.peek(ctx)
		switch {
		case err != nil:
			return ended, err
		case found == nil:
		case found.Kind == EventEnded:
			if err := w.adopt(found); !errors.Is(err, errAdopted) {
				return ended, err
			}
		case whole && inBand(found.Kind):
			return ended, &DivergedError{Offset: found.Offset, Stored: fingerprint(*found)}
		default:
			w.consume()
		}
	}
	return *w.ended, nil
}

// skip goes through the whole log and returns how far the stored ranges of output reach in the journal.
func (w *logWriter) skip(ctx context.Context) (to int64, err error) {
	for w.ahead {
		found, err := w.peek(ctx)
		switch {
		case err != nil:
			return 0, err
		case found == nil:
			continue
		case found.Kind == EventEnded:
			return to, w.adopt(found)
		case found.Kind == eventRange:
			var r ranged
			if err := json.Unmarshal(found.Data, &r); err != nil || r.From != to {
				return 0, &DivergedError{Offset: found.Offset, Stored: fingerprint(*found), Replayed: fmt.Sprint("output from ", to)}
			}
			to = r.To
		case found.Kind == EventOutput:
			return 0, &DivergedError{Offset: found.Offset, Stored: fingerprint(*found), Replayed: "positions only"}
		}
		w.consume()
	}
	return to, nil
}
