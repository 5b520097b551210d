package lifecycle

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/engine/layer"
)

// baseAge is how long what we know of the machine's private files counts. A
// file that becomes private is hidden from new sandboxes after this time at
// the latest.
const baseAge = time.Minute

// baseCache keeps the base layer that new sandboxes get.
type baseCache struct {
	manager *Manager
	mu      sync.Mutex
	name    string
	checked time.Time
}

// current returns the name of a base layer that was right less than baseAge
// ago. A layer that an earlier engine made counts, by its time.
func (b *baseCache) current() (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.name != "" && time.Since(b.checked) < baseAge {
		return b.name, nil
	}
	if b.name == "" && b.recall() {
		return b.name, nil
	}
	started := time.Now()
	plan, err := layer.PlanBase(b.manager.opts.Copied)
	if err != nil {
		return "", fmt.Errorf("making the base layer: %w", err)
	}
	dir := b.manager.path(baseDir, plan.Digest)
	if _, err := os.Stat(dir); err != nil {
		if err := b.build(plan, dir); err != nil {
			return "", err
		}
	}
	if err := os.Chtimes(dir, started, started); err != nil {
		return "", fmt.Errorf("making the base layer: %w", err)
	}
	b.name, b.checked = plan.Digest, started
	b.manager.log.Debug("base layer checked", "op", "base", "dur_ms", time.Since(started).Milliseconds())
	return b.name, nil
}

// forImages returns the name of the base layer above an image.
func (b *baseCache) forImages() (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	plan := layer.ForImages()
	dir := b.manager.path(baseDir, plan.Digest)
	if _, err := os.Stat(dir); err == nil {
		return plan.Digest, nil
	}
	return plan.Digest, b.build(plan, dir)
}

func (b *baseCache) build(plan *layer.Base, dir string) error {
	tmp, err := os.MkdirTemp(b.manager.path(baseDir), ".new-")
	if err != nil {
		return fmt.Errorf("making the base layer: %w", err)
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return fmt.Errorf("making the base layer: %w", err)
	}
	if err := plan.Build(tmp); err != nil {
		_ = layer.Remove(tmp)
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		_ = layer.Remove(tmp)
		return fmt.Errorf("making the base layer: %w", err)
	}
	return nil
}

// recall finds a layer that another engine has just checked.
func (b *baseCache) recall() bool {
	names, err := subdirectories(b.manager.path(baseDir))
	if err != nil {
		return false
	}
	for _, name := range names {
		st, err := os.Stat(b.manager.path(baseDir, name))
		if err != nil || strings.HasPrefix(name, ".") || name == layer.ForImages().Digest {
			continue
		}
		if age := time.Since(st.ModTime()); age >= 0 && age < baseAge && st.ModTime().After(b.checked) {
			b.name, b.checked = name, st.ModTime()
		}
	}
	return b.name != ""
}

// clean removes layers that no sandbox stands on and that are not fresh.
func (b *baseCache) clean() {
	m := b.manager
	names, err := subdirectories(m.path(baseDir))
	if err != nil {
		return
	}
	var used []string
	m.mu.Lock()
	for _, s := range m.sandboxes {
		used = append(used, s.record().Base)
	}
	m.mu.Unlock()
	for _, name := range names {
		st, err := os.Stat(m.path(baseDir, name))
		if err != nil || slices.Contains(used, name) || name == layer.ForImages().Digest || time.Since(st.ModTime()) < baseAge {
			continue
		}
		if err := layer.Remove(m.path(baseDir, name)); err != nil {
			m.log.Warn("removing an old base layer", "op", "base", "err", err)
		}
	}
}
