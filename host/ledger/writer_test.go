package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

func TestAppendIsReadBack(t *testing.T) {
	t.Parallel()
	now := atomic.Int64{}
	now.Store(5000)
	r := newRig(t, nil, ledger.WriterOptions{Now: func() time.Time { return time.UnixMilli(now.Load()) }})
	s := r.open("a")
	if s.LastStep() != -1 {
		t.Errorf("last step of a new ledger is %d", s.LastStep())
	}
	events := []ledger.Event{
		{Step: -1, Name: "sandbox.created", Payload: json.RawMessage(`{"runId":"r"}`)},
		{Step: 3, Name: "exec.started", Payload: json.RawMessage(`{"cmd":"true","seq":3}`)},
		{Step: 2, Name: "exec.output", Payload: json.RawMessage(`{ "text" : "é" }`)},
		{Step: -1, Name: "sandbox.closed"},
	}
	for i, clock := range []int64{5000, 4000, 6000, 5999} { // the clock steps back twice
		now.Store(clock)
		if err := s.Append(t.Context(), events[i]); err != nil {
			t.Fatal(err)
		}
	}
	got := r.entries("a")
	if len(got) != len(events) {
		t.Fatalf("%d entries, want %d", len(got), len(events))
	}
	for i, ts := range []int64{5000, 5000, 6000, 6000} {
		e := got[i]
		if e.TS != ts || e.Event != events[i].Name || e.StepIndex != events[i].Step || string(e.Payload) != string(events[i].Payload) || e.Branch != nil || e.Error != nil {
			t.Errorf("entry %d is %+v, want %+v at %d", i, e, events[i], ts)
		}
	}
	if s.LastStep() != 3 {
		t.Errorf("last step is %d, want 3", s.LastStep())
	}
	// A driver with a clock that is behind takes over.
	now.Store(1000)
	again := r.open("a")
	if head := again.Head(); head.LastStep != 3 || head.MaxTS != 6000 || head.Entries != 4 || again.LastStep() != 3 {
		t.Errorf("head is %+v", head)
	}
	if err := r.append(again, "later"); err != nil {
		t.Fatal(err)
	}
	if got = r.entries("a"); got[4].TS != 6000 || got[4].Event != "later" {
		t.Errorf("the entry after the takeover is %+v", got[4])
	}
	if err := r.append(s, "late"); !errors.Is(err, store.ErrConflict) {
		t.Errorf("the driver that was taken over got %v, want a conflict", err)
	}
	r.verifyChain()
}

func TestGroupCommit(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, ledger.WriterOptions{})
	a, b := r.open("a"), r.open("b")
	release, began := r.store.hold()
	tickets := []*ledger.Ticket{r.enqueue(a, "a0")}
	<-began // the first went alone, without waiting for company
	for i := 1; i < 40; i++ {
		tickets = append(tickets, r.enqueue(a, fmt.Sprint("a", i)), r.enqueue(b, fmt.Sprint("b", i)))
	}
	release <- struct{}{}
	release <- struct{}{}
	wait(t, tickets...)
	log := r.store.log()
	if len(log) != 2 || len(log[0]) != 1 || len(log[1]) != 78 {
		t.Errorf("commits: %q", log)
	}
	var want []string
	for i := range 40 {
		want = append(want, fmt.Sprint("a", i))
	}
	r.wantEvents("a", strings.Join(want, " "))
	r.verifyChain()
}

// wait waits for tickets that must succeed.
func wait(t testing.TB, tickets ...*ledger.Ticket) {
	t.Helper()
	for i, ticket := range tickets {
		if err := ticket.Wait(t.Context()); err != nil {
			t.Fatalf("ticket %d: %v", i, err)
		}
	}
}

func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, ledger.WriterOptions{MaxBatchRows: 10, MaxBatchBytes: 1000})
	a, b := r.open("a"), r.open("b")
	release, began := r.store.hold()
	tickets := []*ledger.Ticket{r.enqueue(a, "first")}
	<-began
	for i := range 25 {
		tickets = append(tickets, r.enqueue(a, fmt.Sprint("a", i)))
	}
	for i := range 5 {
		payload := json.RawMessage(fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 400*(1+i%3))))
		ticket, err := b.Enqueue(t.Context(), ledger.Event{Name: fmt.Sprint("b", i), Payload: payload})
		if err != nil {
			t.Fatal(err)
		}
		tickets = append(tickets, ticket)
	}
	close(release)
	wait(t, tickets...)
	for _, names := range r.store.log() {
		if len(names) > 10 {
			t.Errorf("a commit of %d entries", len(names))
		}
	}
	for _, s := range r.store.applied {
		size := 0
		for _, e := range s.Entries {
			size += len(e.Event) + len(e.Payload)
		}
		if size > 1000 && len(s.Entries) > 1 {
			t.Errorf("a commit of %d bytes in %d entries", size, len(s.Entries))
		}
	}
	r.wantEvents("b", "b0 b1 b2 b3 b4")
	if n := len(r.entries("a")); n != 26 {
		t.Errorf("%d entries of a", n)
	}
	r.verifyChain()
}

func TestBackPressure(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, ledger.WriterOptions{MaxPendingBytes: 3000})
	s := r.open("a")
	release, began := r.store.hold()
	first := r.enqueue(s, "e")
	<-began
	var tickets []*ledger.Ticket
	for {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		ticket, err := s.Enqueue(ctx, ledger.Event{Name: "e", Payload: json.RawMessage(`{}`)})
		cancel()
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			break
		}
		if tickets = append(tickets, ticket); len(tickets) > 20 {
			t.Fatal("more than 3000 bytes wait")
		}
	}
	if len(tickets) < 5 {
		t.Errorf("only %d entries were let in", len(tickets))
	}
	// One that waits is let in when there is room, also one that is larger than everything.
	let := make(chan error)
	go func() {
		let <- s.Append(t.Context(), ledger.Event{Name: "big", Payload: json.RawMessage(`"` + strings.Repeat("x", 5000) + `"`)})
	}()
	close(release)
	if err := <-let; err != nil {
		t.Errorf("the entry that waited: %v", err)
	}
	wait(t, append(tickets, first)...)
	if n := len(r.entries("a")); n != len(tickets)+2 {
		t.Errorf("%d entries, want %d", n, len(tickets)+2)
	}
}

func TestCallerGivesUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, ledger.WriterOptions{})
	s := r.open("a")
	release, began := r.store.hold()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() { result <- s.Append(ctx, ledger.Event{Name: "mine", Payload: json.RawMessage(`1`)}) }()
	<-began
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who gave up got %v", err)
	}
	if err := s.Append(ctx, ledger.Event{Name: "never"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who had given up got %v", err)
	}
	close(release)
	if err := r.append(s, "next"); err != nil {
		t.Fatal(err)
	}
	r.wantEvents("a", "mine next")
}

// An idle writer commits on the goroutine of who appends. When that one does not come back from the store,
// the entry is the committer's.
func TestCallerCommits(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(n int, _ *store.Batch) (bool, error) {
		if n == 2 {
			panic("the store has a fault")
		}
		return true, nil
	}, ledger.WriterOptions{})
	s := r.open("a")
	if err := r.append(s, "x.one"); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was not the caller's")
			}
		}()
		_ = r.append(s, "x.two")
	}()
	if err := r.append(s, "x.three"); err != nil {
		t.Fatal(err)
	}
	r.wantEvents("a", "x.one x.two x.three")
	r.verifyChain()
}

func TestPayloadsAreChecked(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, ledger.WriterOptions{})
	s := r.open("a")
	for _, ev := range []ledger.Event{
		{Name: "x", Payload: json.RawMessage(`{`)},
		{Name: "x", Payload: json.RawMessage{}},
		{Name: "x", Payload: json.RawMessage("\"\xff\"")},
		{Name: "x", Payload: json.RawMessage(`{"a":1,"a":1}`)},
		{Name: "", Payload: json.RawMessage(`1`)},
		{Name: "a\x00"},
	} {
		if err := s.Append(t.Context(), ev); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("appending %q with %q: %v, want ErrInvalid", ev.Name, ev.Payload, err)
		}
		if _, err := s.Enqueue(t.Context(), ev); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("enqueueing %q with %q: %v, want ErrInvalid", ev.Name, ev.Payload, err)
		}
	}
	if err := r.append(s, "fine"); err != nil {
		t.Fatal(err)
	}
	r.wantTries("a:fine")
	for _, key := range []store.Key{{}, {Name: "n"}, {SandboxID: "s"}, {Name: "\xff", SandboxID: "s"}} {
		if _, err := r.w.Open(t.Context(), key); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("opening %+v: %v, want ErrInvalid", key, err)
		}
	}
}

func TestCloseDrains(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, ledger.WriterOptions{MaxBatchRows: 3})
	s := r.open("a")
	release, began := r.store.hold()
	var tickets []*ledger.Ticket
	for i := range 10 {
		tickets = append(tickets, r.enqueue(s, fmt.Sprint("e", i)))
	}
	<-began
	closed := make(chan error)
	go func() { closed <- r.w.Close(t.Context()) }()
	close(release)
	if err := <-closed; err != nil {
		t.Errorf("closing: %v", err)
	}
	wait(t, tickets...)
	r.wantEvents("a", "e0 e1 e2 e3 e4 e5 e6 e7 e8 e9")
	if err := r.append(s, "late"); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("appending after Close: %v", err)
	}
	if _, err := s.Enqueue(t.Context(), ledger.Event{Name: "late"}); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("enqueueing after Close: %v", err)
	}
	if _, err := r.w.Open(t.Context(), store.Key{Name: "run", SandboxID: "b"}); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("opening after Close: %v", err)
	}
	if err := r.w.Close(t.Context()); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

func TestCloseGivesUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, ledger.WriterOptions{MaxPendingBytes: 1500})
	s := r.open("a")
	_, began := r.store.hold()
	tickets := []*ledger.Ticket{r.enqueue(s, "stuck")}
	<-began
	for range 4 {
		tickets = append(tickets, r.enqueue(s, "waits"))
	}
	outside := make(chan error)
	go func() { outside <- r.append(s, "outside") }()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err := r.w.Close(ctx)
	if !errors.Is(err, ledger.ErrClosed) || !strings.Contains(err.Error(), "5 entries") {
		t.Errorf("closing over a stuck store: %v", err)
	}
	for i, ticket := range tickets {
		if err := ticket.Wait(t.Context()); !errors.Is(err, ledger.ErrClosed) {
			t.Errorf("ticket %d: %v, want ErrClosed", i, err)
		}
	}
	if err := <-outside; !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("the one before the gate: %v, want ErrClosed", err)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, ledger.WriterOptions{MaxBatchRows: 16, MaxPendingBytes: 8000})
	const sandboxes, callers, each = 5, 4, 25
	var group sync.WaitGroup
	for i := range sandboxes {
		s := r.open(fmt.Sprint("s", i))
		for c := range callers {
			group.Go(func() {
				var tickets []*ledger.Ticket
				for n := range each {
					ev := ledger.Event{Step: int64(c), Name: "e", Payload: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))}
					if n%3 == 0 {
						if err := s.Append(t.Context(), ev); err != nil {
							t.Error(err)
						}
						continue
					}
					ticket, err := s.Enqueue(t.Context(), ev)
					if err != nil {
						t.Error(err)
						return
					}
					tickets = append(tickets, ticket)
				}
				wait(t, tickets...)
			})
		}
	}
	group.Wait()
	for i := range sandboxes {
		next, last := [callers]int{}, int64(0)
		for _, e := range r.entries(fmt.Sprint("s", i)) {
			if want := fmt.Sprintf(`{"n":%d}`, next[e.StepIndex]); string(e.Payload) != want {
				t.Fatalf("sandbox %d, caller %d: %s, want %s", i, e.StepIndex, e.Payload, want)
			}
			next[e.StepIndex]++
			if e.TS < last {
				t.Errorf("time goes back from %d to %d", last, e.TS)
			}
			last = e.TS
		}
		if next != [callers]int{each, each, each, each} {
			t.Errorf("sandbox %d has %v", i, next)
		}
	}
	r.verifyChain()
}
