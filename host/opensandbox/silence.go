package opensandbox

import (
	"context"
	"sync"
	"time"
)

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

// askWithin bounds asking whether a sandbox is paused.
const askWithin = 5 * time.Second

// standsStill reports whether it is no fault that a sandbox is silent: it is paused, here or by somebody
// else, whom only the server knows.
func (c *Client) standsStill(ctx context.Context, sandboxID string) bool {
	if c.silence.expected(sandboxID) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	box, err := c.GetSandbox(ctx, sandboxID)
	if err != nil {
		return false
	}
	switch box.Status.State {
	case StatePausing, StatePaused, StateResuming:
		return true
	}
	return false
}

// ExpectSilence says whether the sandbox is paused: then it is no fault that its streams and terminals
// are silent for longer than Options.IdleTimeout, and a [Job] bears with it for longer than
// Options.Patience. It holds for all streams of the sandbox that this client has, and counts from
// before the sandbox is paused until it goes on. Commands and terminals whose sandbox somebody else
// pauses are borne with as well: then the server is asked.
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
