package opensandbox

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/coder/websocket"
)

// openWebSocket makes a WebSocket to a target, again while nobody takes the connection. ctx bounds
// the handshake only.
func (c *Client) openWebSocket(ctx context.Context, call call, opts *websocket.DialOptions) (*websocket.Conn, error) {
	call.method = http.MethodGet
	var conn *websocket.Conn
	err := c.retry(ctx, call, func() error {
		req, err := c.newRequest(ctx, call)
		if err != nil {
			return err
		}
		for key, values := range opts.HTTPHeader {
			if http.CanonicalHeaderKey(key) != http.CanonicalHeaderKey(headerAPIKey) {
				req.Header[http.CanonicalHeaderKey(key)] = values
			}
		}
		dial := *opts
		dial.HTTPClient, dial.HTTPHeader = c.sockets, req.Header
		ctx, cancel := context.WithTimeoutCause(ctx, c.opts.Timeout,
			fmt.Errorf("%w: no answer within %s", ErrTimeout, c.opts.Timeout))
		defer cancel()
		var resp *http.Response
		conn, resp, err = websocket.Dial(ctx, req.URL.String(), &dial) //nolint:bodyclose // the library has closed it, or keeps it
		switch {
		case err == nil:
			return nil
		case resp != nil && resp.StatusCode != http.StatusSwitchingProtocols:
			return readError(call.op, call.subject, resp)
		}
		return call.fail(ctx, err)
	})
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// WebSocketOptions is what a caller may add to a WebSocket's handshake.
type WebSocketOptions struct {
	Query        url.Values
	Header       http.Header
	Subprotocols []string
	// MaxMessage is the size in bytes of the longest message that is accepted. Default 1 MiB.
	MaxMessage int64
}

// DialWebSocket opens a WebSocket to a server on a port of a sandbox; path begins with a slash and is
// escaped. Keep reading: that is what answers the other side's pings. ctx bounds the handshake only.
//
// Through the control server's proxy a refusal comes as an opened connection that closes with status
// 1008 (refused) or 1011 (any other reason).
func (c *Client) DialWebSocket(ctx context.Context, sandboxID string, port int, path string, opts WebSocketOptions) (*websocket.Conn, error) {
	call := portCall("dial websocket", sandboxID, port)
	if path != "" && path[0] != '/' {
		return nil, fmt.Errorf("%s: %w: the path %q does not begin with a slash", call.name(), ErrInvalid, path)
	}
	call.path, call.query = path, opts.Query
	conn, err := c.openWebSocket(ctx, call, &websocket.DialOptions{HTTPHeader: opts.Header, Subprotocols: opts.Subprotocols})
	if err != nil {
		return nil, err
	}
	const most = 1 << 20
	if opts.MaxMessage <= 0 {
		opts.MaxMessage = most
	}
	conn.SetReadLimit(opts.MaxMessage)
	return conn, nil
}
