package engine

import (
	"net"
	"net/http"
	"sync"
)

// unusedConns are the connections that no request has come on yet. Shutdown
// gives each five seconds to send one; a client's spare connection never
// does.
type unusedConns struct {
	mu     sync.Mutex
	open   map[net.Conn]struct{}
	closed bool
}

// note is for http.Server.ConnState.
func (u *unusedConns) note(c net.Conn, st http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if st != http.StateNew {
		delete(u.open, c)
		return
	}
	if u.closed {
		_ = c.Close()
		return
	}
	if u.open == nil {
		u.open = map[net.Conn]struct{}{}
	}
	u.open[c] = struct{}{}
}

// close closes them, and those that are still to come.
func (u *unusedConns) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	for c := range u.open {
		_ = c.Close()
	}
}
