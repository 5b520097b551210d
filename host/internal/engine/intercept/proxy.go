package intercept

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/engine/trail"
	"github.com/alineo-labs/alineo-host/host/internal/engine/vault"
)

// The ports that are intercepted, for plain and for encrypted HTTP.
const (
	portHTTP  = 80
	portHTTPS = 443
)

// How long things may take. Bodies take as long as they do.
const (
	handshakeWithin = 15 * time.Second
	headWithin      = 30 * time.Second
	idleWithin      = 2 * time.Minute
	maxIdleUpstream = 32 // connections
)

// Bounds of what one sandbox makes this process hold: it is outside of the sandbox's limits.
const (
	maxRequests   = 256       // at once; more wait
	maxBodies     = 32        // in which placeholders were looked for and that are being sent; more wait
	maxStreams    = 64        // of one HTTP/2 connection
	clientBuffer  = 512 << 10 // bytes of one HTTP/2 connection of the sandbox's, half of that for each stream
	streamBuffer  = 1 << 20   // bytes of one stream of an upstream's
	serverBuffer  = 16 << 20  // bytes of all streams of an upstream's connection
	maxAnswerHead = 256 << 10 // bytes
)

// Options make a Proxy. Roots alone may be nil.
type Options struct {
	Authority *Authority
	// Rules are the vault's in force.
	Rules func() *vault.Rules
	// Dial connects to a name, as far as the policy allows it: its error is a *trail.RefusedError when it
	// doesn't.
	Dial func(ctx context.Context, name string, port uint16) (net.Conn, error)
	// Allowed tells whether the policy allows a name now.
	Allowed func(name string) bool
	// Record gets what was refused, withheld and injected.
	Record func(trail.Entry)
	// Roots are who may vouch for upstreams; nil are the machine's.
	Roots *x509.CertPool
}

// Proxy makes the requests of a sandbox to hosts that have a binding. It is safe for concurrent use.
type Proxy struct {
	opts     Options
	server   *http.Server
	conns    chan net.Conn
	relay    *httputil.ReverseProxy
	upstream *http.Transport
	redact   atomic.Pointer[redaction]
	requests chan struct{} // holds one for each that is under way
	bodies   chan struct{} // holds one for each that is read whole
	closing  sync.Once
	closed   chan struct{}
}

// redaction is the redactor of some rules.
type redaction struct {
	rules *vault.Rules
	*Redactor
}

// New makes a proxy and starts it.
func New(opts Options) *Proxy {
	p := &Proxy{
		opts: opts, conns: make(chan net.Conn), closed: make(chan struct{}),
		requests: make(chan struct{}, maxRequests), bodies: make(chan struct{}, maxBodies),
	}
	quiet := log.New(io.Discard, "", 0) // faults of peers; what matters is recorded
	p.upstream = &http.Transport{
		DialContext:           p.dial,
		TLSClientConfig:       &tls.Config{RootCAs: opts.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   handshakeWithin,
		ForceAttemptHTTP2:     true,
		DisableCompression:    true,
		MaxIdleConns:          maxIdleUpstream,
		MaxIdleConnsPerHost:   maxIdleUpstream,
		IdleConnTimeout:       idleWithin,
		ExpectContinueTimeout: time.Second,

		MaxResponseHeaderBytes: maxAnswerHead,
		HTTP2:                  &http.HTTP2Config{MaxReceiveBufferPerStream: streamBuffer, MaxReceiveBufferPerConnection: serverBuffer},
	}
	p.relay = &httputil.ReverseProxy{
		Rewrite: p.rewrite, Transport: p.upstream, FlushInterval: -1, ErrorLog: quiet,
		ModifyResponse: p.modify, ErrorHandler: p.failed,
	}
	p.server = &http.Server{
		Handler: http.HandlerFunc(p.handle), ErrorLog: quiet, ReadHeaderTimeout: headWithin, IdleTimeout: idleWithin, MaxHeaderBytes: maxHead,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: clientBuffer, MaxReceiveBufferPerStream: clientBuffer / 2},
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, sessionKey{}, sessionOf(c))
		},
	}
	go func() { _ = p.server.Serve(&listener{p}) }() // ends with Close
	return p
}

// Close ends every connection.
func (p *Proxy) Close() {
	p.closing.Do(func() {
		close(p.closed)
		_ = p.server.Close()
		p.upstream.CloseIdleConnections()
	})
}

// Forget lets go of connections to upstreams that nobody uses now: the policy has changed.
func (p *Proxy) Forget() { p.upstream.CloseIdleConnections() }

// Wants tells whether connections to a name and port are the proxy's to serve.
func (p *Proxy) Wants(name string, port uint16) bool {
	return (port == portHTTP || port == portHTTPS) && p.opts.Rules().Bound(name)
}

// Bypassed tells why a connection that goes past the proxy has no credentials: "" when none would be
// expected. name is "" for a connection to an address.
func (p *Proxy) Bypassed(name string, port uint16) string {
	rules := p.opts.Rules()
	web := port == portHTTP || port == portHTTPS
	switch {
	case rules.Empty():
		return ""
	case name != "" && rules.Bound(name):
		return "bindings are for ports 80 and 443 only"
	case name != "" && web:
		return "the host has no binding"
	case web:
		return "an address has no binding"
	}
	return ""
}

func (p *Proxy) dial(ctx context.Context, _, address string) (net.Conn, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("connecting to %q: %w", address, err)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("connecting to %q: %w", address, err)
	}
	return p.opts.Dial(ctx, name, uint16(n))
}

// redactor is that of the rules in force.
func (p *Proxy) redactor() *Redactor {
	rules := p.opts.Rules()
	if have := p.redact.Load(); have != nil && have.rules == rules {
		return have.Redactor
	}
	r := NewRedactor(rules.Secrets)
	p.redact.Store(&redaction{rules, r})
	return r
}

// listener hands the server its connections.
type listener struct{ p *Proxy }

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.p.conns:
		return c, nil
	case <-l.p.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error { return nil }

func (l *listener) Addr() net.Addr { return &net.TCPAddr{} }
