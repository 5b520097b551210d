package opensandbox

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

func portCall(op, sandboxID string, port int) call {
	return call{op: op, subject: sandboxID + ":" + strconv.Itoa(port), to: target{sandboxID: sandboxID, port: port}}
}

// PortTransport returns a RoundTripper to the HTTP server on a port of a sandbox: it sends requests
// for any host there, with their path and query behind the endpoint's, and with the endpoint's headers.
// It has no timeouts, follows no redirects and repeats nothing but what nobody took. A request that
// asks for an upgrade gets an answer whose body can be written to, where servers on the way allow it.
//
//	http.Client{Transport: client.PortTransport(box.ID, 3000)}.Get("http://app/health")
//
// The control server's proxy takes Authorization, Cookie and hop-by-hop headers off and has no HEAD
// and OPTIONS. It is safe for concurrent use.
func (c *Client) PortTransport(sandboxID string, port int) http.RoundTripper {
	return &portTransport{c: c, call: portCall("call port", sandboxID, port)}
}

type portTransport struct {
	c    *Client
	call call
}

// RoundTrip sends one request. It closes the request's body, as RoundTrippers do.
func (t *portTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	var resp *http.Response
	sent := false
	err := t.c.retry(ctx, t.call, func() error {
		out, err := t.request(req)
		if err != nil {
			return err
		}
		if sent && out.Body != nil && out.Body != http.NoBody {
			if out.Body, err = req.GetBody(); err != nil {
				return &resolveError{call: t.call, err: err}
			}
		}
		sent = true
		client := t.c.streams
		if req.Header.Get("Upgrade") != "" {
			client = t.c.sockets
		}
		resp, err = client.Transport.RoundTrip(out) //nolint:bodyclose // it is the caller's to close
		if err != nil {
			if req.GetBody == nil && req.Body != nil && req.Body != http.NoBody {
				return &resolveError{call: t.call, err: err} // the body is closed, so this was the only try
			}
			return t.call.fail(ctx, err)
		}
		// The answer is the user's own server's, or that of somebody on the way: it is passed on. An
		// address at which nobody is any more is forgotten.
		if resp.StatusCode == http.StatusBadGateway {
			t.c.forgetEndpoint(t.call.to.sandboxID, t.call.to.port)
		}
		return nil
	})
	if err != nil {
		if !sent && req.Body != nil {
			_ = req.Body.Close() // it was not read
		}
		return nil, err
	}
	return resp, nil
}

// request returns what is really sent.
func (t *portTransport) request(req *http.Request) (*http.Request, error) {
	address, header, err := t.c.resolve(req.Context(), t.call.to)
	if err != nil {
		return nil, &resolveError{call: t.call, err: err}
	}
	if err := checkRequestPath(req.URL.EscapedPath()); err != nil {
		return nil, &resolveError{call: t.call, err: err}
	}
	base, err := url.Parse(address)
	if err != nil {
		return nil, &resolveError{call: t.call, err: err}
	}
	out := req.Clone(req.Context())
	out.Host = ""
	out.URL = &url.URL{
		Scheme: base.Scheme, Host: base.Host, RawQuery: req.URL.RawQuery,
		Path: base.Path + req.URL.Path, RawPath: base.EscapedPath() + req.URL.EscapedPath(),
	}
	if out.Header == nil {
		out.Header = make(http.Header)
	}
	maps.Copy(out.Header, header)
	out.Header.Del(headerAPIKey)
	if t.c.opts.APIKey != "" && t.c.isControl(address, t.call.to) {
		out.Header.Set(headerAPIKey, t.c.opts.APIKey)
	}
	return out, nil
}

// DialPort opens a TCP connection to a port of a sandbox. The protocol has no such call: it works
// where the server named an address of that port's own, without a path and without headers, and is
// ErrUnsupported elsewhere; there, HTTP and WebSockets go through. ctx bounds the dialling only.
func (c *Client) DialPort(ctx context.Context, sandboxID string, port int) (net.Conn, error) {
	call := portCall("dial port", sandboxID, port)
	var conn net.Conn
	err := c.retry(ctx, call, func() error {
		endpoint, err := c.Endpoint(ctx, sandboxID, port)
		if err != nil {
			return &resolveError{call: call, err: err}
		}
		to, err := url.Parse(endpoint.URL)
		if err != nil {
			return fmt.Errorf("%s: %w", call.name(), err)
		}
		if c.opts.Transport != nil || to.Scheme != "http" || strings.Trim(to.Path, "/") != "" || len(endpoint.Header) > 0 {
			return &resolveError{call: call, err: fmt.Errorf("%w: the server reaches the port over HTTP only; use PortTransport or DialWebSocket", ErrUnsupported)}
		}
		host := to.Host
		if to.Port() == "" {
			host = net.JoinHostPort(to.Hostname(), "80")
		}
		ctx, cancel := context.WithTimeoutCause(ctx, c.opts.Timeout, fmt.Errorf("%w: no answer within %s", ErrTimeout, c.opts.Timeout))
		defer cancel()
		if conn, err = new(net.Dialer).DialContext(ctx, "tcp", host); err != nil {
			return call.fail(ctx, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return conn, nil
}
