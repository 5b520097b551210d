//go:build unix

package shim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/engine/intercept"
	"github.com/alineo-labs/alineo-host/host/internal/engine/layer"
	"github.com/alineo-labs/alineo-host/host/internal/engine/reexec"
	"github.com/alineo-labs/alineo-host/host/internal/engine/trail"
)

// The descriptors of a shim, after the engine's socket.
const (
	lockFD    = 4
	socketFD  = 5
	execdFD   = 6
	programFD = 7
)

// Main runs a shim and never returns. main calls it first thing, on the main
// thread.
func Main() {
	runtime.LockOSThread() // the init's death signal is tied to this thread
	reexec.CloseInherited(programFD)
	engine := os.NewFile(reexec.ControlFD, "engine")
	in := json.NewDecoder(engine)
	s := &keeper{trail: trail.New(), changed: make(chan struct{}), ended: make(chan struct{}), destroyed: make(chan struct{})}
	if err := in.Decode(&s.seed); err != nil {
		os.Exit(1) // the engine has gone before it said anything
	}
	err := s.begin()
	if err := in.Decode(&s.config); err != nil {
		s.abandon() // the engine has gone, or doesn't want it
	}
	if err == nil {
		err = s.start()
	}
	r := reply{}
	if err != nil {
		s.end()
		r = reply{Error: err.Error(), Entry: s.entryFailed}
	}
	werr := json.NewEncoder(engine).Encode(r)
	if werr != nil {
		s.destroy() // the engine has gone: nobody knows of this sandbox
	}
	if err != nil || werr != nil {
		os.Exit(1)
	}
	_ = engine.Close()
	s.keep()
	os.Exit(0)
}

// keeper is the state of a shim.
type keeper struct {
	seed        Seed
	config      Config
	listener    net.Listener
	init        *initProcess
	entryFailed bool
	trail       *trail.Trail
	authority   *intercept.Authority // nil without a credential proxy

	mu        sync.Mutex
	state     State
	over      bool          // it ends, and nothing can be changed about that
	changed   chan struct{} // closed and replaced when expiry changes
	ended     chan struct{} // closed when the init has ended
	ending    sync.Once
	destroyed chan struct{} // closed when everything has gone
	failure   error         // why not
}

// begin starts an init that waits in its namespaces.
func (s *keeper) begin() error {
	if err := s.prepare(); err != nil {
		return err
	}
	f := os.NewFile(socketFD, "shim")
	l, err := net.FileListener(f)
	_ = f.Close()
	if err != nil {
		return fmt.Errorf("taking the shim's socket: %w", err)
	}
	s.listener = l
	execd := os.NewFile(execdFD, "execd")
	defer func() { _ = execd.Close() }()
	program := reexec.FromFD(-1, s.seed.Program)
	if s.seed.Sealed {
		program = reexec.FromFD(programFD, "")
	}
	p, err := startInit(s.seed, program, execd)
	if err != nil {
		return err
	}
	s.init = p
	go func() {
		code := p.wait()
		s.mu.Lock()
		s.state.Exited, s.state.ExitCode, s.state.ExitedAt = true, code, time.Now()
		s.mu.Unlock()
		close(s.ended)
	}()
	return nil
}

// abandon ends what has only begun, and never returns.
func (s *keeper) abandon() {
	s.end()
	_ = layer.Remove(s.seed.Dir) // the next engine looks, too
	os.Exit(1)
}

// start makes the sandbox of it.
func (s *keeper) start() error {
	s.mu.Lock()
	s.state.Pid, s.state.Init, s.state.ExpiresAt = os.Getpid(), s.init.pid, s.config.ExpiresAt
	s.mu.Unlock()
	if err := s.prepareCredentials(); err != nil {
		return err
	}
	r, err := s.init.configure(s.config)
	s.entryFailed = r.Entry
	if err != nil || s.init.sockets == nil {
		return err
	}
	return s.openNetwork()
}

// keep serves until the sandbox is over.
func (s *keeper) keep() {
	srv := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(s.listener) }()
	sigs := make(chan os.Signal, 1)
	signal.Notify(sigs, syscall.SIGTERM)
	go s.watchDisk()
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		s.mu.Lock()
		at, changed := s.state.ExpiresAt, s.changed
		s.mu.Unlock()
		var expired <-chan time.Time
		if !at.IsZero() {
			expired = time.After(time.Until(at))
		}
		select {
		case <-changed:
		case <-expired:
			if s.expire(at) {
				s.destroy()
			}
		case <-look.C:
			if s.abandoned() {
				s.destroy()
			}
		case <-sigs:
			s.destroy()
		case <-s.destroyed:
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			_ = srv.Shutdown(ctx) // lets the answer to Destroy out
			cancel()
			return
		}
	}
}

// expire tells whether the time that was to be the end still is, and has come: the clock may have been set
// back, and somebody may have renewed it just now. If so, nobody can any more.
func (s *keeper) expire(at time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = s.over || s.state.ExpiresAt.Equal(at) && !time.Now().Before(at)
	return s.over
}

// lookEvery is how often a shim looks whether its sandbox still has a
// directory.
const lookEvery = 5 * time.Second

// abandoned tells that somebody has removed the sandbox's directory: nobody
// can find the sandbox any more, and so nobody would ever end it.
func (s *keeper) abandoned() bool {
	_, err := os.Lstat(filepath.Join(s.config.Dir, LockFile))
	return errors.Is(err, fs.ErrNotExist)
}

// end kills the init and all that was under it.
func (s *keeper) end() {
	if s.init != nil {
		s.kill()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.seed.Group.Remove(ctx); err != nil {
		s.failure = err
	}
}

// kill ends the init and all that was under it. What is frozen can't die: an engine may have left it so, or
// freeze it at any moment, to pause it or to copy its files.
func (s *keeper) kill() {
	const every, within = 100 * time.Millisecond, 10 * time.Second
	s.seed.Group.Unthrottle()
	dead := make(chan struct{})
	go func() {
		defer close(dead)
		s.init.kill(s.ended)
		s.init.sweep()
	}()
	for {
		if s.seed.Group.CanFreeze() {
			_ = s.seed.Group.Thaw(within) // else again
		}
		select {
		case <-dead:
			return
		case <-time.After(every):
		}
	}
}

// destroy ends the sandbox and removes its directory, once; it returns when
// that has been done.
func (s *keeper) destroy() {
	s.ending.Do(func() {
		s.mu.Lock()
		s.over = true
		s.mu.Unlock()
		s.end()
		// A name that begins with a dot is no sandbox: nobody adopts it.
		gone := filepath.Join(filepath.Dir(s.config.Dir), ".gone-"+filepath.Base(s.config.Dir))
		if err := os.Rename(s.config.Dir, gone); err != nil {
			gone = s.config.Dir
		}
		if err := layer.Remove(gone); err != nil {
			s.failure = err
		}
		close(s.destroyed)
	})
	<-s.destroyed
}

func (s *keeper) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) { s.writeState(w) })
	mux.HandleFunc("PUT /expiration", s.renew)
	mux.HandleFunc("GET /wait", s.wait)
	mux.HandleFunc("GET /logs", s.logs)
	mux.HandleFunc("GET /attempts", func(w http.ResponseWriter, _ *http.Request) { s.attempts(w) })
	mux.HandleFunc("POST /stop", func(w http.ResponseWriter, _ *http.Request) { s.operate(w, s.init.stop) })
	mux.HandleFunc("POST /continue", func(w http.ResponseWriter, _ *http.Request) { s.operate(w, s.init.resume) })
	mux.HandleFunc("DELETE /{$}", func(w http.ResponseWriter, _ *http.Request) {
		s.operate(w, func() error { s.destroy(); return s.failure })
	})
	return mux
}

func (s *keeper) operate(w http.ResponseWriter, f func() error) {
	if err := f(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// logs answers with the entry point's last lines.
func (s *keeper) logs(w http.ResponseWriter, r *http.Request) {
	tail, err := strconv.Atoi(r.FormValue("tail"))
	if err != nil || tail < 0 {
		http.Error(w, "tail is not a number of lines", http.StatusBadRequest)
		return
	}
	var from time.Time
	if v := r.FormValue("from"); v != "" {
		if from, err = time.Parse(time.RFC3339Nano, v); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	_, _ = io.WriteString(w, s.init.log.text(tail, from)) // else the engine has gone
}

func (s *keeper) writeState(w http.ResponseWriter) {
	s.mu.Lock()
	st := s.state
	s.mu.Unlock()
	if err := json.NewEncoder(w).Encode(st); err != nil {
		return // the engine has gone; the next one asks again
	}
}

func (s *keeper) renew(w http.ResponseWriter, r *http.Request) {
	var at time.Time
	if err := json.NewDecoder(r.Body).Decode(&at); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	over := s.over
	if !over {
		s.state.ExpiresAt = at
		close(s.changed)
		s.changed = make(chan struct{})
	}
	s.mu.Unlock()
	if over {
		http.Error(w, ErrEnding.Error(), http.StatusGone)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// wait holds a request as long as we live, and tells when the init ends.
func (s *keeper) wait(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	select {
	case <-s.ended:
		s.mu.Lock()
		over := s.over
		s.mu.Unlock()
		if !over { // else it is not to stay
			s.writeState(w)
			_ = flush.Flush()
		}
	case <-s.destroyed:
		return
	case <-r.Context().Done():
		return
	}
	select {
	case <-s.destroyed:
	case <-r.Context().Done():
	}
}
