package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// loopback tells whether only this machine reaches a host.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// admit refuses who may not come in.
func (s *Server) admit(r *http.Request, pattern string) error {
	if s.opts.Token == "" {
		return sameMachine(r)
	}
	if pattern == "GET /healthz" {
		return nil // it tells nothing
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	// Of digests, so that not even the length is told by the time it takes.
	got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(s.opts.Token))
	if !ok || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		return &httpError{http.StatusUnauthorized, "unauthorized", "send \"Authorization: Bearer TOKEN\" with the token of [serve]"}
	}
	return nil
}

// sameMachine refuses requests that a browser makes for a page of another site: it runs on this machine too.
func sameMachine(r *http.Request) error {
	refuse := func(why string) error {
		return &httpError{http.StatusForbidden, "cross_origin", why + "; set [serve] token to let others in"}
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(r.Host); err == nil {
		host = name
	}
	// Else a name that somebody has lead here would make their page one of ours.
	if !loopback(strings.Trim(host, "[]")) {
		return refuse("the request is for another host than this machine")
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return refuse("the request comes from a page of another site")
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || u.Host != r.Host {
			return refuse("the request comes from a page of another site")
		}
	}
	return nil
}
