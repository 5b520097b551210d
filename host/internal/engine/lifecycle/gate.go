package lifecycle

import (
	"net/http"
	"sync"
)

// gate counts the requests that make, change or remove something. When the engine is to stop it lets
// them in as long as others are inside, and then no more: of what they did the next engine would not
// know. It is safe for concurrent use.
type gate struct {
	mu     sync.Mutex
	inside int
	empty  chan struct{} // closed when it is shut; nil until that is wanted
	isShut bool
}

// enter lets a request in; leave must follow. Its error is a Problem.
func (g *gate) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isShut {
		return problem(http.StatusServiceUnavailable, codeUnknown, "The engine is stopping, and nothing was done: ask again.")
	}
	g.inside++
	return nil
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	g.shutIfEmpty()
}

// shut shuts it when nobody is inside any more, and tells then.
func (g *gate) shut() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.empty == nil {
		g.empty = make(chan struct{})
	}
	g.shutIfEmpty()
	return g.empty
}

// shutNow shuts it, whoever is inside.
func (g *gate) shutNow() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.isShut = true
}

// shutIfEmpty is called with mu held.
func (g *gate) shutIfEmpty() {
	if g.inside > 0 || g.empty == nil {
		return
	}
	g.isShut = true
	select {
	case <-g.empty:
	default:
		close(g.empty)
	}
}
