package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

// TestRandomFaults lets every fault happen at random and then counts: what was acknowledged is
// there once and in order, what was refused is not there, what was unknown is there at most once.
func TestRandomFaults(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test that can be repeated
			r := newRig(t, func(_ int, b *store.Batch) (bool, error) {
				if s, e, ok := find(b, "bad"); ok {
					return false, &store.SegmentError{Segment: s, Entry: e, Err: store.ErrInvalid}
				}
				switch random.IntN(10) {
				case 0:
					return false, store.ErrUnavailable
				case 1:
					return false, store.ErrUnknownOutcome
				case 2:
					return true, store.ErrUnknownOutcome
				case 3:
					return true, errors.New("a trap")
				case 4:
					return false, context.DeadlineExceeded
				}
				return true, nil
			}, ledger.WriterOptions{MaxBatchRows: 8, RetryFor: 200 * time.Microsecond, MinBackoff: 50 * time.Microsecond})
			var group sync.WaitGroup
			for i := range 4 {
				s := r.open(fmt.Sprint("s", i))
				group.Go(func() { r.hammer(s) })
			}
			group.Wait()
			r.verifyChain()
		})
	}
}

// hammer writes to a stream and then checks what became of it.
func (r *rig) hammer(s *ledger.Stream) {
	fate := map[string]string{}
	var names []string
	var tickets []*ledger.Ticket
	for n := range 60 {
		event := fmt.Sprint("e", n)
		if n%17 == 5 {
			event = "bad"
		}
		ev := ledger.Event{Step: int64(n), Name: event, Payload: json.RawMessage(`{}`)}
		if n%4 == 0 {
			fate[event] = class(s.Append(r.t.Context(), ev))
			continue
		}
		ticket, err := s.Enqueue(r.t.Context(), ev)
		if err != nil {
			if fate[event] = class(err); fate[event] != "lost" {
				r.t.Errorf("refusing %s: %v", event, err)
			}
			continue
		}
		names, tickets = append(names, event), append(tickets, ticket)
	}
	for i, ticket := range tickets {
		fate[names[i]] = class(ticket.Wait(r.t.Context()))
	}
	for r.append(s, "end") != nil { // settles what is unknown
		continue
	}
	last, seen := int64(-1), map[string]int{}
	for _, e := range r.entries(s.Key().SandboxID) {
		if e.Event == "end" {
			continue
		}
		if e.StepIndex <= last {
			r.t.Errorf("%s: step %d follows %d", s.Key(), e.StepIndex, last)
		}
		last = e.StepIndex
		seen[e.Event]++
	}
	for event, what := range fate {
		n := seen[event]
		if what == "ok" && n != 1 || what == "lost" && n != 0 || what == "unknown" && n > 1 {
			r.t.Errorf("%s: %s ended as %s and is there %d times", s.Key(), event, what, n)
		}
	}
}

func class(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, store.ErrInvalid), errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrUnknownOutcome):
		return "lost"
	default:
		return "unknown"
	}
}
