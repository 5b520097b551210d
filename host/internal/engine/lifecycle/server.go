package lifecycle

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strings"
	"time"
)

// Server is the lifecycle API of a Manager. It is safe for concurrent use.
type Server struct{ m *Manager }

// NewServer makes the handler. It lets everybody in: see Guard.
func NewServer(m *Manager) *Server { return &Server{m: m} }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if w.Header().Get(requestIDHeader) == "" {
		w.Header().Set(requestIDHeader, requestID(r))
	}
	path, _ := strings.CutPrefix(r.URL.Path, "/v1")
	if path == "" || path[0] != '/' {
		path = r.URL.Path
	}
	route, methods := s.route(path)
	if route == nil {
		if p := strings.TrimSuffix(path, "/"); p != path && p != "" {
			if _, there := s.route(p); there != nil {
				u := *r.URL
				u.Path, u.RawPath = strings.TrimSuffix(r.URL.Path, "/"), ""
				http.Redirect(w, r, u.RequestURI(), http.StatusTemporaryRedirect) //nolint:gosec // the path is one of our routes
				return
			}
		}
		writeDetail(w, http.StatusNotFound)
		return
	}
	handle := methods[r.Method]
	if handle == nil {
		writeDetail(w, http.StatusMethodNotAllowed)
		return
	}
	started := time.Now()
	if err := handle(w, r); err != nil && writeError(w, err) {
		s.m.log.Error("request failed", "op", r.Method+" "+route.name, "err", err, "dur_ms", time.Since(started).Milliseconds())
	}
}

// handler answers, or returns the error to answer with.
type handler func(w http.ResponseWriter, r *http.Request) error

// route is what a path leads to.
type route struct{ name string }

// route finds a path's handlers by method; nil when there is nothing.
func (s *Server) route(path string) (*route, map[string]handler) {
	seg := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case path == "/health":
		return &route{"/health"}, map[string]handler{http.MethodGet: health}
	case path == "/sandboxes":
		return &route{path}, map[string]handler{http.MethodPost: s.createSandbox, http.MethodGet: s.listSandboxes}
	case path == "/snapshots":
		return &route{path}, map[string]handler{http.MethodGet: s.listSnapshots}
	case len(seg) == 2 && seg[0] == "snapshots" && seg[1] != "":
		return &route{"/snapshots/{id}"}, map[string]handler{
			http.MethodGet:    s.withID(seg[1], s.getSnapshot),
			http.MethodDelete: s.withID(seg[1], s.deleteSnapshot),
		}
	case len(seg) >= 2 && seg[0] == "sandboxes" && seg[1] != "":
		return s.sandboxRoute(seg[1], seg[2:])
	}
	return nil, nil
}

func (s *Server) sandboxRoute(id string, rest []string) (*route, map[string]handler) {
	switch {
	case len(rest) == 0:
		return &route{"/sandboxes/{id}"}, map[string]handler{
			http.MethodGet:    s.withID(id, s.getSandbox),
			http.MethodDelete: s.withID(id, s.deleteSandbox),
		}
	case len(rest) == 1 && rest[0] == "renew-expiration":
		return &route{"/sandboxes/{id}/renew-expiration"}, map[string]handler{http.MethodPost: s.withID(id, s.renew)}
	case len(rest) == 1 && rest[0] == "snapshots":
		return &route{"/sandboxes/{id}/snapshots"}, map[string]handler{http.MethodPost: s.withID(id, s.createSnapshot)}
	case len(rest) == 2 && rest[0] == "endpoints" && rest[1] != "":
		return &route{"/sandboxes/{id}/endpoints/{port}"}, map[string]handler{
			http.MethodGet: func(w http.ResponseWriter, r *http.Request) error { return s.endpoint(w, r, id, rest[1]) },
		}
	case len(rest) >= 2 && rest[0] == "proxy" && rest[1] != "":
		h := func(w http.ResponseWriter, r *http.Request) error { return s.proxy(w, r, id, rest[1]) }
		return &route{"/sandboxes/{id}/proxy/{port}"}, map[string]handler{
			http.MethodGet: h, http.MethodPost: h, http.MethodPut: h, http.MethodDelete: h, http.MethodPatch: h,
		}
	}
	return nil, nil
}

func (s *Server) withID(id string, h func(http.ResponseWriter, *http.Request, string) error) handler {
	return func(w http.ResponseWriter, r *http.Request) error { return h(w, r, id) }
}

func health(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, map[string]string{"status": "healthy"})
	return nil
}

const requestIDHeader = "X-Request-ID"

// requestID is the client's, or a new one.
func requestID(r *http.Request) string {
	if id := strings.TrimSpace(r.Header.Get(requestIDHeader)); id != "" {
		return id
	}
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}
