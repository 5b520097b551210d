package lifecycle

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/engine/shim"
	"github.com/alineo-labs/alineo-host/host/internal/engine/unixsock"
)

// sandbox is one that is alive, or whose shim at least is.
type sandbox struct {
	id        string
	createdAt time.Time
	dir       string
	shim      *shim.Client
	transport *http.Transport // to its execd

	gone chan struct{} // closed when the shim has ended

	still    sync.Mutex // held by whoever stops, copies or ends it: one at a time
	renewing sync.Mutex // held by whoever gives it another end

	mu      sync.Mutex
	rec     record // changed by change alone
	state   shim.State
	resumed chan struct{} // closed when it goes on; nil while it isn't paused
}

func (m *Manager) newSandbox(rec record) *sandbox {
	dir := m.path(sandboxesDir, rec.ID)
	socket := filepath.Join(dir, shim.ExecdSocket)
	s := &sandbox{
		id:        rec.ID,
		createdAt: rec.CreatedAt,
		dir:       dir,
		rec:       rec,
		shim:      shim.Dial(dir),
		gone:      make(chan struct{}),
		transport: &http.Transport{
			DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return unixsock.Dial(ctx, socket) },
			MaxIdleConnsPerHost: 64,
			IdleConnTimeout:     time.Minute,
			DisableCompression:  true,
		},
	}
	s.noteResumed()
	return s
}

// The states of a sandbox that somebody branches on.
const (
	stateRunning = "Running"
	statePaused  = "Paused"
)

func (s *sandbox) status() wireStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.state.Exited && s.rec.Paused:
		return wireStatus{State: statePaused, Reason: "CONTAINER_PAUSED", Message: "Container is paused.", LastTransitionAt: stampOf(s.rec.PausedAt)}
	case !s.state.Exited:
		return wireStatus{State: stateRunning, Reason: "CONTAINER_RUNNING", Message: "Container is running.", LastTransitionAt: stampOf(s.rec.CreatedAt)}
	case s.state.Evicted != "":
		return wireStatus{State: "Failed", Reason: "CONTAINER_EVICTED", Message: "Container was ended: " + s.state.Evicted + ".", LastTransitionAt: stampOf(s.state.ExitedAt)}
	case s.state.ExitCode == 0:
		return wireStatus{State: "Terminated", Reason: "CONTAINER_EXITED", Message: "Container exited with code 0.", LastTransitionAt: stampOf(s.state.ExitedAt)}
	}
	return wireStatus{State: "Failed", Reason: "CONTAINER_EXITED_ERROR", Message: exitMessage(s.state.ExitCode), LastTransitionAt: stampOf(s.state.ExitedAt)}
}

func (s *sandbox) running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.state.Exited
}

// became notes what the shim of an adopted sandbox says of it.
func (s *sandbox) became(st shim.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.rec.ExpiresAt = st, st.ExpiresAt
	s.noteResumed()
}

func (s *sandbox) exited(st shim.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Exited, s.state.ExitCode, s.state.ExitedAt = st.Exited, st.ExitCode, st.ExitedAt
	s.state.Evicted = st.Evicted
	s.noteResumed()
}

func (s *sandbox) expiry() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rec.ExpiresAt
}

func (s *sandbox) setExpiry(m *Manager, at time.Time) error {
	return s.change(m, func(r *record) { r.ExpiresAt = at })
}

// change changes what is remembered of the sandbox, on disk first.
func (s *sandbox) change(m *Manager, f func(*record)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := s.rec
	f(&rec)
	err := writeRecord(m.path(sandboxesDir, rec.ID, sandboxRecord), rec)
	if errors.Is(err, fs.ErrNotExist) {
		return problem(http.StatusNotFound, codeSandboxNotFound, "Sandbox %s not found.", rec.ID) // it ends just now
	}
	if err != nil {
		return err
	}
	s.rec = rec
	return nil
}

// record is a copy of what is remembered.
func (s *sandbox) record() record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rec
}

func (s *sandbox) matches(metadata map[string]string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, v := range metadata {
		if have, ok := s.rec.Metadata[k]; !ok || have != v {
			return false
		}
	}
	return true
}

func (s *sandbox) wire() wireSandbox {
	st, rec := s.status(), s.record()
	w := wireSandbox{
		ID: rec.ID, SnapshotID: rec.SnapshotID, Status: st, Metadata: rec.Metadata,
		Entrypoint: rec.Entrypoint, ExpiresAt: stampOf(rec.ExpiresAt), CreatedAt: stamp(rec.CreatedAt),
	}
	w.Platform = rec.Platform
	if rec.Image != "" {
		w.Image = &wireImage{URI: rec.Image}
	}
	return w
}

// destroy ends the sandbox and everything of it. A shim that was killed can't
// do that itself any more.
func (s *sandbox) destroy(ctx context.Context, m *Manager) error {
	s.still.Lock() // a snapshot that has begun comes first
	defer s.still.Unlock()
	err := s.shim.Destroy(ctx)
	if err == nil {
		return nil
	}
	if _, serr := os.Stat(s.dir); errors.Is(serr, fs.ErrNotExist) {
		return nil // it was over already
	}
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT) {
		return m.removeDead(ctx, s.record().ID)
	}
	return err
}

// watch follows a sandbox until its shim has ended, then cleans up after it
// if it could not.
func (m *Manager) watch(s *sandbox) {
	m.jobs.Go(func() {
		id := s.record().ID
		for {
			err := s.shim.Wait(m.ctx, s.exited)
			if m.ctx.Err() != nil {
				return
			}
			if err == nil || s.shimEnded() {
				break
			}
			if !wait(m.ctx, askAgain) {
				return
			}
		}
		close(s.gone)
		m.forget(id)
		defer m.claims.sweep()
		if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
			if at := s.expiry(); !at.IsZero() && !at.After(time.Now()) {
				m.log.Info("sandbox expired", "op", "expire", "sandbox", id, "due", at)
				return
			}
			m.log.Info("sandbox ended", "op", "end", "sandbox", id)
			return
		}
		m.log.Warn("shim ended without cleaning up", "op", "end", "sandbox", id)
		s.still.Lock() // who deletes it does the same
		defer s.still.Unlock()
		if err := m.removeDead(m.ctx, id); err != nil {
			m.log.Error("removing a dead sandbox", "op", "end", "sandbox", id, "err", err)
		}
	})
}

// orGone is err, or, when the sandbox has ended or is about to, the Problem that it isn't there. why is what
// err was made of, if that doesn't show.
func (s *sandbox) orGone(err error, why ...error) error {
	cause := errors.Join(append(why, err)...)
	if errors.Is(cause, shim.ErrEnding) || errors.Is(cause, fs.ErrNotExist) || s.shimEnded() {
		return problem(http.StatusNotFound, codeSandboxNotFound, "Sandbox %s not found.", s.id)
	}
	return err
}

// shimEnded tells by its lock, which it holds as long as it lives.
func (s *sandbox) shimEnded() bool {
	lock, err := tryLock(filepath.Join(s.dir, shim.LockFile))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	_ = lock.Close()
	return true
}
