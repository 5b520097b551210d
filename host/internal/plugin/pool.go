package plugin

import (
	"context"
	"sync"
	"time"
)

// pool hands out the instances of one plugin: those that are free first, then new ones up to a
// limit, then whatever comes back, to those who wait, in the order in which they came.
//
// An instance that is taken, and a right to make one, count as out.
type pool struct {
	limit    int
	maxQueue int

	mu     sync.Mutex
	idle   []*instance // the last one used is the first one out: its memory is warm
	out    int
	queue  []*waiter
	closed bool
	empty  chan struct{} // made by close, closed when nothing is out
}

// waiter is one caller in the queue. What it is given is sent exactly once, when it leaves the queue
// by anybody's doing but its own.
type waiter struct {
	given chan grant
}

// grant is an instance, or the right to make one, or the news that the pool is closed.
type grant struct {
	inst   *instance // nil: make one
	closed bool
}

// get returns an instance, or nil for the right to make one. Either must be given back with put.
func (p *pool) get(ctx context.Context, patience time.Duration) (*instance, *fault) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errClosed()
	}
	if n := len(p.idle); n > 0 {
		inst := p.idle[n-1]
		p.idle[n-1] = nil
		p.idle = p.idle[:n-1]
		p.out++
		p.mu.Unlock()
		return inst, nil
	}
	if p.out < p.limit {
		p.out++
		p.mu.Unlock()
		return nil, nil //nolint:nilnil // the right to make one
	}
	if len(p.queue) >= p.maxQueue {
		p.mu.Unlock()
		return nil, faultf(KindBusy, "all %d instances are busy and %d calls wait already", p.limit, p.maxQueue)
	}
	w := &waiter{given: make(chan grant, 1)}
	p.queue = append(p.queue, w)
	p.mu.Unlock()
	return p.wait(ctx, w, patience)
}

func (p *pool) wait(ctx context.Context, w *waiter, patience time.Duration) (*instance, *fault) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	var failure *fault
	select {
	case g := <-w.given:
		return g.take()
	case <-ctx.Done():
		kind, err := gaveUp(ctx.Err())
		failure = faultf(kind, "waiting for a free instance: %w", err)
	case <-timer.C:
		failure = faultf(KindBusy, "all %d instances were busy for %v", p.limit, patience)
	}
	p.mu.Lock()
	for i, other := range p.queue {
		if other == w {
			p.queue = append(p.queue[:i], p.queue[i+1:]...)
			p.mu.Unlock()
			return nil, failure
		}
	}
	p.mu.Unlock()
	return (<-w.given).take() // it was our turn after all
}

func (g grant) take() (*instance, *fault) {
	if g.closed {
		return nil, errClosed()
	}
	return g.inst, nil
}

func errClosed() *fault { return faultf(KindClosed, "the plugin is closed") }

// put gives an instance back, or with nil the place of one that is no more.
func (p *pool) put(inst *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) > 0 {
		w := p.queue[0]
		p.queue[0] = nil
		p.queue = p.queue[1:]
		w.given <- grant{inst: inst}
		return
	}
	p.out--
	if inst != nil {
		p.idle = append(p.idle, inst)
	}
	if p.closed && p.out == 0 && p.empty != nil {
		close(p.empty)
		p.empty = nil
	}
}

// close turns away everybody who comes and who waits, and returns a channel that is closed when the
// last instance is back. Calling it again returns nil.
func (p *pool) close() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	for _, w := range p.queue {
		w.given <- grant{closed: true}
	}
	p.queue = nil
	empty := make(chan struct{})
	if p.out == 0 {
		close(empty)
		return empty
	}
	p.empty = empty
	return empty
}

// drain removes the instances that are free.
func (p *pool) drain() []*instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := p.idle
	p.idle = nil
	return idle
}

// counts returns how many instances there are, being made included, and how many callers wait.
func (p *pool) counts() (instances, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle) + p.out, len(p.queue)
}
