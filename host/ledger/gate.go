package ledger

import (
	"context"
	"slices"
	"sync"
)

// gate bounds what waits to be written. Who asks first is let in first.
type gate struct {
	mu      sync.Mutex
	limit   int64
	free    int64
	closed  bool
	waiters []*gateWaiter
}

type gateWaiter struct {
	n    int64
	in   bool // guarded by the gate's mu
	done chan struct{}
}

// enter waits for room. More than the gate's limit counts as the limit.
func (g *gate) enter(ctx context.Context, n int64) error {
	n = min(n, g.limit)
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return ErrClosed
	}
	if len(g.waiters) == 0 && g.free >= n {
		g.free -= n
		g.mu.Unlock()
		return nil
	}
	w := &gateWaiter{n: n, done: make(chan struct{})}
	g.waiters = append(g.waiters, w)
	g.mu.Unlock()
	select {
	case <-w.done:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.in {
		return nil
	}
	if i := slices.Index(g.waiters, w); i >= 0 {
		g.waiters = slices.Delete(g.waiters, i, i+1)
		g.admit()
		return ctx.Err()
	}
	return ErrClosed
}

// leave gives room back, a sum of entries that were let in.
func (g *gate) leave(n int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.free += n
	g.admit()
}

// cost is what enter took for n.
func (g *gate) cost(n int64) int64 { return min(n, g.limit) }

func (g *gate) admit() {
	for len(g.waiters) > 0 && g.free >= g.waiters[0].n {
		w := g.waiters[0]
		g.waiters = slices.Delete(g.waiters, 0, 1)
		g.free -= w.n
		w.in = true
		close(w.done)
	}
}

// close turns away everyone who waits and who comes later.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for _, w := range g.waiters {
		close(w.done)
	}
	g.waiters = nil
}
