package ledger

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

func waiting(g *gate) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiters)
}

// until polls, because that somebody waits is no event.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(100 * time.Microsecond)
	}
}

func TestGateIsFair(t *testing.T) {
	t.Parallel()
	g := &gate{limit: 10, free: 10}
	if err := g.enter(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var order []int64
	var group sync.WaitGroup
	for i, n := range []int64{8, 1, 99} { // the small one must not pass the large one, nor starve it
		group.Go(func() {
			if err := g.enter(t.Context(), n); err != nil {
				t.Error(err)
			}
			mu.Lock()
			order = append(order, n)
			mu.Unlock()
		})
		until(t, "it waits", func() bool { return waiting(g) == i+1 })
	}
	entered := func() int { mu.Lock(); defer mu.Unlock(); return len(order) }
	g.leave(7)
	if entered() != 0 || waiting(g) != 3 {
		t.Errorf("%d entered although the first does not fit", entered())
	}
	g.leave(1)
	until(t, "the first enters", func() bool { return entered() == 1 })
	g.leave(2)
	until(t, "the second enters", func() bool { return entered() == 2 })
	g.leave(9)
	group.Wait()
	if order[0] != 8 || order[1] != 1 || order[2] != 99 || g.free != 0 {
		t.Errorf("order %v, free %d", order, g.free)
	}
}

func TestGateWaiterGivesUp(t *testing.T) {
	t.Parallel()
	g := &gate{limit: 10, free: 0}
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- g.enter(ctx, 10) }()
	until(t, "the first waits", func() bool { return waiting(g) == 1 })
	go func() { second <- g.enter(t.Context(), 2) }()
	until(t, "both wait", func() bool { return waiting(g) == 2 })
	g.leave(3)
	cancel() // makes way for the one behind it
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first got %v", err)
	}
	if err := <-second; err != nil {
		t.Errorf("the second got %v", err)
	}
	third := make(chan error, 1)
	go func() { third <- g.enter(t.Context(), 2) }()
	until(t, "the third waits", func() bool { return waiting(g) == 1 })
	g.close()
	if err := <-third; !errors.Is(err, ErrClosed) {
		t.Errorf("the third got %v", err)
	}
	if err := g.enter(t.Context(), 1); !errors.Is(err, ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}

func TestTicketCanBeAskedTwice(t *testing.T) {
	t.Parallel()
	ticket, failure := newTicket(), errors.New("failure")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ticket.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting with an ended context: %v", err)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if err := ticket.Wait(t.Context()); !errors.Is(err, failure) {
				t.Errorf("waiting: %v", err)
			}
		})
	}
	ticket.settle(failure)
	group.Wait()
	if err := ticket.Wait(ctx); !errors.Is(err, failure) {
		t.Errorf("waiting again: %v", err) // what is known is said, context or not
	}
}
