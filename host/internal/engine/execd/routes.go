package execd

import (
	"net/http"
	"strings"
)

// route is one thing that execd does. In its pattern {id} stands for one part of a path that is not
// empty, and … for all that follows; both are handed to the handler.
type route struct {
	method  string // "" is any
	pattern string
	serve   func(w http.ResponseWriter, r *http.Request, part string)
}

// routes are all, the first that matches counts.
func (s *Server) routes() []route {
	return []route{
		{http.MethodGet, "/ping", fixed(ping)},
		{http.MethodPost, "/command", fixed(s.runCommand)},
		{http.MethodDelete, "/command", fixed(s.interrupt)},
		{http.MethodGet, "/command/status/{id}", named(s.commandStatus)},
		{http.MethodGet, "/command/{id}/logs", s.commandLogs},
		{http.MethodPost, "/session", fixed(s.createSession)},
		{http.MethodPost, "/session/{id}/run", s.runInSession},
		{http.MethodDelete, "/session/{id}", named(s.removeSession)},
		{http.MethodPost, "/code", fixed(s.runCode)},
		{http.MethodDelete, "/code", fixed(s.interrupt)},
		{http.MethodPost, "/code/context", fixed(s.createContext)},
		{http.MethodGet, "/code/contexts", fixed(s.listContexts)},
		{http.MethodDelete, "/code/contexts", fixed(s.removeContexts)},
		{http.MethodGet, "/code/contexts/{id}", named(s.getContext)},
		{http.MethodDelete, "/code/contexts/{id}", named(s.removeContext)},
		{http.MethodPost, "/pty", fixed(s.createTerminal)},
		{http.MethodGet, "/pty/{id}", named(s.terminalStatus)},
		{http.MethodDelete, "/pty/{id}", named(s.removeTerminal)},
		{http.MethodGet, "/pty/{id}/ws", s.viewTerminal},
		{http.MethodGet, "/files/info", fixed(s.filesInfo)},
		{http.MethodDelete, "/files", fixed(s.removeFiles)},
		{http.MethodPost, "/files/mv", fixed(s.moveFiles)},
		{http.MethodPost, "/files/permissions", fixed(s.setPermissions)},
		{http.MethodPost, "/files/replace", fixed(s.replaceInFiles)},
		{http.MethodGet, "/files/search", fixed(s.searchFiles)},
		{http.MethodPost, "/files/upload", fixed(s.upload)},
		{http.MethodGet, "/files/download", fixed(s.download)},
		{http.MethodGet, "/directories/list", fixed(s.listDirectory)},
		{http.MethodPost, "/directories", fixed(s.makeDirectories)},
		{http.MethodDelete, "/directories", fixed(s.removeDirectories)},
		{http.MethodGet, "/metrics", fixed(s.metrics)},
		{http.MethodGet, "/metrics/watch", fixed(s.watchMetrics)},
		{"", "/proxy/…", s.proxy},
	}
}

// fixed is for patterns without a part.
func fixed(h http.HandlerFunc) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, r *http.Request, _ string) { h(w, r) }
}

// named is for those that need no more than the part.
func named(h func(http.ResponseWriter, string)) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, id string) { h(w, id) }
}

// match returns the part of a path that the pattern leaves open.
func (o *route) match(method, path string) (part string, ok bool) {
	if o.method != "" && o.method != method {
		return "", false
	}
	if before, open := strings.CutSuffix(o.pattern, "…"); open {
		return strings.CutPrefix(path, before)
	}
	before, after, variable := strings.Cut(o.pattern, "{id}")
	if !variable {
		return "", path == o.pattern
	}
	part, ok = strings.CutPrefix(path, before)
	if ok {
		part, ok = strings.CutSuffix(part, after)
	}
	return part, ok && part != "" && !strings.Contains(part, "/")
}

// route finds the handler of a request; nil is the original's answer to
// unknown paths and wrong methods alike.
func (s *Server) route(method, path string) http.HandlerFunc {
	for i := range s.table {
		if part, ok := s.table[i].match(method, path); ok {
			serve := s.table[i].serve
			return func(w http.ResponseWriter, r *http.Request) { serve(w, r, part) }
		}
	}
	return nil
}
