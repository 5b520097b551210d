package capability

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability/outbound"
)

// Bounds of one exchange, bytes.
const (
	maxSent       = 16 << 20 // of a request's body with its secrets
	maxSentHeader = 64 << 10 // of one header with its secrets
	defaultReply  = 1 << 20
	maxReply      = 8 << 20
)

// httpSend is the operation http.send.
func (s *Set) httpSend(ctx context.Context, call *Call, req, dst []byte) ([]byte, *abi.Error) {
	var m abi.HTTPRequest
	if err := m.Unmarshal(req); err != nil {
		return dst, malformed(abi.OpHTTPSend, err)
	}
	if failure := call.roomForSecrets(len(m.Extract)); failure != nil {
		return dst, failure
	}
	if m.TimeoutMS > 0 && m.TimeoutMS < uint64(maxKeptTime/time.Millisecond) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(m.TimeoutMS)*time.Millisecond)
		defer cancel()
	}
	x := exchange{set: s, call: call, m: &m}
	reply, failure := x.run(ctx)
	if failure != nil {
		return dst, failure
	}
	return reply.AppendTo(dst), nil
}

// exchange is one request and its reply.
type exchange struct {
	set   *Set
	call  *Call
	m     *abi.HTTPRequest
	spent []string // values of the request's secrets
	sent  atomic.Bool
}

func (x *exchange) run(ctx context.Context) (*abi.HTTPReply, *abi.Error) {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { x.sent.Store(true) }})
	req, failure := x.request(ctx)
	if failure != nil {
		return nil, failure
	}
	do := x.set.doWeb
	if x.m.Endpoint != 0 {
		endpoint, ok := x.call.endpoint(x.m.Endpoint)
		if !ok {
			return nil, failf(abi.CodeNotFound, "there is no endpoint %d in this call", x.m.Endpoint)
		}
		do = endpoint.Do
	}
	resp, err := do(req)
	if err != nil {
		return nil, x.failed(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read as far as it counts
	limit := int64(bound(x.m.MaxBytes, defaultReply, maxReply))
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		x.sent.Store(true)
		return nil, x.failed(ctx, err)
	}
	if int64(len(body)) > limit {
		return nil, failf(abi.CodeResourceExhausted, "the reply of %s with status %d has more than %d bytes", x.where(), resp.StatusCode, limit)
	}
	return x.reply(resp, body), nil
}

func (s *Set) doWeb(req *http.Request) (*http.Response, error) {
	if s.web == nil {
		return nil, &outbound.DeniedError{Reason: fmt.Sprintf("plugin %q was granted no HTTP", s.plugin)}
	}
	return s.web.Do(req)
}

// request builds what is sent, with the secrets in it.
func (x *exchange) request(ctx context.Context) (*http.Request, *abi.Error) {
	u, err := url.Parse(x.m.URL)
	if err != nil {
		return nil, failf(abi.CodeInvalid, "the request's url can't be read")
	}
	if x.m.Endpoint != 0 {
		if u.IsAbs() || u.Host != "" || !strings.HasPrefix(x.m.URL, "/") || u.Fragment != "" || leadsUp(u) {
			return nil, failf(abi.CodeInvalid, "behind an endpoint, url is a path that begins with a slash and leads nowhere else")
		}
	} else if u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, failf(abi.CodeInvalid, "without an endpoint, url begins with https:// or http:// and a host")
	}
	method := x.m.Method
	if method == "" {
		method = http.MethodGet
	}
	if !isToken(method) || slices.Contains([]string{http.MethodConnect, http.MethodTrace}, strings.ToUpper(method)) {
		return nil, failf(abi.CodeInvalid, "the method %q can't be used", method)
	}
	body, failure := x.fill("body", x.m.Body, maxSent)
	if failure != nil {
		return nil, failure
	}
	var reader io.Reader
	if len(x.m.Body) > 0 {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), reader)
	if err != nil {
		return nil, failf(abi.CodeInvalid, "the request can't be made")
	}
	req.Header.Set("User-Agent", "alineo-host")
	for i := range x.m.Headers {
		name := strings.Clone(x.m.Headers[i].Name)
		if !isToken(name) || !ownHeader(name) {
			return nil, failf(abi.CodeInvalid, "the header %q is not a guest's to set", name)
		}
		value, failure := x.fill("header "+name, x.m.Headers[i].Value, maxSentHeader)
		if failure != nil {
			return nil, failure
		}
		if bytes.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return nil, failf(abi.CodeInvalid, "the value of header %q has a line break or another control character", name)
		}
		req.Header.Add(name, string(value))
	}
	return req, nil
}

func leadsUp(u *url.URL) bool {
	return slices.ContainsFunc(strings.FieldsFunc(u.Path, func(r rune) bool { return r == '/' || r == '\\' }),
		func(segment string) bool { return segment == ".." })
}

// isToken tells a header's name or a method from what would break the request.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// ownHeader tells what a guest may set from what belongs to the connection or to the host.
func ownHeader(name string) bool {
	switch strings.ToLower(name) {
	case "host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer", "expect", "accept-encoding":
		return false
	}
	return !strings.HasPrefix(strings.ToLower(name), "proxy-")
}

// fill puts the parts of a body or header together.
func (x *exchange) fill(what string, parts []abi.HTTPPart, limit int) ([]byte, *abi.Error) {
	var out []byte
	for i := range parts {
		part := &parts[i]
		if part.Secret == 0 {
			out = append(out, part.Literal...)
		} else {
			secret, ok := x.call.Secret(part.Secret)
			if !ok {
				return nil, failf(abi.CodeNotFound, "there is no secret %d in this call", part.Secret)
			}
			value := secret.Reveal()
			encoded, ok := encodeSecret(value, part.Encoding)
			if !ok {
				return nil, failf(abi.CodeInvalid, "part %d of the %s has an encoding that is none", i, what)
			}
			out = append(out, encoded...)
			x.spent = append(x.spent, value)
		}
		if len(out) > limit {
			return nil, failf(abi.CodeInvalid, "the %s of the request has more than %d bytes", what, limit)
		}
	}
	return out, nil
}

// where is the request's place, for messages.
func (x *exchange) where() string {
	if x.m.Endpoint != 0 {
		return "the sandbox's endpoint"
	}
	u, err := url.Parse(x.m.URL)
	if err != nil {
		return "the address"
	}
	return u.Scheme + "://" + u.Host
}

// failed says why there is no reply. Secrets are not in the messages of net/http, nor are bodies; the
// URL is, and is left out for its query.
func (x *exchange) failed(ctx context.Context, err error) *abi.Error {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	if denied, ok := errors.AsType[*outbound.DeniedError](err); ok {
		text := denied.Reason
		if x.sent.Load() {
			text = x.where() + ": " + err.Error()
		}
		return failf(abi.CodeDenied, "%s; [plugins.%s.grant] in alineo.toml says where plugin %q may send HTTP requests",
			redactText(text, x.spent), key(x.set.plugin), x.set.plugin)
	}
	code, retryable := abi.CodeUnavailable, true
	switch {
	case x.sent.Load():
		code = abi.CodeUnknownOutcome
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded):
		code = abi.CodeDeadline
	}
	if x.m.Endpoint != 0 {
		// Where the endpoint is stays with the host: the caller is told, the guest isn't.
		x.call.trouble = err
		failure := failf(code, "%s gave no answer", x.where())
		failure.Retryable = true
		return failure
	}
	text := err.Error()
	var unknown x509.UnknownAuthorityError
	var verification *tls.CertificateVerificationError
	switch {
	case errors.As(err, &unknown):
		retryable = false
		text += fmt.Sprintf(" (when it is a private one, ca = \"./ca.pem\" below [plugins.%s.grant] names who vouches for it)", key(x.set.plugin))
	case errors.As(err, &verification):
		retryable = false
	}
	failure := failf(code, "%s: %s", x.where(), redactText(text, x.spent))
	failure.Retryable = retryable
	return failure
}
