package opensandbox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
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
	call := call{
		op: "get endpoint", subject: key.sandboxID, method: http.MethodGet, idempotent: true,
		path: "/sandboxes/" + url.PathEscape(key.sandboxID) + "/endpoints/" + strconv.Itoa(key.port),
	}
	if c.opts.UseServerProxy {
		call.query = url.Values{"use_server_proxy": {"true"}}
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
		return Endpoint{}, fmt.Errorf("%s: port %d: %w", call.name(), key.port, err)
	}
	c.endpoints.mu.Lock()
	defer c.endpoints.mu.Unlock()
	if c.endpoints.known == nil {
		c.endpoints.known = make(map[endpointKey]Endpoint)
	}
	c.endpoints.known[key] = endpoint
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
