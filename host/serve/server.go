package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host/durable"
)

// Options configures a Server. Runs and Address are required.
type Options struct {
	// Runs is what is served. The caller closes it, after Listen.
	Runs *durable.Runs
	// Address is where to listen, host:port. Anything but a loopback address needs a Token.
	Address string
	// Token is what clients must send; empty: whoever reaches the address is let in.
	Token string
	// SweepEvery is how often runs are looked for that nobody looks after; 0: never.
	SweepEvery time.Duration
	// Grace is how long requests, and runs that are being started, may take after the end was asked for; 0 is
	// ten seconds.
	Grace  time.Duration
	Logger hclog.Logger // nil: none
	// Control is what those who operate the daemon can ask on a unix socket; nil: nothing.
	Control *ControlOptions
}

// Server serves durable runs. It is safe for concurrent use.
type Server struct {
	opts    Options
	runs    *durable.Runs
	stores  durable.Stores
	log     hclog.Logger
	metrics *serverMetrics
	handler http.Handler

	draining atomic.Bool
	leaving  chan struct{} // closed when viewers are to go

	starting sync.WaitGroup
	mu       sync.Mutex // guards starting against its Wait
}

// errOpen is an address that anybody could reach, without a token.
var errOpen = errors.New("whoever reaches it could run programs here; set [serve] token, or listen on 127.0.0.1")

// New returns a server. It does no I/O.
func New(opts Options) (*Server, error) {
	host, _, err := net.SplitHostPort(opts.Address)
	if err != nil {
		return nil, fmt.Errorf("serving on %q: %w (give host:port, for example 127.0.0.1:7777)", opts.Address, err)
	}
	if opts.Token == "" && !loopback(host) {
		return nil, fmt.Errorf("serving on %s: %w", opts.Address, errOpen)
	}
	if opts.Logger == nil {
		opts.Logger = hclog.NewNullLogger()
	}
	if opts.Grace <= 0 {
		opts.Grace = 10 * time.Second
	}
	s := &Server{
		opts: opts, runs: opts.Runs, stores: opts.Runs.Stores(), log: opts.Logger, metrics: newServerMetrics(),
		leaving: make(chan struct{}),
	}
	if opts.Control != nil {
		s.metrics.plugins = opts.Control.Plugins
	}
	s.handler = s.routes()
	return s, nil
}

// Handler returns what answers requests, for a server of the caller's own.
func (s *Server) Handler() http.Handler { return s.handler }

// routes are all endpoints.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, handle := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /healthz": s.health,
		"GET /metrics": s.metrics.serve,

		"GET /v1/instances":          s.listInstances,
		"GET /v1/instances/{key}":    s.getInstance,
		"PUT /v1/instances/{key}":    s.putInstance,
		"DELETE /v1/instances/{key}": s.deleteInstance,

		"GET /v1/runs":               s.listRuns,
		"GET /v1/runs/{id}":          s.getRun,
		"PUT /v1/runs/{id}":          s.createRun,
		"PATCH /v1/runs/{id}":        s.patchRun,
		"DELETE /v1/runs/{id}":       s.deleteRun,
		"POST /v1/runs/{id}/claim":   s.claimRun,
		"GET /v1/reclaimable":        s.listReclaimable,
		"GET /v1/threads/{id}/runs":  s.listThread,
		"GET /v1/threads/{id}/run":   s.findRun,
		"POST /v1/runs":              s.startRun,
		"POST /v1/runs/{id}/cancel":  s.cancelRun,
		"POST /v1/runs/{id}/events":  s.emit,
		"GET /v1/runs/{id}/events":   s.viewRun,
		"POST /v1/runs/{id}/waiting": s.interruptRun,
		"POST /v1/runs/{id}/resumed": s.resumeRun,
	} {
		mux.Handle(pattern, s.endpoint(pattern, handle))
	}
	mux.Handle("/", s.endpoint("other", func(_ http.ResponseWriter, r *http.Request) error {
		return &httpError{http.StatusNotFound, "no_endpoint", fmt.Sprintf("there is no endpoint %s %s", r.Method, r.URL.Path)}
	}))
	return mux
}

// maxBody bounds what a request may bring, in bytes.
const maxBody = 4 << 20

// endpoint lets requests in, bounds them, and tells how they ended.
func (s *Server) endpoint(pattern string, handle func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		done := s.metrics.begin(pattern)
		out := &answer{ResponseWriter: w}
		defer func() {
			if p := recover(); p != nil {
				out.code = http.StatusInternalServerError
				done(out.code)
				panic(p)
			}
			done(out.code)
		}()
		began := time.Now()
		r.Body = http.MaxBytesReader(out, r.Body, maxBody)
		err := s.admit(r, pattern)
		if err == nil {
			err = handle(out, r)
		}
		if err != nil {
			s.fail(out, r, err)
		}
		s.log.Debug("answered", "op", pattern, "code", out.code, "dur_ms", time.Since(began).Milliseconds())
	})
}

// health says whether the daemon works, and the store that it needs.
func (s *Server) health(w http.ResponseWriter, r *http.Request) error {
	const within = 5 * time.Second
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	if s.draining.Load() {
		return stopping()
	}
	if _, _, err := s.stores.Runs.Get(ctx, "healthz"); err != nil {
		s.log.Warn("the store does not answer", "op", "healthz", "err", err)
		return &httpError{http.StatusServiceUnavailable, "unavailable", "the store does not answer"}
	}
	return writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// Listen serves until ctx ends, which is no error. ready is called once with the address; it may be nil.
// A server listens once.
func (s *Server) Listen(ctx context.Context, ready func(net.Addr)) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", s.opts.Address)
	if err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	const headerWithin, requestWithin, idle = 30 * time.Second, time.Minute, 2 * time.Minute
	server := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: headerWithin, ReadTimeout: requestWithin, IdleTimeout: idle,
		ErrorLog: s.log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	s.log.Info("serving", "op", "listen", "address", l.Addr().String(), "token", s.opts.Token != "")

	if ctl := s.control(l.Addr().String()); ctl != nil {
		defer func() {
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Grace)
			defer cancel()
			ctl.close(closing)
		}()
	}
	if ready != nil {
		ready(l.Addr())
	}

	sweeping, stopSweeping := context.WithCancel(ctx)
	var background sync.WaitGroup
	if s.opts.SweepEvery > 0 {
		background.Go(func() {
			// It tells the log what goes wrong, and ends only with sweeping.
			_ = s.runs.ReapLoop(sweeping, s.opts.SweepEvery)
		})
	}
	select {
	case <-ctx.Done():
		err = s.drain(context.WithoutCancel(ctx), server)
		if serveErr := <-ended; !errors.Is(serveErr, http.ErrServerClosed) {
			err = errors.Join(err, fmt.Errorf("serving: %w", serveErr))
		}
	case err = <-ended:
		s.draining.Store(true)
		close(s.leaving)
		err = fmt.Errorf("serving: %w", err)
	}
	stopSweeping()
	background.Wait()
	return err
}

// control opens the control socket; nil when it can't be had, which keeps nobody from being served.
func (s *Server) control(address string) *control {
	if s.opts.Control == nil {
		return nil
	}
	c, err := listenControl(*s.opts.Control, s.log, address)
	if err != nil {
		s.log.Warn("this daemon can't be asked about its plugins", "op", "listen", "dir", s.opts.Control.Dir, "err", err)
		return nil
	}
	return c
}

// drain takes nothing new and sees to the end of what is under way.
func (s *Server) drain(ctx context.Context, server *http.Server) error {
	s.log.Info("stopping", "op", "drain")
	s.draining.Store(true)
	close(s.leaving)
	ctx, cancel := context.WithTimeout(ctx, s.opts.Grace)
	defer cancel()
	var err error
	if shutErr := server.Shutdown(ctx); shutErr != nil {
		s.log.Warn("requests were cut off", "op", "drain", "err", shutErr)
		err = server.Close()
	}
	started := make(chan struct{})
	go func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.starting.Wait()
		close(started)
	}()
	select {
	case <-started:
	case <-ctx.Done():
		s.log.Warn("runs were let go of that had not begun; they will end as not started", "op", "drain")
	}
	return err
}
