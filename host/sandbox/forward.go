package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// Forward takes connections from a local listener to a port of the sandbox until ctx ends or the
// handle is closed, and returns nil then. It closes the listener, and waits for the connections'
// ends. Where the server passes on nothing but HTTP, so does Forward, with WebSockets.
//
//	listener, err := net.Listen("tcp", "127.0.0.1:8080")
//	err = sb.Forward(ctx, listener, 3000)
func (h *Handle) Forward(ctx context.Context, listener net.Listener, port int) error {
	const op = "forwarding port"
	if err := h.ready(); err != nil {
		_ = listener.Close() // nothing was taken from it
		return h.fail(op, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-h.quit:
			cancel()
		case <-stop:
		}
	}()
	conn, err := h.c.wire.DialPort(ctx, h.id, port)
	if err == nil {
		_ = conn.Close() // it was only to find out
	}
	forward := h.forwardTCP
	switch {
	case errors.Is(err, opensandbox.ErrUnsupported):
		forward = h.forwardHTTP
	case errors.Is(err, opensandbox.ErrInvalid), errors.Is(err, opensandbox.ErrNotFound):
		_ = listener.Close() // nothing was taken from it
		return h.fail(op, err)
	}
	return h.fail(op, forward(ctx, listener, port))
}

func (h *Handle) forwardHTTP(ctx context.Context, listener net.Listener, port int) error {
	proxy := &httputil.ReverseProxy{
		Transport:     h.PortTransport(port),
		FlushInterval: -1, // streams come through as they are
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", r.In.Host
			r.SetXForwarded()
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			h.log.Debug("a forwarded request failed", "port", port, "err", err)
			http.Error(w, fmt.Sprintf("port %d of the sandbox does not answer", port), http.StatusBadGateway)
		},
	}
	const headers = 30 * time.Second
	server := &http.Server{
		Handler: proxy, ReadHeaderTimeout: headers, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); ctx.Err() == nil && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (h *Handle) forwardTCP(ctx context.Context, listener net.Listener, port int) error {
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	var open sync.WaitGroup
	defer open.Wait()
	for {
		local, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			_ = listener.Close() // it is broken
			return err
		}
		open.Go(func() {
			if err := h.join(ctx, local, port); err != nil {
				h.log.Debug("a forwarded connection failed", "port", port, "err", err)
			}
		})
	}
}

// join carries bytes both ways. When one side has said all, the other is told so.
func (h *Handle) join(ctx context.Context, local net.Conn, port int) error {
	defer func() { _ = local.Close() }() // its end was told by CloseWrite
	remote, err := h.c.wire.DialPort(ctx, h.id, port)
	if err != nil {
		return err
	}
	defer func() { _ = remote.Close() }()
	defer context.AfterFunc(ctx, func() { _, _ = local.Close(), remote.Close() })()
	carry := func(to, from net.Conn) error {
		_, err := io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			return errors.Join(err, half.CloseWrite())
		}
		return errors.Join(err, to.Close())
	}
	back := make(chan error, 1)
	go func() { back <- carry(local, remote) }()
	return errors.Join(carry(remote, local), <-back)
}
