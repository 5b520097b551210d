package opensandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const maxReply = 32 << 20

// target says where a request goes: to the control server, or to a port inside a sandbox.
type target struct {
	sandboxID string // empty: the control server
	port      int
}

// call is one request and what may be done with it.
type call struct {
	op, subject string
	to          target
	method      string
	path        string // below the base URL or the endpoint, escaped
	query       url.Values
	body        []byte // JSON
	// idempotent calls may be sent again after bytes were sent.
	idempotent bool
	// single calls are never sent again; their caller has a loop of its own.
	single  bool
	timeout time.Duration
	// bears says of a stream that it bears with the silence of a sandbox that somebody else has paused.
	bears bool
}

// do sends a short call, again when that is safe and promising, and decodes its reply into out
// unless out is nil or the reply has no body.
func (c *Client) do(ctx context.Context, call call, out any) error {
	if call.timeout == 0 {
		call.timeout = c.opts.Timeout
	}
	return c.retry(ctx, call, func() error { return c.attempt(ctx, call, out) })
}

func (c *Client) attempt(ctx context.Context, call call, out any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, call.timeout,
		fmt.Errorf("%w: no answer within %s", ErrTimeout, call.timeout))
	defer cancel()
	req, err := c.newRequest(ctx, call)
	if err != nil {
		return err
	}
	resp, err := c.unary.Do(req)
	if err != nil {
		return call.fail(ctx, err)
	}
	defer discard(resp)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return readError(call.op, call.subject, resp)
	}
	if out == nil {
		return nil
	}
	if own, ok := out.(replyDecoder); ok {
		if err := own.decodeReply(resp); err != nil {
			return call.fail(ctx, err)
		}
		return nil
	}
	reply, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	if err != nil {
		return call.fail(ctx, fmt.Errorf("reading the reply: %w", err))
	}
	if len(reply) > maxReply {
		return call.fail(ctx, fmt.Errorf("the reply is longer than %d bytes", maxReply))
	}
	if len(bytes.TrimSpace(reply)) == 0 {
		return nil
	}
	if err := json.Unmarshal(reply, out); err != nil {
		return &replyError{call: call, body: reply, err: err}
	}
	return nil
}

// replyDecoder is for replies that are more than one JSON value.
type replyDecoder interface {
	decodeReply(resp *http.Response) error
}

// replyError is a success whose body can't be understood. The body is kept, because it may name
// something that was created.
type replyError struct {
	call call
	body []byte
	err  error
}

func (e *replyError) Error() string {
	return e.call.name() + ": decoding the reply: " + e.err.Error()
}

func (e *replyError) Unwrap() error { return e.err }

// resolveError is a call that was not sent because its endpoint is not known. Asking for the
// endpoint has its own retries.
type resolveError struct {
	call call
	err  error
}

func (e *resolveError) Error() string { return e.call.name() + ": " + e.err.Error() }
func (e *resolveError) Unwrap() error { return e.err }

func (c *Client) newRequest(ctx context.Context, call call) (*http.Request, error) {
	address, header, err := c.resolve(ctx, call.to)
	if err != nil {
		return nil, &resolveError{call: call, err: err}
	}
	if err := checkRequestPath(call.path); err != nil {
		return nil, fmt.Errorf("%s: %w", call.name(), err)
	}
	withKey := c.isControl(address, call.to)
	address += call.path
	if len(call.query) > 0 {
		address += "?" + call.query.Encode()
	}
	var body io.Reader
	if call.body != nil {
		body = bytes.NewReader(call.body)
	}
	req, err := http.NewRequestWithContext(ctx, call.method, address, body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", call.name(), err)
	}
	maps.Copy(req.Header, header)
	req.Header.Set("User-Agent", c.opts.UserAgent)
	if c.opts.Traceparent != nil {
		if parent := c.opts.Traceparent(ctx); parent != "" {
			req.Header.Set("Traceparent", parent)
		}
	}
	if call.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.opts.APIKey != "" && withKey {
		req.Header.Set(headerAPIKey, c.opts.APIKey)
	}
	return req, nil
}

// checkRequestPath refuses a path that leads out of where it is put: behind an address inside a
// sandbox, it could end at the control server, with the key.
func checkRequestPath(path string) error {
	decoded, err := url.PathUnescape(path)
	if err != nil {
		return fmt.Errorf("%w: the path %q: %w", ErrInvalid, path, err)
	}
	segments := strings.FieldsFunc(decoded, func(r rune) bool { return r == '/' || r == '\\' })
	if slices.Contains(segments, "..") {
		return fmt.Errorf("%w: the path %q has a segment that leads elsewhere", ErrInvalid, path)
	}
	return nil
}

// resolve returns the address that a target's paths hang under, and the headers that it wants.
func (c *Client) resolve(ctx context.Context, to target) (string, http.Header, error) {
	if to.sandboxID == "" {
		return c.base.String(), nil, nil
	}
	endpoint, err := c.Endpoint(ctx, to.sandboxID, to.port)
	if err != nil {
		return "", nil, err
	}
	return endpoint.URL, endpoint.Header, nil
}

// isControl reports whether what hangs under an address is the control server's own, or its proxy's,
// which takes the API key off before it passes anything on. Everything else is inside a sandbox and
// must never see the key. Only the address counts, because the path behind it is a sandbox's business.
func (c *Client) isControl(address string, t target) bool {
	if t.sandboxID == "" {
		return true
	}
	to, err := url.Parse(address)
	return err == nil && to.Scheme == c.base.Scheme && to.Host == c.base.Host &&
		strings.HasSuffix(strings.TrimRight(to.Path, "/"), "/sandboxes/"+t.sandboxID+"/proxy/"+strconv.Itoa(t.port))
}

// retry runs attempt until it succeeds or another try is unsafe or useless.
func (c *Client) retry(ctx context.Context, call call, attempt func() error) error {
	backoff := firstBackoff
	for n := 1; ; n++ {
		err := attempt()
		if err == nil {
			return nil
		}
		if call.to.sandboxID != "" && endpointIsStale(err) {
			c.forgetEndpoint(call.to.sandboxID, call.to.port)
		}
		if n >= c.opts.Attempts || !mayRetry(call, err) || ctx.Err() != nil {
			return err
		}
		wait := backoff/2 + rand.N(backoff) //nolint:gosec // spreads load; nobody gains by guessing it
		if refused, ok := errors.AsType[*Error](err); ok && refused.RetryAfter > wait {
			if refused.RetryAfter > maxRetryAfter {
				return err
			}
			wait = refused.RetryAfter
		}
		backoff *= 2
		if sleep(ctx, wait) != nil {
			return err
		}
	}
}

func mayRetry(call call, err error) bool {
	var unresolved *resolveError
	if call.single || errors.As(err, &unresolved) {
		return false
	}
	if isDialError(err) {
		return true
	}
	if !call.idempotent {
		return false
	}
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused.Status == http.StatusTooManyRequests || refused.Status == http.StatusBadGateway ||
			refused.Status == http.StatusServiceUnavailable
	}
	var reply *replyError
	return !errors.As(err, &reply)
}

// isDialError reports whether nothing was sent, because nobody took the connection.
func isDialError(err error) bool {
	var dial *net.OpError
	if !errors.As(err, &dial) || dial.Op != "dial" {
		return false
	}
	var dns *net.DNSError
	return !errors.As(err, &dns) || !dns.IsNotFound
}

// endpointIsStale reports whether an error may come from an address that isn't right any more.
func endpointIsStale(err error) bool {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return true
	}
	var refused *Error
	return errors.As(err, &refused) && refused.Status == http.StatusBadGateway
}

func (call call) name() string {
	if call.subject == "" {
		return call.op
	}
	return fmt.Sprintf("%s %q", call.op, call.subject)
}

// fail wraps what the HTTP client returned: without the URL, which can carry a signature, and with
// our own limit's name where it was our limit.
func (call call) fail(ctx context.Context, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if ctx.Err() != nil {
		if cause := context.Cause(ctx); !errors.Is(err, cause) {
			err = cause
		}
	}
	return fmt.Errorf("%s: %w", call.name(), err)
}

// in says which call an error belongs to that came in its answer's middle.
func (call call) in(err error) error {
	if refused, ok := errors.AsType[*Error](err); ok {
		refused.Op, refused.Subject = call.op, call.subject
		return err
	}
	return fmt.Errorf("%s: %w", call.name(), err)
}

// discard closes a reply so that its connection can be used again when little is left of it.
func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	_ = resp.Body.Close()
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
