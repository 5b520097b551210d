package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host/internal/engine/lifecycle"
)

// ListenOptions say where an engine listens beside its unix socket.
type ListenOptions struct {
	// Address is where OpenSandbox clients connect, host:port. Anything but a loopback address needs
	// Options.APIKey; without one, pages in browsers of this machine are refused.
	Address string
	// Metrics is where Prometheus finds /metrics, host:port; "" is nowhere. Nobody is asked for a key
	// there.
	Metrics string
	// Ready is called once both listen; metrics is nil without Metrics. It may be nil.
	Ready func(api, metrics net.Addr)
	// Grace is how long requests that are under way may take after ctx ends; 0 is ten seconds.
	Grace time.Duration
}

// Listen serves the engine on addresses of its own until ctx ends, which is no error. Sandboxes go
// on after it, and so does the engine, until Close.
func (e *Engine) Listen(ctx context.Context, opts ListenOptions) error {
	if err := e.checkAddress(opts.Address); err != nil {
		return err
	}
	if opts.Grace <= 0 {
		opts.Grace = 10 * time.Second
	}
	var lc net.ListenConfig
	api, err := lc.Listen(ctx, "tcp", opts.Address)
	if err != nil {
		return fmt.Errorf("listening for clients: %w", err)
	}
	handler := e.Handler()
	if e.opts.APIKey == "" {
		handler = lifecycle.Local(handler)
	}
	listeners := map[net.Listener]http.Handler{api: handler}
	var metricsAddr net.Addr
	if opts.Metrics != "" {
		l, err := lc.Listen(ctx, "tcp", opts.Metrics)
		if err != nil {
			return errors.Join(fmt.Errorf("listening for metrics: %w", err), api.Close())
		}
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", e.MetricsHandler())
		listeners[l], metricsAddr = mux, l.Addr()
	}
	e.expect()
	if opts.Ready != nil {
		opts.Ready(api.Addr(), metricsAddr)
	}
	return e.serveAll(ctx, listeners, opts.Grace)
}

// expect has the first sandbox begun before anybody asks for one.
func (e *Engine) expect() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.owner != nil {
		e.owner.manager.Expect()
	}
}

// checkAddress lets only this machine in when there is no key.
func (e *Engine) checkAddress(address string) error {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("listening on %q: %w (give host:port, for example 127.0.0.1:8080)", address, err)
	}
	ip := net.ParseIP(name)
	if e.opts.APIKey == "" && name != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("listening on %s: whoever reaches it could run programs here; set [engine] api_key, or listen on 127.0.0.1", address)
	}
	return nil
}

func (e *Engine) serveAll(ctx context.Context, listeners map[net.Listener]http.Handler, grace time.Duration) error {
	quiet := e.log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug})
	ended := make(chan error, len(listeners))
	servers := make([]*http.Server, 0, len(listeners))
	for l, handler := range listeners {
		server := &http.Server{Handler: handler, ReadHeaderTimeout: 30 * time.Second, ErrorLog: quiet}
		servers = append(servers, server)
		go func() { ended <- server.Serve(l) }()
	}
	var errs []error
	waiting := len(servers)
	select {
	case <-ctx.Done():
	case err := <-ended:
		waiting--
		errs = append(errs, fmt.Errorf("serving: %w", err))
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	for _, server := range servers {
		if err := server.Shutdown(closing); err != nil {
			// A command's stream may last for days; its command goes on in the sandbox.
			e.log.Warn("requests were cut off", "op", "shutdown", "err", err)
			if err := server.Close(); err != nil {
				errs = append(errs, fmt.Errorf("closing: %w", err))
			}
		}
	}
	for range waiting {
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			errs = append(errs, fmt.Errorf("serving: %w", err))
		}
	}
	return errors.Join(errs...)
}
