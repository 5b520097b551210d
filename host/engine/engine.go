package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host/internal/engine/lifecycle"
	"github.com/alineo-labs/alineo-host/host/internal/engine/unixsock"
)

// Engine is a data directory's server, in this process or in another. It is
// safe for concurrent use.
type Engine struct {
	opts      Options
	log       hclog.Logger
	socket    string
	transport *http.Transport
	metrics   *requestMetrics

	mu     sync.Mutex
	owner  *owner // nil: another process serves
	level  string
	closed bool
}

// The files of a data directory that are not the sandboxes'.
const (
	lockFile   = "lock"
	socketFile = "engine.sock"
)

// host stands for the engine in URLs; nothing ever looks it up.
const host = "engine.alineo-host"

// Open serves the data directory, or uses the process that does. It returns
// an error when the machine allows less isolation than opts do.
func Open(ctx context.Context, opts Options) (*Engine, error) {
	opts, err := opts.resolve()
	if err != nil {
		return nil, fmt.Errorf("opening the engine: %w", err)
	}
	e := &Engine{opts: opts, log: opts.Logger, socket: filepath.Join(opts.DataDir, socketFile), metrics: newRequestMetrics()}
	e.transport = &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return e.dial(ctx) },
		// A connection is cheap here, and one that is kept may belong to a
		// process that has just stopped serving: a command sent on it would
		// fail, and commands can't be sent twice.
		DisableKeepAlives:  true,
		DisableCompression: true,
	}
	c, err := e.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("opening the engine: %w", err)
	}
	_ = c.Close()
	return e, nil
}

// Transport carries requests for BaseURL to the engine, wherever it runs. It
// never uses a proxy. What goes on inside a sandbox survives the end of another process that serves.
func (e *Engine) Transport() http.RoundTripper { return (*transport)(e) }

// transport is an engine as its own clients see it.
type transport Engine

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	e := (*Engine)(t)
	e.mu.Lock()
	serving := e.owner != nil || e.closed
	e.mu.Unlock()
	if serving {
		return e.transport.RoundTrip(r)
	}
	d := lifecycle.Direct{DataDir: e.opts.DataDir, Server: again{e.transport}}
	return d.RoundTrip(r)
}

// CloseIdleConnections is what http.Client looks for.
func (t *transport) CloseIdleConnections() { t.transport.CloseIdleConnections() }

// BaseURL is the address to give to a client that uses Transport.
func (e *Engine) BaseURL() string { return "http://" + host }

// Isolation is the level of the engine's sandboxes: one of the Isolation
// constants.
func (e *Engine) Isolation() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.level
}

// Handler is the engine's API for a listener of your own. With
// Options.APIKey, requests must carry it.
func (e *Engine) Handler() http.Handler {
	relay := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(&url.URL{Scheme: "http", Host: host})
			p.Out.Host = p.In.Host
			p.SetXForwarded()
		},
		Transport:     e.transport,
		FlushInterval: -1,
		ErrorLog:      e.log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
	return e.metrics.wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		o := e.owner
		e.mu.Unlock()
		if o != nil {
			o.public.ServeHTTP(w, r)
			return
		}
		_ = http.NewResponseController(w).EnableFullDuplex() // an answer may come before the request's end
		lifecycle.Guard(e.opts.APIKey, relay).ServeHTTP(w, r)
	}))
}

// patience is how long a data directory may be locked without being served.
const patience = 15 * time.Second

// dial connects to whoever serves the data directory, and serves it itself
// when nobody does.
func (e *Engine) dial(ctx context.Context) (net.Conn, error) {
	deadline := time.Now().Add(patience)
	for {
		c, err := unixsock.Dial(ctx, e.socket)
		if err == nil {
			return c, e.checkLevel()
		}
		if !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ENOENT) {
			return nil, err
		}
		err = e.serve(ctx)
		if err == nil {
			continue
		}
		if _, ok := errors.AsType[*heldError](err); !ok {
			return nil, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%w, but doesn't answer on its socket", err)
		}
		t := time.NewTimer(5 * time.Millisecond)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, errors.Join(ctx.Err(), err)
		}
	}
}

var errClosed = errors.New("the engine is closed")

// serve makes this process the one that serves.
func (e *Engine) serve(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return errClosed
	case e.owner != nil:
		return nil
	}
	o, err := newOwner(ctx, e.opts, e.socket, e.metrics)
	if err != nil {
		return err
	}
	e.owner, e.level = o, o.level
	return nil
}

// checkLevel refuses to use another process's engine when that one allows
// less isolation than we do.
func (e *Engine) checkLevel() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return errClosed
	}
	if e.owner != nil {
		return nil
	}
	h, err := readHolder(filepath.Join(e.opts.DataDir, lockFile))
	if err != nil {
		return err
	}
	if h.Level != IsolationNamespaces && !e.opts.AllowReduced {
		return fmt.Errorf("process %d serves %s with isolation %q, and less than %q is not allowed here (set [engine] allow_reduced to accept it)", h.Pid, e.opts.DataDir, h.Level, IsolationNamespaces)
	}
	e.level = h.Level
	return nil
}

// Close stops serving; sandboxes go on. Another process can take over as soon
// as nothing is being made any more; requests that are under way have until
// ctx is done. Close is idempotent.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	o := e.owner
	e.owner, e.closed = nil, true
	e.mu.Unlock()
	e.transport.CloseIdleConnections()
	if o == nil {
		return nil
	}
	if err := o.close(ctx); err != nil {
		return fmt.Errorf("closing the engine: %w", err)
	}
	return nil
}
