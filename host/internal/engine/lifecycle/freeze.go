package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// stoppedFile marks, in a sandbox's directory, that its processes were
// stopped by signal: an engine that ends there leaves them so.
const stoppedFile = "stopped"

// freezeTime bounds how long processes may take to stand still.
const freezeTime = 10 * time.Second

// freeze makes a sandbox's processes stand still until thaw: by the freezer
// where there is one, which they don't notice, else by signals. When it fails
// they go on. The caller holds s.still.
func (m *Manager) freeze(ctx context.Context, s *sandbox) error {
	fctx, cancel := context.WithTimeout(ctx, freezeTime)
	defer cancel()
	group := s.record().Group
	if group.CanFreeze() {
		if err := group.Freeze(fctx); err != nil {
			return fmt.Errorf("stopping the sandbox: %w", errors.Join(err, group.Thaw(freezeTime)))
		}
		return nil
	}
	if err := os.WriteFile(filepath.Join(s.dir, stoppedFile), nil, 0o600); err != nil {
		return fmt.Errorf("stopping the sandbox: %w", err)
	}
	if err := s.shim.Stop(fctx); err != nil {
		return fmt.Errorf("stopping the sandbox: %w", errors.Join(err, m.thaw(ctx, s)))
	}
	return nil
}

// thaw undoes freeze. It does no harm to a sandbox that isn't frozen.
func (m *Manager) thaw(ctx context.Context, s *sandbox) error {
	if group := s.record().Group; group.CanFreeze() {
		if err := group.Thaw(freezeTime); err != nil {
			return fmt.Errorf("letting the sandbox go on: %w", err)
		}
	}
	mark := filepath.Join(s.dir, stoppedFile)
	if _, err := os.Stat(mark); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	tctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), freezeTime)
	defer cancel()
	if err := s.shim.Continue(tctx); err != nil {
		return fmt.Errorf("letting the sandbox go on: %w", err)
	}
	return os.Remove(mark)
}

// restore gives an adopted sandbox the state that it is recorded with: an
// earlier engine may have ended while it stopped or continued it.
func (m *Manager) restore(ctx context.Context, s *sandbox) {
	do, op := m.thaw, "thawing"
	if s.record().Paused && s.running() {
		do, op = m.freeze, "freezing"
	}
	if err := do(ctx, s); err != nil {
		m.log.Warn(op+" an adopted sandbox", "op", "adopt", "sandbox", s.record().ID, "err", err)
	}
}
