package lifecycle

import (
	"context"
	"errors"
	"net/http"
	"time"
)

func (s *Server) pauseSandbox(w http.ResponseWriter, r *http.Request, id string) error {
	if err := s.m.pause(r.Context(), id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

func (s *Server) resumeSandbox(w http.ResponseWriter, r *http.Request, id string) error {
	if err := s.m.resume(r.Context(), id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// pause makes a sandbox stand still until resume. Its time to live goes on.
// What is recorded comes first: an engine that ends in between is followed by
// one that does it again.
func (m *Manager) pause(ctx context.Context, id string) error {
	return m.hold(id, func(s *sandbox) error {
		switch {
		case !s.running():
			return problem(http.StatusConflict, codeNotRunning, "Sandbox is not in a running state.")
		case s.record().Paused:
			return problem(http.StatusConflict, codeNotRunning, "Sandbox is not in a running state: it is paused already.")
		}
		err := s.setPaused(m, true)
		if err == nil {
			if err = m.freeze(ctx, s); err != nil {
				err = errors.Join(err, s.setPaused(m, false))
			}
		}
		if err != nil {
			return s.orGone(problem(http.StatusInternalServerError, codePauseFailed, "Failed to pause sandbox: %v", err), err)
		}
		m.log.Info("sandbox paused", "op", "pause", "sandbox", id)
		return nil
	})
}

// resume lets a paused sandbox go on.
func (m *Manager) resume(ctx context.Context, id string) error {
	return m.hold(id, func(s *sandbox) error {
		if !s.record().Paused || !s.running() {
			return problem(http.StatusConflict, codeNotPaused, "Sandbox is not in a paused state.")
		}
		err := m.thaw(ctx, s)
		if err == nil {
			err = s.setPaused(m, false)
		}
		if err != nil {
			return s.orGone(problem(http.StatusInternalServerError, codeResumeFailed, "Failed to resume sandbox: %v", err), err)
		}
		m.log.Info("sandbox resumed", "op", "resume", "sandbox", id)
		return nil
	})
}

// hold calls f while nothing else stops, copies or ends the sandbox.
func (m *Manager) hold(id string, f func(*sandbox) error) error {
	s, err := m.sandbox(id)
	if err != nil {
		return err
	}
	s.still.Lock()
	defer s.still.Unlock()
	if s, err = m.sandbox(id); err != nil {
		return err // it ended while we waited
	}
	return f(s)
}

// setPaused records whether a sandbox stands still. Requests into it wait
// from then on, or go on.
func (s *sandbox) setPaused(m *Manager, paused bool) error {
	err := s.change(m, func(r *record) {
		r.Paused, r.PausedAt = paused, time.Time{}
		if paused {
			r.PausedAt = time.Now().UTC().Truncate(time.Microsecond)
		}
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteResumed()
	return nil
}

// noteResumed keeps s.resumed as rec.Paused says; of what has exited nobody
// waits for more. The caller holds s.mu.
func (s *sandbox) noteResumed() {
	paused := s.rec.Paused && !s.state.Exited
	switch {
	case paused && s.resumed == nil:
		s.resumed = make(chan struct{})
	case !paused && s.resumed != nil:
		close(s.resumed)
		s.resumed = nil
	}
}

// pausePatience is how long a request into a paused sandbox waits: as long as
// the original's proxy waits for a byte.
const pausePatience = 180 * time.Second

// awaitResumed holds a request up while the sandbox is paused: its servers
// would not answer, and where they were stopped by signal, execd, which goes
// on, must not start anything.
func (s *sandbox) awaitResumed(ctx context.Context, m *Manager) error {
	s.mu.Lock()
	resumed, id := s.resumed, s.rec.ID
	s.mu.Unlock()
	if resumed == nil {
		return nil
	}
	t := time.NewTimer(pausePatience)
	defer t.Stop()
	select {
	case <-resumed:
		return nil
	case <-s.gone:
		return problem(http.StatusNotFound, codeSandboxNotFound, "Sandbox %s not found: it ended while it was paused.", id)
	case <-m.leaving:
		return problem(http.StatusServiceUnavailable, codeUnknown, "The engine is stopping, and sandbox %s is paused.", id)
	case <-ctx.Done():
		return problem(http.StatusBadGateway, codeUnknown, "The request was given up while sandbox %s was paused.", id)
	case <-t.C:
		return problem(http.StatusBadGateway, codeUnknown, "Sandbox %s is paused, and nobody resumed it within %s.", id, pausePatience)
	}
}
