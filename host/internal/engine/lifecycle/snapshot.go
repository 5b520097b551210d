package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/alineo-labs/alineo-host/host/internal/engine/copier"
	"github.com/alineo-labs/alineo-host/host/internal/engine/layer"
)

// The states of a snapshot, and why.
const (
	snapCreating = "Creating"
	snapReady    = "Ready"
	snapFailed   = "Failed"

	reasonAccepted    = "snapshot_accepted"
	reasonReady       = "snapshot_runtime_ready"
	reasonFailed      = "snapshot_runtime_failed"
	reasonInterrupted = "snapshot_recovery_interrupted"
)

// maxDepth is how many snapshots may be stacked before the next one is made
// of them all. Each layer costs every lookup of a name a little, and overlay's
// options have to fit into a page.
const maxDepth = 16

// snapshot is a copy of what a sandbox wrote.
type snapshot struct {
	mu  sync.Mutex
	rec snapshotRecord
	// users counts sandboxes that are being started from it.
	users int // guarded by the manager's mu
}

func (s *snapshot) record() snapshotRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rec
}

func (s *snapshot) wire() wireSnapshot {
	r := s.record()
	return wireSnapshot{
		ID: r.ID, SandboxID: r.SandboxID, Name: r.Name, CreatedAt: stamp(r.CreatedAt),
		Status: wireStatus{State: r.State, Reason: r.Reason, Message: r.Message, LastTransitionAt: stampOf(r.TransitionAt)},
	}
}

func (m *Manager) snapshot(id string) (*snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.snapshots[id]
	if s == nil {
		return nil, problem(http.StatusNotFound, codeSnapshotNotFound, "Snapshot %s not found.", id)
	}
	return s, nil
}

func (m *Manager) adoptSnapshots() error {
	names, err := subdirectories(m.path(snapshotsDir))
	if err != nil {
		return err
	}
	for _, id := range names {
		if strings.HasPrefix(id, ".") {
			if err := layer.Remove(m.path(snapshotsDir, id)); err != nil {
				m.log.Warn("removing a half-deleted snapshot", "op", "adopt", "snapshot", id, "err", err)
			}
			continue
		}
		s := &snapshot{}
		if err := readRecord(m.path(snapshotsDir, id, snapRecord), &s.rec); err != nil {
			m.log.Error("reading a snapshot", "op", "adopt", "snapshot", id, "err", err)
			continue
		}
		if s.rec.State == snapCreating {
			if err := m.settle(s, snapFailed, reasonInterrupted, "The engine ended while the snapshot was made."); err != nil {
				return err
			}
		}
		m.snapshots[id] = s
	}
	return nil
}

// settle moves a snapshot to its next state, on disk first.
func (m *Manager) settle(s *snapshot, state, reason, message string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := s.rec
	rec.State, rec.Reason, rec.Message = state, reason, message
	rec.TransitionAt = time.Now().UTC().Truncate(time.Microsecond)
	if err := writeRecord(m.path(snapshotsDir, rec.ID, snapRecord), rec); err != nil {
		return err
	}
	s.rec = rec
	return nil
}

// takeSnapshot begins a snapshot. done is closed when it is ready or failed.
func (m *Manager) takeSnapshot(sandboxID, name string) (s *snapshot, done <-chan struct{}, err error) {
	box, err := m.sandbox(sandboxID)
	if err != nil {
		return nil, nil, err
	}
	if box.status().State != stateRunning {
		return nil, nil, problem(http.StatusConflict, codeSourceState, "Sandbox %s must be Running to be snapshotted, it is %s.", sandboxID, box.status().State)
	}
	if err := m.gate.enter(); err != nil { // it goes on after its request
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			m.gate.leave()
		}
	}()
	now := time.Now().UTC().Truncate(time.Microsecond)
	from := box.record()
	s = &snapshot{rec: snapshotRecord{
		ID: uuid.NewString(), SandboxID: sandboxID, Name: name, State: snapCreating, Reason: reasonAccepted,
		CreatedAt: now, TransitionAt: now, Level: from.Level, Image: from.Image, Root: from.Root,
	}}
	// Without overlays a sandbox holds everything itself.
	if m.isolated() && len(from.Snapshots) < maxDepth {
		s.rec.Below = from.Snapshots
	}
	if err := os.Mkdir(m.path(snapshotsDir, s.rec.ID), 0o700); err != nil {
		return nil, nil, fmt.Errorf("making snapshot of %s: %w", sandboxID, err)
	}
	if err := writeRecord(m.path(snapshotsDir, s.rec.ID, snapRecord), s.rec); err != nil {
		return nil, nil, fmt.Errorf("making snapshot of %s: %w", sandboxID, err)
	}
	m.mu.Lock()
	m.snapshots[s.rec.ID] = s
	m.mu.Unlock()
	finished := make(chan struct{})
	m.jobs.Go(func() {
		defer m.gate.leave()
		defer close(finished)
		m.makeSnapshot(s, box, from)
	})
	return s, finished, nil
}

func (m *Manager) makeSnapshot(s *snapshot, box *sandbox, from record) {
	started := time.Now()
	id := s.record().ID
	err := m.copySnapshot(s, box, from)
	state, reason, message := snapReady, reasonReady, ""
	if err != nil {
		state, reason, message = snapFailed, reasonFailed, err.Error()
		m.log.Error("making a snapshot", "op", "snapshot", "sandbox", from.ID, "err", err)
		if rerr := layer.Remove(m.path(snapshotsDir, id, layerDir)); rerr != nil {
			m.log.Warn("removing a failed snapshot's files", "op", "snapshot", "sandbox", from.ID, "err", rerr)
		}
	}
	if err := m.settle(s, state, reason, message); err != nil {
		m.log.Error("recording a snapshot", "op", "snapshot", "sandbox", from.ID, "err", err)
		return
	}
	m.log.Info("snapshot made", "op", "snapshot", "sandbox", from.ID, "snapshot", id, "state", state, "dur_ms", time.Since(started).Milliseconds())
}

// copySnapshot copies the sandbox's layer while its processes stand still, so
// that the copy is one moment's. A copy is on disk before it is called ready.
func (m *Manager) copySnapshot(s *snapshot, box *sandbox, from record) error {
	box.still.Lock()
	defer box.still.Unlock()
	rec := s.record()
	dst := m.path(snapshotsDir, rec.ID, layerDir)
	// Snapshots are never changed by their sandbox's end, nor by ours.
	ctx := context.Background()
	if len(rec.Below) == 0 && m.isolated() {
		for _, v := range slices.Backward(from.Snapshots) {
			if err := m.apply(ctx, dst, m.path(snapshotsDir, v, layerDir)); err != nil {
				return err
			}
		}
	}
	if err := m.copyStill(ctx, dst, box); err != nil {
		return err
	}
	// A sandbox that ends by itself meanwhile takes its files away, but not
	// before it has given up its name.
	if _, err := os.Lstat(filepath.Join(box.dir, layerDir)); err != nil {
		return fmt.Errorf("the sandbox ended while it was copied: %w", err)
	}
	return layer.Sync(m.path(snapshotsDir, rec.ID))
}

// copyStill copies the sandbox's layer while it stands still; one that has
// been paused since the snapshot was asked for does already.
func (m *Manager) copyStill(ctx context.Context, dst string, box *sandbox) error {
	from := filepath.Join(box.dir, layerDir)
	if box.record().Paused {
		return m.apply(ctx, dst, from)
	}
	if err := m.freeze(ctx, box); err != nil {
		return err
	}
	return errors.Join(m.apply(ctx, dst, from), m.thaw(ctx, box))
}

// deleteSnapshot removes a snapshot that nothing stands on.
func (m *Manager) deleteSnapshot(id string) error {
	s, err := m.snapshot(id)
	if err != nil {
		return err
	}
	if s.record().State == snapCreating {
		return problem(http.StatusConflict, codeSnapshotState, "Snapshot %s is being created.", id)
	}
	if err := m.unlinkSnapshot(id, s); err != nil {
		return err
	}
	gone := m.path(snapshotsDir, ".gone-"+id)
	if err := os.Rename(m.path(snapshotsDir, id), gone); err != nil {
		return fmt.Errorf("deleting snapshot %s: %w", id, err)
	}
	if err := layer.Remove(gone); err != nil {
		return fmt.Errorf("deleting snapshot %s: %w", id, err)
	}
	m.log.Info("snapshot deleted", "op", "delete_snapshot", "snapshot", id)
	return nil
}

// unlinkSnapshot takes a snapshot out of the list if nothing stands on it.
func (m *Manager) unlinkSnapshot(id string, s *snapshot) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	conflict := func(kind, by string) error {
		return problem(http.StatusConflict, codeDeleteConflict, "Snapshot %s is in use by %s %s.", id, kind, by)
	}
	if s.users > 0 {
		return problem(http.StatusConflict, codeDeleteConflict, "Snapshot %s is in use by a sandbox that is starting.", id)
	}
	for _, box := range m.sandboxes {
		if rec := box.record(); m.isolated() && slices.Contains(rec.Snapshots, id) {
			return conflict("sandbox", rec.ID)
		}
	}
	for _, other := range m.snapshots {
		if rec := other.record(); rec.State != snapFailed && slices.Contains(rec.Below, id) {
			return conflict("snapshot", rec.ID)
		}
	}
	if m.snapshots[id] != s {
		return problem(http.StatusNotFound, codeSnapshotNotFound, "Snapshot %s not found.", id)
	}
	delete(m.snapshots, id)
	return nil
}

// useSnapshot puts a snapshot and what it stands on below a new sandbox.
func (m *Manager) useSnapshot(rec *record, id string) (release func(), err error) {
	s, err := m.snapshot(id)
	if err != nil {
		return nil, err
	}
	from := s.record()
	if from.State != snapReady {
		return nil, problem(http.StatusConflict, codeSnapshotNotReady, "Snapshot %s is %s, not Ready.", id, from.State)
	}
	if from.Level != m.opts.Level {
		return nil, problem(http.StatusConflict, codeRestoreConfig,
			"Snapshot %s was made with %s isolation, and this engine runs with %s.", id, from.Level, m.opts.Level)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.snapshots[id] != s {
		return nil, problem(http.StatusNotFound, codeSnapshotNotFound, "Snapshot %s not found.", id)
	}
	s.users++
	rec.Snapshots, rec.Root = append([]string{id}, from.Below...), from.Root
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		s.users--
	}, nil
}

// listSnapshots returns those that match, newest first.
func (m *Manager) listSnapshots(sandboxID, name string, states []string) []*snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	type dated struct {
		s   *snapshot
		rec snapshotRecord
	}
	var found []dated
	for _, s := range m.snapshots {
		rec := s.record()
		if (sandboxID == "" || rec.SandboxID == sandboxID) && (name == "" || rec.Name == name) && (len(states) == 0 || slices.Contains(states, rec.State)) {
			found = append(found, dated{s, rec})
		}
	}
	sort.Slice(found, func(i, j int) bool {
		a, b := found[i].rec, found[j].rec
		if !a.CreatedAt.Equal(b.CreatedAt) {
			return a.CreatedAt.After(b.CreatedAt)
		}
		return a.ID > b.ID
	})
	out := make([]*snapshot, len(found))
	for i, d := range found {
		out[i] = d.s
	}
	return out
}

// apply lays one layer over another. An ordinary user's sandboxes hold files
// that only their own root can read.
func (m *Manager) apply(ctx context.Context, dst, src string) error {
	if m.isolated() && os.Geteuid() != 0 {
		return copier.Apply(ctx, m.opts.Program, dst, src)
	}
	return layer.Apply(ctx, dst, src)
}
