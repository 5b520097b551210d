package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// Options say where a plugin may send to.
type Options struct {
	Allow   []string // https://host:port/prefix, each with all that lies below it
	Private []string // hosts of Allow that may stand for loopback and private addresses
	CA      []byte   // PEM; when given, servers are trusted that these vouch for, and no others
	// Lookup finds the addresses of a host; nil is the system's way.
	Lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
}

const (
	maxHops       = 5
	dialTimeout   = 10 * time.Second
	maxHeader     = 256 << 10 // bytes, of a reply
	idleTimeout   = 30 * time.Second
	maxIdleOfHost = 2
)

// Client sends requests. It is safe for concurrent use.
type Client struct {
	grants  []grant
	private []string
	lookup  func(ctx context.Context, network, host string) ([]netip.Addr, error)
	dialer  net.Dialer
	plain   *http.Transport
	http    http.Client
}

// New returns the client of one plugin. It does no I/O.
func New(opts Options) (*Client, error) {
	c := &Client{lookup: opts.Lookup, dialer: net.Dialer{Timeout: dialTimeout}}
	if c.lookup == nil {
		c.lookup = net.DefaultResolver.LookupNetIP
	}
	for _, text := range opts.Allow {
		g, err := parseGrant(text)
		if err != nil {
			return nil, fmt.Errorf("granting HTTP to %q: %w", text, err)
		}
		c.grants = append(c.grants, g)
	}
	for _, host := range opts.Private {
		c.private = append(c.private, canonicalHost(host))
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(opts.CA) > 0 {
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(opts.CA) {
			return nil, errors.New("granting HTTP: the CA file has no certificate in PEM form")
		}
	}
	c.plain = &http.Transport{
		DialContext: c.dial, TLSClientConfig: conf, TLSHandshakeTimeout: dialTimeout, DisableCompression: true,
		MaxResponseHeaderBytes: maxHeader, IdleConnTimeout: idleTimeout, MaxIdleConnsPerHost: maxIdleOfHost,
	}
	c.http = http.Client{Transport: c.plain, CheckRedirect: c.redirect}
	return c, nil
}

// redirect looks at each hop.
func (c *Client) redirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxHops {
		return deniedf("the server redirects more than %d times", maxHops)
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return deniedf("the server redirects from https to %s", origin(req.URL))
	}
	if err := c.Permits(req.URL); err != nil {
		return fmt.Errorf("following a redirect: %w", err)
	}
	return nil
}

// Do sends a request and follows redirects. A *DeniedError in the error says that it was not allowed,
// or that a redirect wasn't. No error repeats headers, bodies or queries.
func (c *Client) Do(req *http.Request) (*http.Response, error) {
	if err := c.Permits(req.URL); err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req) //nolint:gosec // where it goes was just permitted, and each hop will be
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// Granted says whether there is a grant at all.
func (c *Client) Granted() bool { return len(c.grants) > 0 }

// Close lets go of idle connections.
func (c *Client) Close() error {
	c.plain.CloseIdleConnections()
	return nil
}
