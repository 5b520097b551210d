package execd

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
)

// proxy relays a request to a port of the sandbox itself: rest is
// PORT[/path]. WebSockets pass as well.
func (s *Server) proxy(w http.ResponseWriter, r *http.Request, rest string) {
	port, path, _ := strings.Cut(rest, "/")
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		http.Error(w, "invalid port: "+port, http.StatusBadRequest)
		return
	}
	target := &url.URL{Scheme: "http", Host: "127.0.0.1:" + strconv.FormatUint(n, 10)}
	relay := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host = target.Scheme, target.Host
			p.Out.URL.Path, p.Out.URL.RawPath = "/"+path, ""
			if raw := r.URL.EscapedPath(); strings.Contains(raw, "%") {
				if _, p2, ok := strings.Cut(strings.TrimPrefix(raw, "/proxy/"), "/"); ok {
					p.Out.URL.RawPath = "/" + p2
				}
			}
			p.Out.Host = target.Host
			p.Out.Header.Del(tokenHeader) // no business of whoever listens there
			for k, v := range r.Header {
				if strings.HasPrefix(k, "X-Forwarded-") {
					p.Out.Header[k] = v
				}
			}
		},
		FlushInterval: -1,
		Transport:     s.relay,
		ErrorLog:      s.quiet,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			s.log.Debug("relaying to a port", "op", "proxy", "port", n, "err", err)
			http.Error(w, "Bad Gateway", http.StatusBadGateway)
		},
	}
	_ = http.NewResponseController(w).EnableFullDuplex() // an answer may come before the request's end
	relay.ServeHTTP(w, r)
}
