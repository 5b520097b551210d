package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/engine/cgroup"
	"github.com/alineo-labs/alineo-host/host/internal/engine/layer"
	"github.com/alineo-labs/alineo-host/host/internal/engine/shim"
)

// bootTime is how long a sandbox that is being made when its engine ends may
// take until its shim answers, unless Options say otherwise.
const bootTime = 15 * time.Second

// adoptSandboxes takes over the sandboxes whose shims live and removes the
// others. One sandbox's trouble doesn't hold up the rest.
func (m *Manager) adoptSandboxes(ctx context.Context) error {
	names, err := subdirectories(m.path(sandboxesDir))
	if err != nil {
		return err
	}
	for _, id := range names {
		err := m.adopt(ctx, id)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err != nil {
			m.log.Error("adopting a sandbox", "op", "adopt", "sandbox", id, "err", err)
		}
	}
	return nil
}

// sweepSpares removes what was begun and never became a sandbox. What still ends by itself does.
func (m *Manager) sweepSpares(ctx context.Context) error {
	names, err := subdirectories(m.path(sparesDir))
	if err != nil {
		return err
	}
	for _, id := range names {
		if err := m.sweep(ctx, sparesDir, id); err != nil {
			m.log.Error("removing what was only begun", "op", "adopt", "sandbox", id, "err", err)
		}
	}
	return nil
}

func (m *Manager) adopt(ctx context.Context, id string) error {
	if strings.HasPrefix(id, ".") {
		return m.sweep(ctx, sandboxesDir, id)
	}
	lock, err := tryLock(m.path(sandboxesDir, id, shim.LockFile))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		if lock != nil {
			_ = lock.Close()
		}
		m.log.Info("removing a dead sandbox", "op", "adopt", "sandbox", id)
		return m.removeDead(ctx, id)
	}
	if !errors.Is(err, errLocked) {
		return err
	}
	var rec record
	if err := readRecord(m.path(sandboxesDir, id, sandboxRecord), &rec); err != nil {
		if _, gone := os.Lstat(m.path(sandboxesDir, id)); errors.Is(gone, fs.ErrNotExist) {
			return nil // it ends just now, by itself
		}
		return fmt.Errorf("sandbox %s lives but can't be known: %w", id, err)
	}
	s := m.newSandbox(rec)
	state, err := m.firstState(ctx, s)
	switch {
	case errors.Is(err, errEnded):
		m.log.Info("sandbox ended before it was adopted", "op", "adopt", "sandbox", id)
		return m.removeDead(ctx, id)
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		// It lives, and what it stands on must not be taken away.
		m.log.Warn("a sandbox doesn't say how it is", "op", "adopt", "sandbox", id, "err", err)
	default:
		s.became(state)
		m.restore(ctx, s)
	}
	m.mu.Lock()
	m.sandboxes[id] = s
	m.mu.Unlock()
	m.watch(s)
	m.log.Info("sandbox adopted", "op", "adopt", "sandbox", id)
	return nil
}

var errEnded = errors.New("its shim has ended")

// firstState asks a shim that may still be starting.
func (m *Manager) firstState(ctx context.Context, s *sandbox) (shim.State, error) {
	ctx, cancel := context.WithTimeout(ctx, m.opts.AdoptWithin)
	defer cancel()
	for {
		st, err := s.shim.State(ctx)
		if err == nil {
			return st, nil
		}
		if s.shimEnded() {
			return shim.State{}, errEnded
		}
		if !wait(ctx, askAgain) {
			return shim.State{}, err
		}
	}
}

// askAgain is after how long a shim that didn't answer is asked again.
const askAgain = 10 * time.Millisecond

// wait tells whether the time has passed before ctx ended.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// sweep removes a directory that was being made or removed, unless somebody
// still is at it.
func (m *Manager) sweep(ctx context.Context, in, name string) error {
	dir := m.path(in, name)
	lock, err := tryLock(filepath.Join(dir, shim.LockFile))
	if errors.Is(err, errLocked) {
		return nil
	}
	if lock != nil {
		defer func() { _ = lock.Close() }()
	}
	if in == sparesDir {
		m.removeGroup(ctx, name, m.opts.Groups.Named(name))
	}
	return layer.Remove(dir)
}

// removeGroup removes a dead sandbox's control group.
func (m *Manager) removeGroup(ctx context.Context, id string, g cgroup.Group) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := g.Remove(ctx); err != nil {
		m.log.Warn("removing a control group", "op", "remove", "sandbox", id, "err", err)
	}
}

// removeDead removes what a sandbox without a shim left behind. Its mounts
// went with its processes, and those with the shim.
func (m *Manager) removeDead(ctx context.Context, id string) error {
	dir := m.path(sandboxesDir, id)
	rec := record{Group: m.opts.Groups.Named(id)}
	_ = readRecord(filepath.Join(dir, sandboxRecord), &rec) // it says where the group is, if it can be read
	m.removeGroup(ctx, id, rec.Group)
	gone := m.path(sandboxesDir, ".gone-"+id)
	if err := os.Rename(dir, gone); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		gone = dir
	}
	return layer.Remove(gone)
}
