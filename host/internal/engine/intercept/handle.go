package intercept

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"

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
	x := &exchange{session: s, rules: p.opts.Rules()}
	x.path, x.query, _ = strings.Cut(r.RequestURI, "?")
	if err := p.choose(x, r); err != nil {
		p.refuse(w, r, http.StatusForbidden, err.Error())
		return
	}
	if x.inject != nil {
		if err := substituteBody(x.inject, r); err != nil {
			p.failed(w, r, err)
			return
		}
	}
	p.relay.ServeHTTP(&guarded{ResponseWriter: w, proxy: p}, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
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
	if x.path, x.query, err = substituteTarget(x.inject, x.path, x.query); err != nil {
		return err
	}
	if err := substituteHeaders(x.inject, r.Header); err != nil {
		return err
	}
	p.record(r, trail.Injected, "binding "+strconv.Quote(x.inject.Binding))
	return nil
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
