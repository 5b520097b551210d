package execd

import (
	stdlog "log"
	"net/http"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// Options say how a Server behaves.
type Options struct {
	// Env is the environment of commands, and what $NAME in paths refers to.
	Env map[string]string
	// Dir is where commands start and relative paths begin, unless they say
	// otherwise.
	Dir string
	// Table starts and reaps processes.
	Table *Table
	// NoGroups is set where supplementary groups can't be set (a user
	// namespace of an ordinary user).
	NoGroups bool
	// User is whom processes run as that don't say so, and whom new files and
	// directories belong to; nil is this process's own.
	User *User
	// Meter measures the sandbox.
	Meter *Meter
	// Logger gets what fails; nil is silence.
	Logger hclog.Logger
}

// Server is the execd API of one sandbox. It is safe for concurrent use.
type Server struct {
	quiet     *stdlog.Logger  // for net/http's own complaints
	relay     *http.Transport // to the sandbox's own ports: no proxy, no environment
	opts      Options
	log       hclog.Logger
	execs     *executions
	sessions  *sessions
	contexts  *contexts
	terminals *terminals
	shell     string
	table     []route
}

// New makes a Server.
func New(opts Options) *Server {
	if opts.Logger == nil {
		opts.Logger = hclog.NewNullLogger()
	}
	if opts.Meter == nil {
		opts.Meter = OpenMeter(Sources{}, 0, 0)
	}
	s := &Server{opts: opts, log: opts.Logger, execs: newExecutions(), sessions: newSessions(), contexts: newContexts(), terminals: newTerminals(), shell: findShell(opts.Env["PATH"]), relay: &http.Transport{MaxIdleConnsPerHost: 16}, quiet: opts.Logger.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug})}
	s.table = s.routes()
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.admitted(w, r) {
		return
	}
	if h := s.route(r.Method, r.URL.Path); h != nil {
		h(w, r)
		return
	}
	if p := strings.TrimRight(r.URL.Path, "/"); p != r.URL.Path && s.route(r.Method, p) != nil {
		redirect(w, r, p)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte("404 page not found"))
}

func ping(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusOK)
}

// redirect sends a request with a trailing slash to the path without.
func redirect(w http.ResponseWriter, r *http.Request, path string) {
	code := http.StatusMovedPermanently
	if r.Method != http.MethodGet {
		code = http.StatusTemporaryRedirect
	}
	u := *r.URL
	u.Path, u.RawPath = path, ""
	http.Redirect(w, r, u.RequestURI(), code) //nolint:gosec // the path is one of our routes
}
