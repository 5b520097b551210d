package intercept

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/alineo-labs/alineo-host/host/internal/engine/trail"
	"github.com/alineo-labs/alineo-host/host/internal/engine/vault"
)

// exchange is one request on its way.
type exchange struct {
	session *session
	rules   *vault.Rules
	inject  *vault.Injection // nil: none
	path    string           // as the process sent it
	query   string
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange) //nolint:errcheck // handle puts it there
	return x
}

func (p *Proxy) record(r *http.Request, kind trail.Kind, reason string) {
	s, _ := r.Context().Value(sessionKey{}).(*session) //nolint:errcheck // the server puts it there
	path, _, _ := strings.Cut(r.RequestURI, "?")
	p.opts.Record(trail.Entry{Kind: kind, Host: s.name, Port: s.port, Method: r.Method, Path: path, Reason: reason})
}

// refuse answers a request that doesn't go out.
func (p *Proxy) refuse(w http.ResponseWriter, r *http.Request, code int, reason string) {
	p.record(r, trail.Refused, reason)
	http.Error(w, reason, code)
}

// handle answers one request of the sandbox's.
func (p *Proxy) handle(w http.ResponseWriter, r *http.Request) {
	s, _ := r.Context().Value(sessionKey{}).(*session) //nolint:errcheck // the server puts it there
	switch {
	case s == nil:
		http.Error(w, "no connection", http.StatusInternalServerError)
		return
	case r.Method == http.MethodConnect:
		p.refuse(w, r, http.StatusMethodNotAllowed, "the method is CONNECT")
		return
	case !strings.HasPrefix(r.RequestURI, "/"):
		p.refuse(w, r, http.StatusBadRequest, "the target is not a path")
		return
	case !s.hostIs(r.Host):
		p.refuse(w, r, http.StatusMisdirectedRequest, fmt.Sprintf("the request is for %q, the connection is not", r.Host))
		return
	case !p.opts.Allowed(s.name):
		p.refuse(w, r, http.StatusForbidden, "egress policy does not allow the host")
		return
	}
	enter(r.Context(), p.requests)
	defer func() { <-p.requests }()
	x := &exchange{session: s, rules: p.opts.Rules()}
	x.path, x.query, _ = strings.Cut(r.RequestURI, "?")
	if err := p.choose(x, r); err != nil {
		p.refuse(w, r, http.StatusForbidden, err.Error())
		return
	}
	if x.inject != nil && replacer(x.inject, vault.InBody, asIs) != nil {
		enter(r.Context(), p.bodies)
		leave := sync.OnceFunc(func() { <-p.bodies })
		defer leave()
		if err := substituteBody(x.inject, r); err != nil {
			p.failed(w, r, err)
			return
		}
		r.Body = sent{r.Body, leave}
	}
	p.relay.ServeHTTP(&guarded{ResponseWriter: w, proxy: p}, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
}

// enter waits for room, which the caller gives back. When nobody waits for the answer any more it ends
// the request.
func enter(ctx context.Context, room chan struct{}) {
	select {
	case room <- struct{}{}:
	case <-ctx.Done():
		panic(http.ErrAbortHandler)
	}
}

// sent is a body that tells when it isn't needed any more.
type sent struct {
	io.ReadCloser
	then func()
}

func (s sent) Close() error {
	s.then()
	return s.ReadCloser.Close() //nolint:wrapcheck // it stands for it
}

// hostIs tells whether a request's Host is what the connection goes to.
func (t target) hostIs(host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, strconv.Itoa(int(t.port))
	}
	return strings.ToLower(strings.TrimSuffix(name, ".")) == t.name && port == strconv.Itoa(int(t.port))
}

// choose finds what the request gets.
func (p *Proxy) choose(x *exchange, r *http.Request) (err error) {
	q := vault.Request{Scheme: x.session.scheme(), Host: x.session.name, Port: int(x.session.port), Method: r.Method, Path: x.path}
	if x.inject, err = x.rules.Select(q); err != nil {
		return err //nolint:wrapcheck // it is the answer
	}
	if x.inject == nil {
		p.record(r, trail.Withheld, "the host has no binding for "+strings.ToUpper(q.Scheme)+" requests with this method and path")
		return nil
	}
	if err := checkPath(x.rules, q, x.inject); err != nil {
		return err
	}
	if name := overrides(r.Header); name != "" {
		return fmt.Errorf("request header %s could make another request of it", name)
	}
	if x.path, x.query, err = substituteTarget(x.inject, x.path, x.query); err != nil {
		return err
	}
	if err := substituteHeaders(x.inject, r.Header); err != nil {
		return err
	}
	p.record(r, trail.Injected, "binding "+strconv.Quote(x.inject.Binding))
	return nil
}

// overrides finds a header by which some servers take a request for one with another method or path than
// those that the binding was chosen by.
func overrides(h http.Header) string {
	for name := range h {
		switch strings.ToLower(strings.ReplaceAll(name, "_", "-")) {
		case "x-http-method-override", "x-http-method", "x-method-override", "x-original-url", "x-rewrite-url", "x-original-uri":
			return name
		}
	}
	return ""
}

// rewrite makes the request that goes out.
func (p *Proxy) rewrite(pr *httputil.ProxyRequest) {
	x := exchangeOf(pr.In.Context())
	out := pr.Out
	plain, err := url.PathUnescape(x.path)
	if err != nil {
		plain = x.path
	}
	out.URL = &url.URL{Scheme: x.session.scheme(), Host: net.JoinHostPort(x.session.name, strconv.Itoa(int(x.session.port))), Path: plain, RawPath: x.path, RawQuery: x.query}
	out.Host = pr.In.Host
	out.Trailer = nil
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v := pr.In.Header.Values(name); v != nil {
			out.Header[name] = v // the process's own, which the relay takes away
		}
	}
	if !isWebSocket(pr.In) {
		out.Header.Del("Upgrade")
		out.Header.Del("Connection")
	}
	// What comes back must be looked into.
	out.Header.Del("Sec-Websocket-Extensions")
	out.Header.Set("Accept-Encoding", "identity")
	if x.inject == nil {
		return
	}
	for _, h := range x.inject.Headers {
		out.Header[h.Name] = []string{string(h.Value)}
	}
}

func isWebSocket(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// failed answers when there is no answer.
func (p *Proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	if m, ok := errors.AsType[malformed](err); ok {
		http.Error(w, m.reason, http.StatusBadRequest) // it has been recorded
		return
	}
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // nobody waits for it
	}
	if refused, ok := errors.AsType[*trail.RefusedError](err); ok {
		p.refuse(w, r, http.StatusForbidden, refused.Reason)
		return
	}
	if opaque, ok := errors.AsType[*opaqueError](err); ok {
		p.refuse(w, r, http.StatusBadGateway, opaque.Error())
		return
	}
	// The text of the error may have parts of the request in it.
	reason := "the upstream can't be reached, or its answer can't be read"
	switch {
	case isCertificate(err):
		reason = "the upstream's certificate is not valid for this name"
	case isTimeout(err):
		reason = "the upstream didn't answer in time"
	}
	p.refuse(w, r, http.StatusBadGateway, reason)
}
