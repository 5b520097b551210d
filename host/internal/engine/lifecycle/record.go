package lifecycle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/engine/cgroup"
	"github.com/alineo-labs/alineo-host/host/internal/engine/jail"
	"github.com/alineo-labs/alineo-host/host/internal/engine/layer"
	"github.com/alineo-labs/alineo-host/host/internal/engine/shim"
)

const (
	sandboxesDir  = "sandboxes"
	sparesDir     = "spares" // what has only begun
	snapshotsDir  = "snapshots"
	baseDir       = "base"
	layerDir      = shim.LayerDir
	imagesDir     = "images"
	sandboxRecord = "sandbox.json"
	snapRecord    = "snapshot.json"
)

// record is what is remembered of a sandbox in its directory.
type record struct {
	ID         string
	Image      string `json:",omitempty"`
	SnapshotID string `json:",omitempty"`
	Entrypoint []string
	Metadata   map[string]string `json:",omitempty"`
	CreatedAt  time.Time
	ExpiresAt  time.Time
	Level      jail.Level
	// Snapshots are the layers below, newest first, by snapshot id; Base is
	// the base layer under them.
	Snapshots []string `json:",omitempty"`
	Base      string   `json:",omitempty"`
	Group     cgroup.Group
	Limits    cgroup.Limits
	// Disk is what its files may take; zeros are no limit.
	Disk layer.Usage
	// Root is the image below them all; nil is the machine's own root.
	Root *imageRoot `json:",omitempty"`
	// Paused tells that it stands still, since PausedAt.
	Paused   bool      `json:",omitempty"`
	PausedAt time.Time `json:",omitzero"`
	// EgressToken is what callers of its egress API must send; "" is no API.
	EgressToken string `json:",omitempty"`
	// Credentials tells that it has a credential proxy.
	Credentials bool `json:",omitempty"`
	// Platform is what was asked for.
	Platform *wirePlatform `json:",omitempty"`
	// RenewBy is how long a request through the proxy lets it live; 0 is no
	// change.
	RenewBy time.Duration `json:",omitempty"`
	// Claims are the named volumes that it has.
	Claims []string `json:",omitempty"`
}

// snapshotRecord is what is remembered of a snapshot in its directory.
type snapshotRecord struct {
	ID           string
	SandboxID    string
	Name         string `json:",omitempty"`
	State        string
	Reason       string
	Message      string `json:",omitempty"`
	CreatedAt    time.Time
	TransitionAt time.Time
	Level        jail.Level
	// Below are the snapshots that this one is stacked on, newest first.
	Below []string `json:",omitempty"`
	Image string   `json:",omitempty"`
	// Root is the image below them all; nil is the machine's own root.
	Root *imageRoot `json:",omitempty"`
}

// writeRecord replaces a record as a whole.
func writeRecord(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %q: %w", path, err)
	}
	tmp := path + ".new"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return fmt.Errorf("writing %q: %w", path, err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("writing %q: %w", path, err)
	}
	return nil
}

func readRecord(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("reading %q: %w", path, err)
	}
	return nil
}

// subdirectories lists the names in a directory; one that isn't there has
// none.
func subdirectories(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing %q: %w", dir, err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func (m *Manager) path(parts ...string) string {
	return filepath.Join(append([]string{m.opts.DataDir}, parts...)...)
}
