package durable

import (
	"context"
	"errors"
	"time"

	"github.com/alineo-labs/alineo-host/host/store"
)

// presence is what this host has to do with a run: who views it here, and the driver.
type presence struct {
	viewers int
	driver  *driver       // nil when it isn't driven here
	news    chan struct{} // closed, and replaced, when there may be more to read
	keeping bool          // the keeper runs
}

// at returns a run's presence; r.mu is held.
func (r *Runs) at(runID string) *presence {
	p := r.local[runID]
	if p == nil {
		p = &presence{news: make(chan struct{})}
		r.local[runID] = p
	}
	return p
}

// drop forgets a presence that nothing is left of; r.mu is held.
func (r *Runs) drop(runID string) {
	if p := r.local[runID]; p != nil && p.viewers == 0 && p.driver == nil && !p.keeping {
		delete(r.local, runID)
	}
}

// wake tells the viewers here that there may be more to read.
func (r *Runs) wake(runID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.local[runID]; p != nil {
		close(p.news)
		p.news = make(chan struct{})
	}
}

// enter counts a viewer in. The first one says that the run is viewed, and sees to it that somebody
// drives it.
func (r *Runs) enter(runID string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	p := r.at(runID)
	p.viewers++
	if !p.keeping {
		p.keeping = true
		r.busy.Go(func() { r.keep(runID) })
	}
	return nil
}

// leave counts a viewer out. The last one's leaving is written down by the keeper.
func (r *Runs) leave(runID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.local[runID]
	if p == nil {
		return
	}
	p.viewers--
	close(p.news)
	p.news = make(chan struct{})
	r.drop(runID)
}

// keep does what viewers need as long as there are some: the record says that the run is viewed, also when
// another host's last viewer said otherwise, and a run whose driver died is taken over. When the last one
// has left, it says so.
func (r *Runs) keep(runID string) {
	every := r.opts.Lease / 3
	for {
		run, ended := r.tend(runID)
		r.mu.Lock()
		p := r.local[runID]
		news, viewed := p.news, p.viewers > 0
		if ended || !viewed || r.ctx.Err() != nil {
			p.keeping = false
			r.drop(runID)
			r.mu.Unlock()
			if !ended {
				r.detach(runID, run)
			}
			// Somebody may have come while it was written down that nobody is there.
			r.mu.Lock()
			p = r.local[runID]
			again := !ended && r.ctx.Err() == nil && p != nil && p.viewers > 0 && !p.keeping
			if again {
				p.keeping = true
			}
			r.mu.Unlock()
			if again {
				continue
			}
			return
		}
		r.mu.Unlock()
		timer := time.NewTimer(every/2 + jitter(every))
		r.awaitLeaving(runID, news, timer)
		timer.Stop()
	}
}

// awaitLeaving waits until the timer fires or nobody views any more.
func (r *Runs) awaitLeaving(runID string, news chan struct{}, timer *time.Timer) {
	for {
		select {
		case <-timer.C:
			return
		case <-r.ctx.Done():
			return
		case <-news:
		}
		r.mu.Lock()
		p := r.local[runID]
		viewed := p != nil && p.viewers > 0
		if p != nil {
			news = p.news
		}
		r.mu.Unlock()
		if !viewed {
			return
		}
	}
}

// tend is one round of keep. It returns the record as far as it could be read, and whether the run has
// ended.
func (r *Runs) tend(runID string) (run *store.Run, ended bool) {
	found, err := r.Get(r.ctx, runID)
	if err != nil {
		r.log.Debug("looking after a run", "run", runID, "err", err)
		return nil, errors.Is(err, store.ErrNotFound)
	}
	if found.Status.Terminal() {
		return &found, true
	}
	r.mu.Lock()
	p := r.local[runID]
	viewed := p != nil && p.viewers > 0
	driven := p != nil && p.driver != nil
	r.mu.Unlock()
	if viewed && found.DetachedSince != nil {
		patch := store.RunPatch{Clear: []store.RunField{store.FieldDetachedSince}}
		if _, err := r.stores.Runs.Patch(r.ctx, runID, patch); err != nil {
			r.log.Warn("it could not be written down that a run is viewed", "run", runID, "err", err)
		}
	}
	if viewed && !driven && found.Status == store.RunRunning {
		if err := r.takeOver(r.ctx, runID, false); err != nil && !errors.Is(err, ErrDriven) && !errors.Is(err, ErrUnfenced) {
			r.log.Debug("a run was not taken over", "run", runID, "err", err)
		}
	}
	return &found, false
}

// detach writes down that nobody views a run from here any more.
func (r *Runs) detach(runID string, run *store.Run) {
	if r.opts.Keep == KeepNothing {
		r.cancelLocal(runID, errCanceled)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), r.opts.Lease)
	defer cancel()
	patch := store.RunPatch{Now: []store.RunField{store.FieldDetachedSince}}
	if run != nil && run.SandboxKey == nil {
		return // it never had a sandbox of ours
	}
	if _, err := r.stores.Runs.Patch(ctx, runID, patch); err != nil {
		r.log.Warn("it could not be written down that a run is not viewed any more", "run", runID, "err", err)
	}
}
