package opensandbox

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"
)

// What Options leave open.
const (
	DefaultTimeout          = 30 * time.Second
	DefaultLifecycleTimeout = 5 * time.Minute
	DefaultFirstByteTimeout = 30 * time.Second
	DefaultIdleTimeout      = 30 * time.Second
	DefaultMaxLine          = 96 << 20 // a line of 64 MiB, of which a part takes more as JSON
	DefaultAttempts         = 4
	DefaultPatience         = 2 * time.Minute
)

// Ports of the services inside a sandbox.
const (
	PortExecd = 44772
)

const (
	headerAPIKey    = "OPEN-SANDBOX-API-KEY" //nolint:gosec // the header's name, not a key
	headerRequestID = "X-Request-ID"

	// A server may let us wait as long as it likes; a caller may not be willing to.
	maxRetryAfter = 30 * time.Second
	firstBackoff  = 100 * time.Millisecond
)

// Options configures a Client. Only BaseURL is required.
type Options struct {
	// BaseURL is the control server's address, with or without /v1 at its end.
	BaseURL string
	// APIKey is sent to the control server only. Empty: no authentication.
	APIKey string
	// UseServerProxy reaches sandboxes through the control server instead of directly.
	UseServerProxy bool
	// EndpointHosts replaces the host in the addresses that the control server names, for servers
	// that name one which only they can reach, such as host.docker.internal. A value may have a port
	// of its own.
	EndpointHosts map[string]string
	// Transport carries every request when it is set, such as one that dials a unix socket. For PTYs
	// and WebSockets it must speak HTTP/1.1 and return bodies that can be written to, as
	// *http.Transport does. Nil: transports of the client's own, one for short calls, one for streams
	// and one for WebSockets.
	Transport http.RoundTripper
	// Timeout bounds each attempt of a short call. Default 30 s.
	Timeout time.Duration
	// LifecycleTimeout bounds the calls that a server does inside the request: create pulls an
	// image, delete stops a container. Default 5 min.
	LifecycleTimeout time.Duration
	// FirstByteTimeout is how long a stream may take to its first byte. Default 30 s.
	FirstByteTimeout time.Duration
	// IdleTimeout is how long a stream may be silent; servers ping every 3 s. Default 30 s.
	IdleTimeout time.Duration
	// MaxLine is the size in bytes of the longest event that is accepted. Default 96 MiB.
	MaxLine int
	// Attempts is how often a call that may be repeated is tried. Default 4.
	Attempts int
	// Patience is for how long a [Job] bears with a server that is out of reach. Default 2 min.
	Patience time.Duration
	// UserAgent names the caller. Default "alineo-host".
	UserAgent string
	// Traceparent returns the W3C trace context of a call, which is sent along; empty: none. It may be
	// nil. Servers and execd see it; what runs in the sandbox does not.
	Traceparent func(context.Context) string
}

// Client talks to one control server and the sandboxes that it made. It is safe for concurrent use.
type Client struct {
	base    *url.URL // with /v1
	opts    Options
	unary   *http.Client
	streams *http.Client
	sockets *http.Client
	owned   []*http.Transport // those that Close may drain

	silence   silence
	endpoints endpointCache
	resolving singleflight.Group
}

// New returns a client. It does no I/O.
func New(opts Options) (*Client, error) {
	base, err := parseBaseURL(opts.BaseURL)
	if err != nil {
		return nil, err
	}
	setDefault(&opts.Timeout, DefaultTimeout)
	setDefault(&opts.LifecycleTimeout, DefaultLifecycleTimeout)
	setDefault(&opts.FirstByteTimeout, DefaultFirstByteTimeout)
	setDefault(&opts.IdleTimeout, DefaultIdleTimeout)
	setDefault(&opts.MaxLine, DefaultMaxLine)
	setDefault(&opts.Attempts, DefaultAttempts)
	setDefault(&opts.Patience, DefaultPatience)
	if opts.UserAgent == "" {
		opts.UserAgent = "alineo-host"
	}
	c := &Client{base: base, opts: opts}
	if opts.Transport != nil {
		c.unary = newHTTPClient(opts.Transport)
		c.streams, c.sockets = c.unary, c.unary
		return c, nil
	}
	unary, streams, sockets := newTransport(), newTransport(), newTransport()
	// Streams are closed at their terminal event, not drained, so their connections don't come
	// back; a pool of their own keeps them from pushing out those of the short calls.
	streams.MaxIdleConnsPerHost = 4
	// A connection can only be upgraded in HTTP/1.1.
	sockets.ForceAttemptHTTP2 = false
	sockets.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	c.owned = []*http.Transport{unary, streams, sockets}
	c.unary, c.streams, c.sockets = newHTTPClient(unary), newHTTPClient(streams), newHTTPClient(sockets)
	return c, nil
}

// Close lets go of idle connections. Calls in flight are not touched.
func (c *Client) Close() {
	for _, t := range c.owned {
		t.CloseIdleConnections()
	}
}

func setDefault[T int | time.Duration](value *T, fallback T) {
	if *value <= 0 {
		*value = fallback
	}
}

func parseBaseURL(raw string) (*url.URL, error) {
	base, err := url.Parse(strings.TrimRight(raw, "/"))
	if err != nil {
		return nil, fmt.Errorf("parsing the server's address %q: %w", raw, err)
	}
	if base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("parsing the server's address %q: want http:// or https:// in front", raw)
	}
	if base.Host == "" {
		return nil, fmt.Errorf("parsing the server's address %q: %w", raw, errors.New("it names no host"))
	}
	base.RawQuery, base.Fragment = "", ""
	if !strings.HasSuffix(base.Path, "/v1") {
		base.Path += "/v1"
	}
	return base, nil
}

func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       60 * time.Second,
		MaxIdleConns:          256,
		MaxIdleConnsPerHost:   32,
		// Servers never compress; asking for it would only let a proxy buffer a stream.
		DisableCompression: true,
		ForceAttemptHTTP2:  true,
	}
}

func newHTTPClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport: transport,
		// Go carries unknown headers, and so the API key, to wherever a redirect points.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
