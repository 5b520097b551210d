package opensandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Endpoint is where one port of one sandbox is reached.
type Endpoint struct {
	// URL has a scheme and no slash at its end; it may have a path.
	URL string
	// Header must be on every request there. It is shared: don't change it.
	Header http.Header
}

type endpointKey struct {
	sandboxID string
	port      int
}

type endpointCache struct {
	mu    sync.Mutex
	known map[endpointKey]Endpoint
}

// Endpoint asks the control server where a port of a sandbox is reached, once: callers at the same
// time share one request, and the answer is kept until a connection there fails, or
// [Client.ForgetEndpoints].
func (c *Client) Endpoint(ctx context.Context, sandboxID string, port int) (Endpoint, error) {
	key := endpointKey{sandboxID, port}
	c.endpoints.mu.Lock()
	known, ok := c.endpoints.known[key]
	c.endpoints.mu.Unlock()
	if ok {
		return known, nil
	}
	// The request is shared, so it must not end with the context of the caller who came first.
	done := c.resolving.DoChan(sandboxID+"/"+strconv.Itoa(port), func() (any, error) {
		return c.fetchEndpoint(context.WithoutCancel(ctx), key)
	})
	select {
	case <-ctx.Done():
		return Endpoint{}, fmt.Errorf("get endpoint %q: %w", sandboxID, context.Cause(ctx))
	case result := <-done:
		if result.Err != nil {
			return Endpoint{}, result.Err
		}
		endpoint, _ := result.Val.(Endpoint)
		return endpoint, nil
	}
}

func (c *Client) fetchEndpoint(ctx context.Context, key endpointKey) (Endpoint, error) {
	endpoint, err := c.LookUpEndpoint(ctx, key.sandboxID, key.port, EndpointOptions{UseServerProxy: c.opts.UseServerProxy})
	if err != nil {
		return Endpoint{}, err
	}
	c.endpoints.mu.Lock()
	defer c.endpoints.mu.Unlock()
	if c.endpoints.known == nil {
		c.endpoints.known = make(map[endpointKey]Endpoint)
	}
	c.endpoints.known[key] = endpoint
	return endpoint, nil
}

// EndpointOptions chooses the form of an endpoint. The zero value is the direct one.
type EndpointOptions struct {
	// UseServerProxy asks for the way through the control server.
	UseServerProxy bool
	// Expires asks for a signed address that works without headers until then, to be handed on. Only
	// servers with a gateway have it, and not together with UseServerProxy.
	Expires time.Time
}

// LookUpEndpoint asks the control server for one form of a port's address, and remembers nothing.
// There is an endpoint for every port of a sandbox, whether something listens there or not.
func (c *Client) LookUpEndpoint(ctx context.Context, sandboxID string, port int, opts EndpointOptions) (Endpoint, error) {
	call := call{
		op: "get endpoint", subject: sandboxID, method: http.MethodGet, idempotent: true, query: url.Values{},
		path: "/sandboxes/" + url.PathEscape(sandboxID) + "/endpoints/" + strconv.Itoa(port),
	}
	if port < 1 || port > 65535 {
		return Endpoint{}, fmt.Errorf("%s: %w: port %d is not between 1 and 65535", call.name(), ErrInvalid, port)
	}
	if opts.UseServerProxy {
		call.query.Set("use_server_proxy", "true")
	}
	if !opts.Expires.IsZero() {
		if opts.UseServerProxy {
			return Endpoint{}, fmt.Errorf("%s: %w: the server's proxy has no signed addresses", call.name(), ErrInvalid)
		}
		call.query.Set("expires", strconv.FormatInt(opts.Expires.Unix(), 10))
	}
	var reply struct {
		Endpoint string            `json:"endpoint"`
		Headers  map[string]string `json:"headers"`
	}
	if err := c.do(ctx, call, &reply); err != nil {
		return Endpoint{}, err
	}
	endpoint, err := c.parseEndpoint(reply.Endpoint, reply.Headers)
	if err != nil {
		return Endpoint{}, fmt.Errorf("%s: port %d: %w", call.name(), port, err)
	}
	return endpoint, nil
}

func (c *Client) parseEndpoint(address string, headers map[string]string) (Endpoint, error) {
	if address == "" {
		return Endpoint{}, errors.New("the server gave no endpoint")
	}
	if !strings.HasPrefix(address, "http://") && !strings.HasPrefix(address, "https://") {
		address = c.base.Scheme + "://" + address
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return Endpoint{}, fmt.Errorf("the server gave an endpoint that is no address: %q", address)
	}
	if other, ok := c.opts.EndpointHosts[parsed.Hostname()]; ok {
		if parsed.Port() != "" && !strings.Contains(other, ":") {
			other = net.JoinHostPort(other, parsed.Port())
		}
		parsed.Host = other
		address = parsed.String()
	}
	header := make(http.Header, len(headers))
	for key, value := range headers {
		// Whatever a server puts there, the key is not for sandboxes.
		if !strings.EqualFold(key, headerAPIKey) {
			header.Set(key, value)
		}
	}
	return Endpoint{URL: strings.TrimRight(address, "/"), Header: header}, nil
}

// ForgetEndpoints drops what is known about a sandbox's addresses. Call it when they may have
// changed, as after pause and resume.
func (c *Client) ForgetEndpoints(sandboxID string) {
	c.endpoints.mu.Lock()
	defer c.endpoints.mu.Unlock()
	for key := range c.endpoints.known {
		if key.sandboxID == sandboxID {
			delete(c.endpoints.known, key)
		}
	}
}

func (c *Client) forgetEndpoint(sandboxID string, port int) {
	c.endpoints.mu.Lock()
	defer c.endpoints.mu.Unlock()
	delete(c.endpoints.known, endpointKey{sandboxID, port})
}
