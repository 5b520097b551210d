package lifecycle

import (
	"crypto/tls"
	"net/http/httptest"
	"testing"
)

// TestVaultTransport keeps secrets off networks in clear.
func TestVaultTransport(t *testing.T) {
	t.Parallel()
	const path = "/sandboxes/x/proxy/18080/credential-vault"
	for _, c := range []struct {
		name, method, path, remote, forwardedFor, proto string
		tls, want                                       bool
	}{
		{name: "a unix socket", method: "POST", path: path, remote: "@", want: true},
		{name: "loopback", method: "POST", path: path, remote: "127.0.0.1:1", want: true},
		{name: "loopback 6", method: "PATCH", path: path, remote: "[::1]:1", want: true},
		{name: "mapped", method: "PATCH", path: path, remote: "[::ffff:127.0.0.1]:1", want: true},
		{name: "TLS", method: "POST", path: path, remote: "203.0.113.1:1", tls: true, want: true},
		{name: "in clear", method: "POST", path: path, remote: "203.0.113.1:1"},
		{name: "in clear, patch", method: "PATCH", path: path, remote: "203.0.113.1:1"},
		{name: "in clear, delete", method: "DELETE", path: path, remote: "203.0.113.1:1"},
		{name: "in clear, below /v1", method: "POST", path: "/v1" + path, remote: "203.0.113.1:1"},
		{name: "in clear, it says not", method: "POST", path: path, remote: "203.0.113.1:1", proto: "https"},
		{name: "reading", method: "GET", path: path, remote: "203.0.113.1:1", want: true},
		{name: "the policy", method: "POST", path: "/sandboxes/x/proxy/18080/policy", remote: "203.0.113.1:1", want: true},
		{name: "passed on", method: "POST", path: path, remote: "@", forwardedFor: "203.0.113.1", proto: "http"},
		{name: "passed on, TLS", method: "POST", path: path, remote: "@", forwardedFor: "203.0.113.1", proto: "https", want: true},
		{name: "passed on, loopback", method: "POST", path: path, remote: "@", forwardedFor: "127.0.0.1", proto: "http", want: true},
		{name: "passed on twice", method: "POST", path: path, remote: "127.0.0.1:1", forwardedFor: "127.0.0.1, 203.0.113.1", proto: "http"},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		r.RemoteAddr = c.remote
		if c.tls {
			r.TLS = &tls.ConnectionState{}
		}
		if c.forwardedFor != "" {
			r.Header.Set("X-Forwarded-For", c.forwardedFor)
		}
		if c.proto != "" {
			r.Header.Set("X-Forwarded-Proto", c.proto)
		}
		if got := vaultTransport(r); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
