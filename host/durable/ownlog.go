package durable

import (
	"context"
	"sync"
	"time"

	"github.com/alineo-labs/alineo-host/host/store"
)

// ownLog are logs within this process, for stores that have none, and for runs that nothing is kept of. A log is
// forgotten when it was closed and a while has passed.
type ownLog struct {
	mu   sync.Mutex
	runs map[string]*ownRunLog
}

type ownRunLog struct {
	epoch  uint64
	events []store.LogEvent
	closed time.Time // zero: it is open
}

func newOwnLog() *ownLog { return &ownLog{runs: map[string]*ownRunLog{}} }

func (*ownLog) Features() store.LogFeatures { return store.LogFeatures{} }

// at returns a run's log; l.mu is held.
func (l *ownLog) at(runID string) *ownRunLog {
	run := l.runs[runID]
	if run == nil {
		for id, old := range l.runs {
			if !old.closed.IsZero() && time.Since(old.closed) > forgetAfter {
				delete(l.runs, id)
			}
		}
		run = &ownRunLog{}
		l.runs[runID] = run
	}
	return run
}

func (l *ownLog) Append(_ context.Context, batch store.LogAppend) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	run := l.at(batch.RunID)
	tail := uint64(len(run.events))
	closed := !run.closed.IsZero()
	if closed || batch.Epoch < run.epoch || batch.After != nil && *batch.After != tail {
		return 0, &store.LogError{Closed: closed, Epoch: run.epoch, Tail: tail}
	}
	run.epoch = batch.Epoch
	for _, e := range batch.Events {
		tail++
		run.events = append(run.events, store.LogEvent{Offset: tail, TS: now(), Kind: e.Kind, Data: e.Data})
	}
	return tail, nil
}

func (l *ownLog) Read(_ context.Context, runID string, opts store.LogReadOptions) (store.LogPage, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	run := l.runs[runID]
	if run == nil {
		return store.LogPage{}, nil
	}
	page := store.LogPage{Tail: uint64(len(run.events)), Epoch: run.epoch, Closed: !run.closed.IsZero()}
	from := min(opts.After, page.Tail)
	to := page.Tail
	if opts.Limit > 0 {
		to = min(to, from+uint64(opts.Limit))
	}
	page.Events = append(page.Events, run.events[from:to]...)
	page.More = to < page.Tail
	return page, nil
}

func (l *ownLog) Close(_ context.Context, runID string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if run := l.at(runID); run.closed.IsZero() {
		run.closed = time.Now()
	}
	return nil
}

func (*ownLog) Truncate(context.Context, string) error { return store.ErrUnsupported }
