package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/alineo-labs/alineo-host/host/internal/engine/cgroup"
	"github.com/alineo-labs/alineo-host/host/internal/engine/layer"
	"github.com/alineo-labs/alineo-host/host/internal/engine/shim"
)

// site is a sandbox that has only begun: a directory, a control group and processes that wait.
type site struct {
	id    string
	dir   string
	group cgroup.Group
	begun *shim.Begun
}

// begin begins a sandbox, in a directory where nobody looks for one.
func (m *Manager) begin(ctx context.Context) (_ *site, err error) {
	id := uuid.NewString()
	s := &site{id: id, dir: m.path(sparesDir, id)}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("making sandbox %s: %w", id, err), s.remove(ctx))
		}
	}()
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := newLock(filepath.Join(s.dir, shim.LockFile))
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Close() }()
	if s.group, err = m.opts.Groups.Create(id); err != nil {
		return nil, err
	}
	s.begun, err = shim.Begin(m.opts.Program, lock, shim.Seed{
		ID: id, Dir: s.dir, Level: m.opts.Level, UserNamespace: m.opts.UserNamespace, Group: s.group,
	})
	if err == nil && m.isolated() {
		err = m.makeLayers(s.dir) // while they start
	}
	return s, err
}

// remove ends what has begun and removes what there is of it.
func (s *site) remove(ctx context.Context) error {
	if s.begun != nil {
		s.begun.Discard()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(s.group.Remove(ctx), layer.Remove(s.dir))
}

const (
	// spareAfter is how long no sandbox is made before the next one is begun: what has just been made
	// comes first.
	spareAfter = 5 * time.Millisecond
	// spareAge is how long a spare is kept. It takes some 10 MiB, and its mount namespace keeps the
	// machine's mounts as they were.
	spareAge = 5 * time.Minute
)

// spares keeps one sandbox that has begun, for the next request: starting its processes is most of what
// making a sandbox takes. A request begins one while it looks for what else it needs; a server begins the
// first when it starts, and anybody else the next with the second sandbox, so that who wants one pays for
// one.
type spares struct {
	manager *Manager

	mu        sync.Mutex
	eager     bool // somebody said that sandboxes will be wanted
	asked     int  // how many sandboxes were asked for
	making    int  // how many of them are being made
	closed    bool
	timer     *time.Timer // makes the next one, or ends the one that there is
	beginning chan struct{}
	awaited   bool // somebody waits for the one that is beginning
	kept      *site
	mounts    *mountTable // as it was when kept was begun
	jobs      sync.WaitGroup
}

// take returns the spare, or begins one; ahead tells which. done must follow.
func (p *spares) take(ctx context.Context) (_ *site, ahead bool, _ error) {
	p.mu.Lock()
	p.asked++
	p.making++
	if p.timer != nil {
		p.timer.Stop()
	}
	if p.kept == nil && p.beginning != nil && !p.awaited {
		// It began before us.
		begun := p.beginning
		p.awaited = true
		p.mu.Unlock()
		select {
		case <-begun:
		case <-ctx.Done():
		}
		p.mu.Lock()
		p.awaited = false
	}
	kept, mounts := p.kept, p.mounts
	p.kept, p.mounts = nil, nil
	p.mu.Unlock()
	if kept != nil {
		changed := mounts.changed()
		mounts.close()
		if !changed && !kept.begun.Ended() {
			return kept, true, nil
		}
		if !p.run(func() { p.drop(kept) }) {
			p.drop(kept)
		}
	}
	fresh, err := p.manager.begin(ctx)
	return fresh, false, err
}

// done tells that what was taken is a sandbox, or never will be.
func (p *spares) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.making--
	if p.making == 0 && (p.asked > 1 || p.eager) && p.kept == nil && !p.closed && p.manager.isolated() {
		p.timer = time.AfterFunc(spareAfter, p.ahead)
	}
}

// ahead begins the next sandbox, unless there is one that has begun or begins.
func (p *spares) ahead() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept != nil || p.beginning != nil || p.closed || !p.manager.isolated() {
		return
	}
	p.beginning = make(chan struct{})
	p.jobs.Go(p.refill)
}

// run does something beside that close waits for; false: it is too late for that.
func (p *spares) run(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.jobs.Go(f)
	}
	return !p.closed
}

// refill is ahead's.
func (p *spares) refill() {
	s, mounts, err := p.beginOne()
	if err != nil {
		p.manager.log.Warn("beginning a sandbox ahead", "op", "create", "err", err)
	}
	p.mu.Lock()
	close(p.beginning)
	p.beginning = nil
	if s != nil && !p.closed {
		p.kept, p.mounts = s, mounts
		p.timer = time.AfterFunc(spareAge, func() { p.run(p.expire) })
		s = nil
	}
	p.mu.Unlock()
	if s != nil {
		mounts.close()
		p.drop(s)
	}
}

func (p *spares) beginOne() (*site, *mountTable, error) {
	mounts, err := readMountTable()
	if err != nil {
		return nil, nil, err
	}
	s, err := p.manager.begin(p.manager.ctx)
	if err != nil {
		mounts.close()
		return nil, nil, err
	}
	return s, mounts, nil
}

// expire ends a spare that nobody wanted.
func (p *spares) expire() {
	p.mu.Lock()
	s, mounts := p.kept, p.mounts
	p.kept, p.mounts = nil, nil
	p.mu.Unlock()
	if s != nil {
		mounts.close()
		p.drop(s)
	}
}

func (p *spares) drop(s *site) {
	if err := s.remove(context.Background()); err != nil {
		p.manager.log.Warn("removing a sandbox that was begun ahead", "op", "remove", "sandbox", s.id, "err", err)
	}
}

// close ends the spare. Sandboxes that are being made go on.
func (p *spares) close() {
	p.mu.Lock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	p.jobs.Wait()
	p.expire()
}
