package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/journal"
	"github.com/alineo-labs/alineo-host/host/store"
)

const (
	// pageEvents and pageBytes bound what a viewer holds.
	pageEvents = 256
	pageBytes  = 1 << 20
	// settleEvery is how often a viewer with nothing to read looks whether the run has ended without its log
	// being closed, as when its driver died in between.
	settleEvery = 2 * time.Second
)

// AttachOptions say where to begin.
type AttachOptions struct {
	// After is the offset of the last event that is known already; 0 begins with the first.
	After uint64
	// Live begins with what comes next, whatever After says.
	Live bool
}

// Viewer reads a run's events. Next is for one goroutine, Close for any. It holds a page at most: one that
// isn't read costs nobody anything.
type Viewer struct {
	r     *Runs
	run   store.Run
	after uint64
	page  []store.LogEvent

	present bool // counted
	once    sync.Once
	closed  chan struct{}
	machine Machine // of a run whose content isn't kept
}

// Attach views a run, from an offset on. While it is viewed, it isn't detached, and this host takes it
// over when its driver dies. Close the viewer: the last one to leave starts the time after which a sweep
// ends the run.
//
// A run that isn't known is store.ErrNotFound. One that has ended is told to its end.
func (r *Runs) Attach(ctx context.Context, runID string, opts AttachOptions) (*Viewer, error) {
	run, err := r.Get(ctx, runID)
	if err != nil {
		return nil, fmt.Errorf("attaching: %w", err)
	}
	v := &Viewer{r: r, run: run, after: opts.After, closed: make(chan struct{})}
	if opts.Live {
		page, err := r.stores.Log.Read(ctx, runID, store.LogReadOptions{Limit: 1})
		if err != nil {
			return nil, fmt.Errorf("attaching to run %q: %w", runID, err)
		}
		v.after = page.Tail
	}
	if !run.Status.Terminal() {
		if err := r.enter(runID); err != nil {
			return nil, fmt.Errorf("attaching to run %q: %w", runID, err)
		}
		v.present = true
	}
	return v, nil
}

// Run returns the record as it was at Attach.
func (v *Viewer) Run() store.Run { return v.run }

// Close leaves. It is idempotent, and returns nil.
func (v *Viewer) Close() error {
	v.once.Do(func() {
		close(v.closed)
		if v.present {
			v.r.leave(v.run.ID)
		}
	})
	return nil
}

// Next waits for the next event. It returns io.EOF when the log is closed and all of it was told, ErrClosed
// when the viewer or its host was, and ErrTruncated when retention has removed what it wanted.
func (v *Viewer) Next(ctx context.Context) (Event, error) {
	fail := func(err error) (Event, error) {
		if errors.Is(err, io.EOF) {
			return Event{}, io.EOF
		}
		return Event{}, fmt.Errorf("reading run %q after event %d: %w", v.run.ID, v.after, err)
	}
	if len(v.page) == 0 {
		if err := v.fetch(ctx); err != nil {
			return fail(err)
		}
	}
	stored := v.page[0]
	event := Event{Offset: stored.Offset, TS: stored.TS, Kind: stored.Kind, Data: stored.Data}
	if stored.Kind == eventRange {
		if err := v.resolve(ctx, &event); err != nil {
			return fail(err)
		}
	}
	v.page = v.page[1:]
	v.after = stored.Offset
	return event, nil
}

// fetch waits for a page with something on it.
func (v *Viewer) fetch(ctx context.Context) error {
	settled := time.Now()
	for {
		news, local := v.news()
		page, err := v.r.stores.Log.Read(ctx, v.run.ID, store.LogReadOptions{After: v.after, Limit: pageEvents, MaxBytes: pageBytes})
		switch {
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case page.Dropped > v.after:
			return fmt.Errorf("%w: those up to %d", ErrTruncated, page.Dropped)
		case len(page.Events) > 0:
			v.page = page.Events
			return nil
		case page.Closed:
			return io.EOF
		}
		wait := v.r.opts.ViewPoll
		if local {
			wait = settleEvery // who writes here says so
		}
		timer := time.NewTimer(wait)
		select {
		case <-news:
		case <-timer.C:
		case <-v.closed:
			err = ErrClosed
		case <-v.r.ctx.Done():
			err = ErrClosed
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		timer.Stop()
		if err != nil {
			return err
		}
		if time.Since(settled) >= settleEvery {
			settled = time.Now()
			if err := v.settle(ctx); err != nil {
				return err
			}
		}
	}
}

// news returns what is closed when there may be more, and whether the run is driven here.
func (v *Viewer) news() (<-chan struct{}, bool) {
	v.r.mu.Lock()
	defer v.r.mu.Unlock()
	p := v.r.local[v.run.ID]
	if p == nil {
		return nil, false
	}
	return p.news, p.driver != nil
}

// settle closes the log of a run that has ended.
func (v *Viewer) settle(ctx context.Context) error {
	run, found, err := v.r.stores.Runs.Get(ctx, v.run.ID)
	if err != nil {
		return err
	}
	if found && !run.Status.Terminal() {
		return nil
	}
	return v.r.stores.Log.Close(ctx, v.run.ID)
}

// resolve gets the output of an event that has only positions from the sandbox.
func (v *Viewer) resolve(ctx context.Context, event *Event) error {
	var at ranged
	if err := decode(event.Data, &at); err != nil {
		return err
	}
	event.Kind, event.Data = EventOutput, nil
	data, err := v.content(ctx, at)
	if err != nil && v.machine != nil && ctx.Err() == nil {
		// Was it the sandbox that ended, or the connection?
		if _, openErr := v.r.opts.Machines.Open(ctx, v.machine.ID()); errors.Is(openErr, ErrGone) {
			err = openErr
		}
	}
	switch {
	case errors.Is(err, ErrGone):
		event.Lost = true
		return nil
	case err != nil:
		return err
	}
	event.Data, event.Lost = data, int64(len(data)) < at.To-at.From
	return nil
}

func (v *Viewer) content(ctx context.Context, at ranged) ([]byte, error) {
	if v.machine == nil {
		machine, err := v.r.machineOf(ctx, v.run)
		if err != nil {
			return nil, err
		}
		v.machine = machine
	}
	// No sentinel is looked for, so no secret is needed.
	j, err := journal.New(v.machine, v.r.opts.JournalDir, v.run.ID, "")
	if err != nil {
		return nil, err
	}
	return j.Range(ctx, at.From, at.To)
}
