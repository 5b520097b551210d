package opensandbox

import "sync"

// silence holds which sandboxes are not expected to give signs of life.
type silence struct {
	mu    sync.Mutex
	boxes map[string]struct{}
}

func (s *silence) expected(sandboxID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.boxes[sandboxID]
	return ok
}

// ExpectSilence says whether the sandbox is paused: then it is no fault that its streams and terminals
// are silent for longer than Options.IdleTimeout, and a [Job] bears with it for longer than
// Options.Patience. It holds for all streams of the sandbox that this client has, and counts from
// before the sandbox is paused until it goes on.
func (e *Execd) ExpectSilence(paused bool) {
	s := &e.c.silence
	s.mu.Lock()
	defer s.mu.Unlock()
	if !paused {
		delete(s.boxes, e.sandboxID)
		return
	}
	if s.boxes == nil {
		s.boxes = map[string]struct{}{}
	}
	s.boxes[e.sandboxID] = struct{}{}
}
