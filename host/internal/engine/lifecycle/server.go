package lifecycle

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Server is the lifecycle API of a Manager. It is safe for concurrent use.
type Server struct {
	m     *Manager
	table []route
}

// NewServer makes the handler. It lets everybody in: see Guard.
func NewServer(m *Manager) *Server {
	s := &Server{m: m}
	s.table = s.routes()
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if w.Header().Get(requestIDHeader) == "" {
		w.Header().Set(requestIDHeader, requestID(r))
	}
	path, _ := strings.CutPrefix(r.URL.Path, "/v1")
	if path == "" || path[0] != '/' {
		path = r.URL.Path
	}
	found, args := s.find(path)
	if found == nil {
		if p := strings.TrimSuffix(path, "/"); p != path && p != "" {
			if there, _ := s.find(p); there != nil {
				u := *r.URL
				u.Path, u.RawPath = strings.TrimSuffix(r.URL.Path, "/"), ""
				http.Redirect(w, r, u.RequestURI(), http.StatusTemporaryRedirect) //nolint:gosec // the path is one of our routes
				return
			}
		}
		writeDetail(w, http.StatusNotFound)
		return
	}
	handle := found.methods[r.Method]
	if handle == nil {
		w.Header().Set("Allow", found.allowed())
		writeDetail(w, http.StatusMethodNotAllowed)
		return
	}
	started := time.Now()
	err := s.handle(found, handle, w, r, args)
	if err == nil {
		return
	}
	op := r.Method + " " + found.pattern
	fault := writeError(w, err)
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // the client went away, which is no failure of ours
	}
	switch fault {
	case oursTold:
		// The client reads why, and says so to whoever waits for it.
		s.m.log.Info("request failed", "op", op, "err", err, "dur_ms", time.Since(started).Milliseconds())
	case oursUnforeseen:
		s.m.log.Error("request failed", "op", op, "err", err, "dur_ms", time.Since(started).Milliseconds())
	case theirs:
	}
}

// handle calls a route's handler. What goes through the proxy is no change of ours, and may last for days.
func (s *Server) handle(to *route, handle handler, w http.ResponseWriter, r *http.Request, args []string) error {
	if r.Method != http.MethodGet && !to.open {
		if err := s.m.gate.enter(); err != nil {
			return err
		}
		defer s.m.gate.leave()
	}
	return handle(w, r, args)
}

// handler answers, or returns the error to answer with. args are the path's
// variable parts.
type handler func(w http.ResponseWriter, r *http.Request, args []string) error

// route is a path and what it answers. {} in the pattern stands for a part
// that may be anything, a last … for whatever follows.
type route struct {
	pattern string
	parts   []string
	open    bool // ends with …
	methods map[string]handler
}

func (e *route) allowed() string {
	return strings.Join(slices.Sorted(maps.Keys(e.methods)), ", ")
}

// match returns the path's variable parts.
func (e *route) match(parts []string) (args []string, ok bool) {
	if len(parts) < len(e.parts) || len(parts) > len(e.parts) && !e.open {
		return nil, false
	}
	for i, want := range e.parts {
		switch {
		case want == "{}" && parts[i] != "":
			args = append(args, parts[i])
		case want != parts[i]:
			return nil, false
		}
	}
	return args, true
}

// routes lists everything that is served, below / and below /v1.
func (s *Server) routes() []route {
	get, post, put, patch, del := http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete
	type methods = map[string]handler
	table := []route{
		{pattern: "/health", methods: methods{get: plain(health)}},
		{pattern: "/sandboxes", methods: methods{post: plain(s.createSandbox), get: plain(s.listSandboxes)}},
		{pattern: "/sandboxes/{}", methods: methods{get: one(s.getSandbox), del: one(s.deleteSandbox)}},
		{pattern: "/sandboxes/{}/metadata", methods: methods{patch: one(s.patchMetadata)}},
		{pattern: "/sandboxes/{}/pause", methods: methods{post: one(s.pauseSandbox)}},
		{pattern: "/sandboxes/{}/resume", methods: methods{post: one(s.resumeSandbox)}},
		{pattern: "/sandboxes/{}/renew-expiration", methods: methods{post: one(s.renew)}},
		{pattern: "/sandboxes/{}/snapshots", methods: methods{post: one(s.createSnapshot)}},
		{pattern: "/sandboxes/{}/diagnostics/logs", methods: methods{get: one(s.diagnoseLogs)}},
		{pattern: "/sandboxes/{}/diagnostics/events", methods: methods{get: one(s.diagnoseEvents)}},
		{pattern: "/sandboxes/{}/diagnostics/inspect", methods: methods{get: one(s.diagnoseInspect)}},
		{pattern: "/sandboxes/{}/diagnostics/summary", methods: methods{get: one(s.diagnoseSummary)}},
		{pattern: "/sandboxes/{}/endpoints/{}", methods: methods{get: s.endpoint}},
		{pattern: "/sandboxes/{}/proxy/{}…", methods: methods{get: s.proxy, post: s.proxy, put: s.proxy, del: s.proxy, patch: s.proxy}},
		{pattern: "/snapshots", methods: methods{get: plain(s.listSnapshots)}},
		{pattern: "/snapshots/{}", methods: methods{get: one(s.getSnapshot), del: one(s.deleteSnapshot)}},
		{pattern: "/metrics/events", methods: methods{post: plain(dropMetrics)}},
		{pattern: "/pools", methods: methods{get: noPools, post: noPools}},
		{pattern: "/pools/{}", methods: methods{get: noPools, put: noPools, del: noPools}},
		{pattern: "/templates", methods: methods{get: noTemplates, post: noTemplates}},
		{pattern: "/templates/{}", methods: methods{get: noTemplates, del: noTemplates}},
	}
	for i := range table {
		pattern, open := strings.CutSuffix(table[i].pattern, "…")
		table[i].open, table[i].parts = open, strings.Split(pattern[1:], "/")
	}
	return table
}

// find returns the route of a path, nil when there is none.
func (s *Server) find(path string) (found *route, args []string) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i := range s.table {
		if args, ok := s.table[i].match(parts); ok {
			return &s.table[i], args
		}
	}
	return nil, nil
}

// plain is for paths without variable parts.
func plain(h func(http.ResponseWriter, *http.Request) error) handler {
	return func(w http.ResponseWriter, r *http.Request, _ []string) error { return h(w, r) }
}

// one is for paths with one.
func one(h func(http.ResponseWriter, *http.Request, string) error) handler {
	return func(w http.ResponseWriter, r *http.Request, args []string) error { return h(w, r, args[0]) }
}

// noTemplates answers for what only a Kubernetes runtime has, like noPools.
func noTemplates(http.ResponseWriter, *http.Request, []string) error {
	return problem(http.StatusNotImplemented, codeNoTemplates, "Template management requires the kubernetes runtime.")
}

// noPools answers for what only a Kubernetes runtime has.
func noPools(http.ResponseWriter, *http.Request, []string) error {
	return problem(http.StatusNotImplemented, codeNoPools, "Pool management is only available when runtime.type is 'kubernetes'.")
}

// dropMetrics takes what SDKs report about themselves, and keeps none of it.
func dropMetrics(w http.ResponseWriter, r *http.Request) error {
	if _, err := readBody(w, r, false); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
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
