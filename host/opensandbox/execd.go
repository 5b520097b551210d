package opensandbox

import (
	"context"
	"net/http"
	"time"
)

// Execd is the service inside one sandbox that runs commands and serves files. It holds nothing but
// the sandbox's id, and is safe for concurrent use.
type Execd struct {
	c         *Client
	sandboxID string
}

// Execd returns the execd of a sandbox. It does no I/O: where it is reached is found out on first
// use.
func (c *Client) Execd(sandboxID string) *Execd {
	return &Execd{c: c, sandboxID: sandboxID}
}

// Ping asks execd once whether it is there. After create it takes a moment until it is: refused
// connections, 404, 502 and 503 mean not yet, 401 and 403 mean never.
func (e *Execd) Ping(ctx context.Context) error {
	const limit = 5 * time.Second
	return e.c.do(ctx, call{
		op: "ping execd", subject: e.sandboxID, to: e.target(), method: http.MethodGet, path: "/ping",
		single: true, timeout: min(limit, e.c.opts.Timeout),
	}, nil)
}

func (e *Execd) target() target { return target{sandboxID: e.sandboxID, port: PortExecd} }
