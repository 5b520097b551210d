package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/nativeledger"
)

// names reports whether a batch has an event, and where.
func find(b *store.Batch, event string) (segment, entry int, ok bool) {
	for i := range b.Segments {
		for j, e := range b.Segments[i].Entries {
			if e.Event == event {
				return i, j, true
			}
		}
	}
	return 0, 0, false
}

// batch sets up one commit of given events ("id:event") behind a first one, and returns tickets.
func (r *rig) batch(streams map[string]*ledger.Stream, events ...string) []*ledger.Ticket {
	r.t.Helper()
	lead := r.open("lead")
	release, began := r.store.hold()
	first := r.enqueue(lead, "lead")
	<-began
	var tickets []*ledger.Ticket
	for _, name := range events {
		id, event, _ := strings.Cut(name, ":")
		if streams[id] == nil {
			streams[id] = r.open(id)
		}
		tickets = append(tickets, r.enqueue(streams[id], event))
	}
	close(release)
	wait(r.t, first)
	return tickets
}

// outcomes waits for tickets and names what became of each.
func outcomes(t testing.TB, tickets []*ledger.Ticket) string {
	t.Helper()
	var out []string
	for _, ticket := range tickets {
		err := ticket.Wait(t.Context())
		switch {
		case err == nil:
			out = append(out, "ok")
		case errors.Is(err, store.ErrInvalid):
			out = append(out, "invalid")
		case errors.Is(err, store.ErrConflict):
			out = append(out, "conflict")
		case errors.Is(err, store.ErrUnknownOutcome):
			out = append(out, "unknown")
		case errors.Is(err, store.ErrUnavailable):
			out = append(out, "unavailable")
		default:
			out = append(out, err.Error())
		}
	}
	return strings.Join(out, " ")
}

func TestInvalidEntryFailsOnlyItsCaller(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(b *store.Batch) error{
		"named": func(b *store.Batch) error {
			s, e, _ := find(b, "bad")
			return &store.SegmentError{Segment: s, Entry: e, Err: store.ErrInvalid}
		},
		"segment named": func(b *store.Batch) error {
			s, _, _ := find(b, "bad")
			return &store.SegmentError{Segment: s, Entry: -1, Err: store.ErrInvalid}
		},
		"nothing named":  func(*store.Batch) error { return fmt.Errorf("too bad: %w", store.ErrInvalid) },
		"nonsense named": func(*store.Batch) error { return &store.SegmentError{Segment: 99, Entry: 99, Err: store.ErrInvalid} },
		"nonsense in entry": func(b *store.Batch) error {
			s, _, _ := find(b, "bad")
			return &store.SegmentError{Segment: s, Entry: 99, Err: store.ErrInvalid}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(_ int, b *store.Batch) (bool, error) {
				if _, _, ok := find(b, "bad"); ok {
					return false, answer(b)
				}
				return true, nil
			}, ledger.WriterOptions{})
			streams := map[string]*ledger.Stream{}
			tickets := r.batch(streams, "a:a1", "a:a2", "b:b1", "b:bad", "b:b2", "b:b3", "b:bad", "c:c1")
			if got := outcomes(t, tickets); got != "ok ok ok invalid ok ok invalid ok" {
				t.Errorf("outcomes: %s", got)
			}
			r.wantEvents("a", "a1 a2")
			r.wantEvents("b", "b1 b2 b3")
			r.wantEvents("c", "c1")
			// The stream is well: nothing refuses.
			wait(t, r.enqueue(streams["b"], "b4"))
			r.verifyChain()
		})
	}
}

func TestUnavailableIsTriedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(n int, _ *store.Batch) (bool, error) {
		if n >= 2 && n <= 4 {
			return false, fmt.Errorf("busy: %w", store.ErrUnavailable)
		}
		return true, nil
	}, ledger.WriterOptions{})
	tickets := r.batch(map[string]*ledger.Stream{}, "a:a1", "b:b1")
	if got := outcomes(t, tickets); got != "ok ok" {
		t.Errorf("outcomes: %s", got)
	}
	r.wantTries("lead:lead", "a:a1 b:b1", "a:a1 b:b1", "a:a1 b:b1", "a:a1 b:b1")
	r.verifyChain()
}

func TestUnavailableForLong(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	up := true
	set := func(v bool) { mu.Lock(); up = v; mu.Unlock() }
	r := newRig(t, func(int, *store.Batch) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		if !up {
			return false, store.ErrUnavailable
		}
		return true, nil
	}, ledger.WriterOptions{RetryFor: 5 * time.Millisecond})
	s, other := r.open("a"), r.open("b")
	wait(t, r.enqueue(s, "a1"), r.enqueue(other, "b1"))
	set(false)
	if err := r.append(s, "lost"); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("appending to a dead store: %v", err)
	}
	// Work that doesn't ask is refused at once; work that asks gets the store's answer.
	tries := len(r.store.log())
	if _, err := s.Enqueue(t.Context(), ledger.Event{Name: "refused"}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("enqueueing after a failure: %v", err)
	}
	if n := len(r.store.log()); n != tries {
		t.Errorf("the store was asked %d times for refused work", n-tries)
	}
	if err := r.append(s, "asks"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("asking a dead store: %v", err)
	}
	if n := len(r.store.log()); n != tries+1 {
		t.Errorf("asking took %d tries, want 1", n-tries)
	}
	set(true)
	if _, err := s.Enqueue(t.Context(), ledger.Event{Name: "refused"}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("enqueueing before anyone asked: %v", err)
	}
	if err := r.append(s, "back"); err != nil {
		t.Errorf("asking the store that is back: %v", err)
	}
	wait(t, r.enqueue(s, "a2"), r.enqueue(other, "b2"))
	r.wantEvents("a", "a1 back a2")
	r.wantEvents("b", "b1 b2")
	r.verifyChain()
}

// What waits behind a lost entry is lost too: a gap is never written over.
func TestNothingIsWrittenBehindALostEntry(t *testing.T) {
	t.Parallel()
	down := true
	r := newRig(t, func(_ int, b *store.Batch) (bool, error) {
		if _, _, ok := find(b, "lead"); ok || !down {
			return true, nil
		}
		return false, store.ErrUnavailable
	}, ledger.WriterOptions{RetryFor: time.Millisecond, MaxBatchRows: 2})
	tickets := r.batch(map[string]*ledger.Stream{}, "a:a1", "a:a2", "a:a3", "a:a4", "a:a5")
	if got := outcomes(t, tickets); got != "unavailable unavailable unavailable unavailable unavailable" {
		t.Errorf("outcomes: %s", got)
	}
	r.wantEvents("a", "")
}

func TestUnknownOutcomeIsSettled(t *testing.T) {
	t.Parallel()
	for name, decide := range map[string]script{
		"was written": func(n int, _ *store.Batch) (bool, error) {
			if n == 2 {
				return true, store.ErrUnknownOutcome
			}
			return true, nil
		},
		"was not written": func(n int, _ *store.Batch) (bool, error) {
			if n == 2 {
				return false, store.ErrUnknownOutcome
			}
			return true, nil
		},
		"was written, then nobody answers for a while": func(n int, _ *store.Batch) (bool, error) {
			switch n {
			case 2:
				return true, fmt.Errorf("cut at commit: %w", store.ErrUnknownOutcome)
			case 3, 4:
				return false, store.ErrUnavailable
			case 5:
				return false, errors.New("who knows what")
			case 6:
				return false, context.DeadlineExceeded
			}
			return true, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, decide, ledger.WriterOptions{})
			streams := map[string]*ledger.Stream{}
			tickets := r.batch(streams, "a:a1", "b:b1", "a:a2")
			more := []*ledger.Ticket{r.enqueue(streams["a"], "a3"), r.enqueue(streams["b"], "b2")}
			if got := outcomes(t, append(tickets, more...)); got != "ok ok ok ok ok" {
				t.Errorf("outcomes: %s", got)
			}
			r.wantEvents("a", "a1 a2 a3")
			r.wantEvents("b", "b1 b2")
			r.verifyChain()
			log := r.store.log()
			for _, names := range log[2 : len(log)-1] {
				if fmt.Sprint(names) != fmt.Sprint(log[1]) {
					t.Errorf("while the outcome was unknown %q was sent, not %q", names, log[1])
				}
			}
		})
	}
}

func TestUnknownOutcomeForLong(t *testing.T) {
	t.Parallel()
	for _, wasWritten := range []bool{true, false} {
		t.Run(fmt.Sprint("written ", wasWritten), func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			cut := true
			r := newRig(t, func(n int, b *store.Batch) (bool, error) {
				mu.Lock()
				defer mu.Unlock()
				if _, _, ok := find(b, "a1"); !ok || !cut {
					return true, nil
				}
				return n == 2 && wasWritten, store.ErrUnknownOutcome
			}, ledger.WriterOptions{RetryFor: 3 * time.Millisecond})
			streams := map[string]*ledger.Stream{}
			tickets := r.batch(streams, "a:a1", "b:b1")
			if got := outcomes(t, tickets); got != "unknown unknown" {
				t.Errorf("outcomes: %s", got)
			}
			if _, err := streams["b"].Enqueue(t.Context(), ledger.Event{Name: "refused"}); class(err) != "lost" {
				t.Errorf("enqueueing while the outcome is unknown: %v", err)
			}
			// Others are served meanwhile; who asks for these sandboxes gets the answer of a new try.
			other := r.open("other")
			if err := r.append(other, "o1"); err != nil {
				t.Errorf("appending to another sandbox meanwhile: %v", err)
			}
			if err := r.append(streams["b"], "asks"); class(err) != "lost" {
				t.Errorf("asking while the outcome is unknown: %v", err)
			}
			mu.Lock()
			cut = false
			mu.Unlock()
			for _, id := range []string{"a", "b"} {
				if err := r.append(streams[id], id+"2"); err != nil {
					t.Errorf("asking when it can be known: %v", err)
				}
			}
			r.wantEvents("a", "a1 a2")
			r.wantEvents("b", "b1 b2")
			r.wantEvents("other", "o1")
			r.verifyChain()
		})
	}
}

func TestParkedFlightSettlesByItselfAndBeforeClose(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	answers := 0
	r := newRig(t, func(n int, _ *store.Batch) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		if n > 1 {
			answers++
		}
		return n == 1 || answers == 1, map[bool]error{true: store.ErrUnknownOutcome}[n > 1 && answers < 3]
	}, ledger.WriterOptions{RetryFor: time.Nanosecond})
	tickets := r.batch(map[string]*ledger.Stream{}, "a:a1")
	if got := outcomes(t, tickets); got != "unknown" {
		t.Errorf("outcomes: %s", got)
	}
	if err := r.w.Close(t.Context()); err != nil {
		t.Errorf("closing: %v", err)
	}
	r.wantEvents("a", "a1")
	if n := len(r.store.log()); n != 4 {
		t.Errorf("%d tries, want 4", n)
	}
}

func TestConflictFencesForGood(t *testing.T) {
	t.Parallel()
	for name, hide := range map[string]bool{"segment named": false, "nothing named": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil, ledger.WriterOptions{MaxBatchRows: 4})
			if hide {
				r.store.Ledger = namesNothing{r.store.Ledger}
			}
			streams := map[string]*ledger.Stream{"a": r.open("a"), "b": r.open("b")}
			rival, err := r.store.OpenLedger(t.Context(), store.Key{Name: "run", SandboxID: "b"})
			if err != nil || rival.Epoch < 2 {
				t.Fatal(rival, err)
			}
			tickets := r.batch(streams, "a:a1", "b:b1", "b:b2", "c:c1", "b:b3", "a:a2")
			if got := outcomes(t, tickets); got != "ok conflict conflict ok conflict ok" {
				t.Errorf("outcomes: %s", got)
			}
			tries := len(r.store.log())
			if err := r.append(streams["b"], "late"); !errors.Is(err, store.ErrConflict) {
				t.Errorf("appending after the takeover: %v", err)
			}
			if _, err := streams["b"].Enqueue(t.Context(), ledger.Event{Name: "late"}); !errors.Is(err, store.ErrConflict) {
				t.Errorf("enqueueing after the takeover: %v", err)
			}
			if n := len(r.store.log()); n != tries {
				t.Errorf("the store was asked for a fenced stream")
			}
			r.wantEvents("a", "a1 a2")
			r.wantEvents("b", "")
			r.wantEvents("c", "c1")
			again := r.open("b")
			if err := r.append(again, "anew"); err != nil {
				t.Errorf("appending after claiming again: %v", err)
			}
			r.verifyChain()
		})
	}
}

// namesNothing hides where a conflict is.
type namesNothing struct{ store.Ledger }

func (n namesNothing) Append(ctx context.Context, b *store.Batch) error {
	if err := n.Ledger.Append(ctx, b); errors.Is(err, store.ErrConflict) {
		return store.ErrConflict
	} else if err != nil {
		return err
	}
	return nil
}

func TestUnsupportedIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(int, *store.Batch) (bool, error) { return false, store.ErrUnsupported }, ledger.WriterOptions{})
	if err := r.append(r.open("a"), "x"); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("error is %v", err)
	}
	r.wantTries("a:x")
}

func TestTwoWritersOnOneFile(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, ledger.WriterOptions{})
	other, err := nativeledger.Open(r.path, nativeledger.Options{Synchronous: "off"})
	if err != nil {
		t.Fatal(err)
	}
	w := ledger.NewWriter(other, ledger.WriterOptions{})
	defer other.Close(t.Context()) //nolint:errcheck // a test's clean-up
	mine := r.open("a")
	if err = r.append(mine, "a1"); err != nil {
		t.Fatal(err)
	}
	theirs, err := w.Open(t.Context(), mine.Key())
	if err != nil {
		t.Fatal(err)
	}
	if err = theirs.Append(t.Context(), ledger.Event{Name: "a2"}); err != nil {
		t.Error(err)
	}
	if err = r.append(mine, "late"); !errors.Is(err, store.ErrConflict) {
		t.Errorf("the driver that was taken over got %v", err)
	}
	if err = w.Close(t.Context()); err != nil {
		t.Error(err)
	}
	r.wantEvents("a", "a1 a2")
}

// A commit has a deadline of its own; what it was doing then is not known.
func TestCommitDeadline(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, ledger.WriterOptions{CommitTimeout: 5 * time.Millisecond})
	s := r.open("a")
	release, began := r.store.hold()
	ticket := r.enqueue(s, "a1")
	<-began
	<-began // the first try was cut off
	close(release)
	wait(t, ticket, r.enqueue(s, "a2"))
	r.wantEvents("a", "a1 a2")
	r.verifyChain()
}
