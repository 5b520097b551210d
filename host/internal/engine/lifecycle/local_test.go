package lifecycle

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestLocal asks as programs of this machine do, and as pages in its browser.
func TestLocal(t *testing.T) {
	t.Parallel()
	const app, api = "/sandboxes/x/proxy/3000/index.html", "/v1/sandboxes"
	page := func(site string) http.Header { return http.Header{"Sec-Fetch-Site": {site}} }
	for _, c := range []struct {
		name, host, path string
		header           http.Header
		refused          bool
	}{
		{name: "a program", host: "127.0.0.1:8080", path: api},
		{name: "a program, by name", host: "LocalHost:8080", path: api},
		{name: "a program, IPv6", host: "[::1]:8080", path: api},
		{name: "a program, no port", host: "[::1]", path: api},
		{name: "undici", host: "localhost:8080", path: api, header: http.Header{"Sec-Fetch-Mode": {"cors"}}},
		{name: "who types the address", host: "localhost:8080", path: api, header: page("none")},
		{name: "another site", host: "localhost:8080", path: api, header: page("cross-site"), refused: true},
		{name: "another port", host: "localhost:8080", path: api, header: page("same-site"), refused: true},
		{name: "a page of a sandbox", host: "localhost:8080", path: api, header: page("same-origin"), refused: true},
		{name: "an old browser", host: "localhost:8080", path: api, header: http.Header{"Origin": {"http://localhost:3000"}}, refused: true},
		{name: "a file, in an old browser", host: "localhost:8080", path: api, header: http.Header{"Origin": {"null"}}, refused: true},
		{name: "a WebSocket client in Python", host: "localhost:8080", path: api, header: http.Header{"Origin": {"http://localhost:8080"}}},
		{name: "a name that was led here", host: "evil.example:8080", path: api, refused: true},
		{name: "an address that was not", host: "192.0.2.1", path: api, refused: true},
		{name: "no host", path: api, refused: true},
		{name: "its own server", host: "localhost:8080", path: app, header: page("same-origin")},
		{name: "a link to its own server", host: "localhost:8080", path: "/v1" + app, header: page("cross-site")},
		{name: "its own server, under another name", host: "evil.example", path: app, header: page("same-origin"), refused: true},
		{name: "execd", host: "localhost:8080", path: "/sandboxes/x/proxy/44772/command", header: page("same-origin"), refused: true},
		{name: "execd, written otherwise", host: "localhost:8080", path: "/sandboxes/x/proxy/044772/command", header: page("same-origin"), refused: true},
		{name: "egress", host: "localhost:8080", path: "/v1/sandboxes/x/proxy/18080", header: page("cross-site"), refused: true},
		{name: "a way back", host: "localhost:8080", path: "/sandboxes/x/proxy/3000/../../../y", header: page("cross-site"), refused: true},
		{name: "health", host: "anything", path: "/health", header: page("cross-site")},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://h"+c.path, strings.NewReader("{}"))
		r.Host, r.Header = c.host, c.header
		if r.Header == nil {
			r.Header = http.Header{}
		}
		w := httptest.NewRecorder()
		Local(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if refused := w.Code == http.StatusForbidden && strings.Contains(w.Body.String(), "api_key"); refused != c.refused {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
	}
}
