package lifecycle

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// stoppedFile marks, in a sandbox's directory, that its processes were
// stopped by signal: an engine that ends there leaves them so.
const stoppedFile = "stopped"

// freezeTime bounds how long processes may take to stand still.
const freezeTime = 10 * time.Second

// freeze makes a sandbox's processes stand still until thaw is called: by the
// freezer where there is one, which they don't notice, else by signals.
func (m *Manager) freeze(ctx context.Context, s *sandbox) (thaw func() error, err error) {
	fctx, cancel := context.WithTimeout(ctx, freezeTime)
	defer cancel()
	group := s.record().Group
	if group.CanFreeze() {
		if err := group.Freeze(fctx); err != nil {
			_ = group.Thaw()
			return nil, fmt.Errorf("stopping the sandbox: %w", err)
		}
		return group.Thaw, nil
	}
	mark := filepath.Join(s.dir, stoppedFile)
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return nil, fmt.Errorf("stopping the sandbox: %w", err)
	}
	thaw = func() error {
		tctx, cancel := context.WithTimeout(ctx, freezeTime)
		defer cancel()
		if err := s.shim.Continue(tctx); err != nil {
			return fmt.Errorf("letting the sandbox go on: %w", err)
		}
		return os.Remove(mark)
	}
	if err := s.shim.Stop(fctx); err != nil {
		_ = thaw()
		return nil, fmt.Errorf("stopping the sandbox: %w", err)
	}
	return thaw, nil
}

// unfreeze lets a sandbox go on that an earlier engine may have left stopped.
func (m *Manager) unfreeze(ctx context.Context, s *sandbox) {
	if s.rec.Group.CanFreeze() {
		if err := s.rec.Group.Thaw(); err != nil {
			m.log.Warn("thawing an adopted sandbox", "op", "adopt", "sandbox", s.rec.ID, "err", err)
		}
	}
	mark := filepath.Join(s.dir, stoppedFile)
	if _, err := os.Stat(mark); err != nil {
		return
	}
	if err := s.shim.Continue(ctx); err != nil {
		m.log.Warn("continuing an adopted sandbox", "op", "adopt", "sandbox", s.rec.ID, "err", err)
		return
	}
	_ = os.Remove(mark) // the next engine continues it once more
}
