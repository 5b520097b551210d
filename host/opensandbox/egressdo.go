package opensandbox

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
)

// Do sends a request to the sidecar as it is: whatever it answers is returned, and the caller closes
// the body. Of the request's URL only path and query count; the address, and the headers that the
// server wants to see there, are the client's. Nothing is sent again, and no redirect is followed.
//
// Sidecars take no credentials over a plain connection that is not their own machine's, and answer
// 426; the way through the server's proxy is one.
func (e *Egress) Do(req *http.Request) (*http.Response, error) {
	to := target{sandboxID: e.sandboxID, port: PortEgress}
	call := call{op: "ask egress sidecar", subject: e.sandboxID, to: to, method: req.Method, path: req.URL.EscapedPath()}
	if !strings.HasPrefix(call.path, "/") {
		return nil, e.invalid(call.op, fmt.Errorf("the path %q does not begin with a slash", call.path))
	}
	if err := checkRequestPath(call.path); err != nil {
		return nil, fmt.Errorf("%s: %w", call.name(), err)
	}
	ctx := req.Context()
	address, header, err := e.c.resolve(ctx, to)
	if err != nil {
		return nil, &resolveError{call: call, err: err}
	}
	at, err := url.Parse(address + call.path)
	if err != nil {
		return nil, fmt.Errorf("%s: the server gave an address that is none", call.name())
	}
	at.RawQuery = req.URL.RawQuery
	out := req.Clone(ctx)
	out.URL, out.Host, out.RequestURI = at, "", ""
	maps.Copy(out.Header, header)
	out.Header.Del(headerAPIKey)
	out.Header.Set("User-Agent", e.c.opts.UserAgent)
	if e.c.opts.APIKey != "" && e.c.isControl(address, to) {
		out.Header.Set(headerAPIKey, e.c.opts.APIKey)
	}
	resp, err := e.c.unary.Do(out) //nolint:gosec // the address is the server's, whose sandbox it is
	if err == nil {
		return resp, nil
	}
	if isDialError(err) {
		e.c.forgetEndpoint(e.sandboxID, PortEgress)
	}
	return nil, call.fail(ctx, err)
}
