package lifecycle

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/alineo-labs/alineo-host/host/internal/engine/shim"
	"github.com/alineo-labs/alineo-host/host/internal/engine/unixsock"
)

// Direct carries requests into sandboxes past the process that serves the data directory, so that what they
// stream goes on when that process ends. Only who may open the directory can: the sockets are in it.
//
// The serving process is asked first whether the sandbox is there and goes on, and answers itself where it
// is not, and whatever is no request into a sandbox.
type Direct struct {
	DataDir string
	Server  http.RoundTripper // to the process that serves
}

// intoSandbox are the paths that proxy serves: the sandbox, the port, and what follows.
var intoSandbox = regexp.MustCompile(`^(?:/v1)?/sandboxes/([^/]+)/proxy/([0-9]+)(?:/|$)`)

// RoundTrip is http.RoundTripper's.
func (d *Direct) RoundTrip(r *http.Request) (*http.Response, error) {
	id, port, ok := inside(r)
	if !ok {
		return d.Server.RoundTrip(r)
	}
	no, err := d.ask(r, id)
	if no != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return no, nil
	}
	var c net.Conn
	if err == nil {
		c, err = unixsock.Dial(r.Context(), filepath.Join(d.DataDir, sandboxesDir, id, shim.ExecdSocket))
	}
	if err != nil {
		return d.Server.RoundTrip(r) // which says what is wrong
	}
	out := r.Clone(r.Context())
	out.URL.Path, out.URL.RawPath = pathInside(port, afterPort(r.URL.Path)), pathInside(port, afterPort(r.URL.EscapedPath()))
	out.Host = "127.0.0.1:" + strconv.Itoa(port)
	withoutKeys(out.Header)
	// The connection is this request's alone: a command can't be sent twice.
	var used atomic.Bool
	one := &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			if used.Swap(true) {
				return nil, net.ErrClosed
			}
			return c, nil
		},
		DisableKeepAlives: true, DisableCompression: true,
	}
	resp, err := one.RoundTrip(out)
	if !used.Swap(true) {
		_ = c.Close() // the request had ended before it was sent
	}
	if resp != nil {
		resp.Request = r
	}
	return resp, err
}

// inside tells the sandbox and the port that a request leads to. The egress API is the shim's.
func inside(r *http.Request) (id string, port int, ok bool) {
	m := intoSandbox.FindStringSubmatch(r.URL.Path)
	if m == nil || r.Header.Get("Upgrade") != "" && !isWebSocket(r) {
		return "", 0, false
	}
	port, err := parsePort(m[2])
	u, bad := uuid.Parse(m[1])
	return m[1], port, err == nil && port != egressPort && bad == nil && u.String() == m[1]
}

// ask returns an answer where the sandbox can't be reached. Like every request it waits until a paused one
// goes on, and lets one live longer that asked for that when it is used.
func (d *Direct) ask(r *http.Request, id string) (no *http.Response, err error) {
	ping := r.URL.Scheme + "://" + r.URL.Host + "/sandboxes/" + id + "/proxy/" + strconv.Itoa(execdPort) + "/ping"
	q, err := http.NewRequestWithContext(r.Context(), http.MethodGet, ping, http.NoBody) //nolint:gosec // Server leads to one socket, whatever the host
	if err != nil {
		return nil, err
	}
	resp, err := d.Server.RoundTrip(q)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Request = r
		return resp, nil
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return nil, errors.Join(err, resp.Body.Close())
}
