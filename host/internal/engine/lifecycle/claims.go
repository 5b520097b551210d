package lifecycle

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/alineo-labs/alineo-host/host/internal/engine/layer"
)

// claims are the named volumes (pvc.claimName): directories that stay when sandboxes end. Each is
// volumes/NAME/data, and beside it, when it is to end with a sandbox, the file owner with that one's id: empty
// until it has one.
type claims struct {
	manager *Manager

	mu    sync.Mutex
	using map[string]int // requests that are under way, by volume
}

const (
	volumesDir = "volumes"
	claimData  = "data"
	claimOwner = "owner"
)

// held are the named volumes of a request that is under way.
type held struct {
	names []string // each once
	made  []string // of those, what this request made
	owned []string // of those, what is to end with its sandbox
}

// hold finds the named volumes of a request, and makes those that aren't there. release must follow.
func (c *claims) hold(all []volumeRequest) (h *held, err error) {
	h = &held{}
	defer func() {
		if err != nil {
			c.release(h, false)
		}
	}()
	for _, v := range all {
		if v.kind != "pvc" || slices.Contains(h.names, v.claim) {
			continue
		}
		c.mu.Lock()
		c.using[v.claim]++
		h.names = append(h.names, v.claim)
		made, err := c.find(v)
		c.mu.Unlock()
		if err != nil {
			return h, err
		}
		if made {
			h.made = append(h.made, v.claim)
			if v.endsWith {
				h.owned = append(h.owned, v.claim)
			}
		}
	}
	return h, nil
}

// find looks for a volume, and makes it if it may.
func (c *claims) find(v volumeRequest) (made bool, err error) {
	m := c.manager
	failed := func(what string, err error) error {
		return problem(http.StatusInternalServerError, codeClaimInspect, "Volume '%s': failed to %s named volume '%s': %v", v.name, what, v.claim, err)
	}
	dir := m.path(volumesDir, v.claim)
	_, err = os.Stat(filepath.Join(dir, claimData))
	switch {
	case err == nil:
		return false, nil
	case !errors.Is(err, fs.ErrNotExist):
		return false, failed("inspect", err)
	case !v.create:
		return false, problem(http.StatusBadRequest, codeClaimNotFound,
			"Volume '%s': named volume '%s' does not exist, and createIfNotExists is false.", v.name, v.claim)
	}
	if err := c.make(dir, v.endsWith); err != nil {
		return false, failed("create", err)
	}
	return true, nil
}

// make makes a volume. One that is to end with a sandbox is marked before it is there: should we end before that
// sandbox has an id, the volume is nobody's who lives.
func (c *claims) make(dir string, ends bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	owner := filepath.Join(dir, claimOwner)
	var err error
	if ends {
		err = os.WriteFile(owner, nil, 0o600)
	} else if err = os.Remove(owner); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	return os.MkdirAll(filepath.Join(dir, claimData), 0o755)
}

// own notes which volumes are to end with a sandbox.
func (c *claims) own(h *held, id string) error {
	for _, name := range h.owned {
		if err := os.WriteFile(c.manager.path(volumesDir, name, claimOwner), []byte(id), 0o600); err != nil {
			return fmt.Errorf("noting whose volume %q is: %w", name, err)
		}
	}
	return nil
}

// release lets the volumes of a request go: to its sandbox, or, if there is none, those that it has
// made end.
func (c *claims) release(h *held, made bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range h.names {
		if c.using[name]--; c.using[name] == 0 {
			delete(c.using, name)
		}
		if !made && slices.Contains(h.made, name) && !c.used(name) {
			c.remove(name)
		}
	}
}

// used tells whether a request or a sandbox has a volume. A sandbox whose directory is gone has ended,
// also when nobody has noted that yet.
func (c *claims) used(name string) bool {
	if c.using[name] > 0 {
		return true
	}
	m := c.manager
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sandboxes {
		if !slices.Contains(s.record().Claims, name) {
			continue
		}
		if _, err := os.Lstat(s.dir); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// sweep removes the volumes that were to end with a sandbox that isn't any more. What others use by now
// stays, and is nobody's.
func (c *claims) sweep() {
	m := c.manager
	c.mu.Lock()
	defer c.mu.Unlock()
	names, err := subdirectories(m.path(volumesDir))
	if err != nil {
		m.log.Warn("looking at named volumes", "op", "remove", "err", err)
		return
	}
	for _, name := range names {
		if strings.HasPrefix(name, ".gone-") {
			c.remove(name)
			continue
		}
		owner, err := os.ReadFile(m.path(volumesDir, name, claimOwner))
		if err != nil || c.using[name] > 0 {
			continue // nobody's; or its sandbox is being made
		}
		_, err = os.Lstat(m.path(sandboxesDir, string(owner)))
		switch {
		case err == nil && len(owner) > 0: // it lives
		case c.used(name):
			if err := os.Remove(m.path(volumesDir, name, claimOwner)); err != nil {
				m.log.Warn("keeping a named volume", "op", "remove", "volume", name, "err", err)
			}
		default:
			c.remove(name)
		}
	}
}

// remove removes a volume, in one step for everybody who looks.
func (c *claims) remove(name string) {
	m := c.manager
	gone := m.path(volumesDir, name)
	if !strings.HasPrefix(name, ".gone-") {
		gone = m.path(volumesDir, ".gone-"+name)
		_ = layer.Remove(gone) // one of that name that could not be removed before
		if err := os.Rename(m.path(volumesDir, name), gone); err != nil {
			m.log.Warn("removing a named volume", "op", "remove", "volume", name, "err", err)
			return
		}
	}
	if err := layer.Remove(gone); err != nil {
		m.log.Warn("removing a named volume", "op", "remove", "volume", name, "err", err)
	}
}
