package lifecycle

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestBrowsers asks as browsers do, with a key and without.
func TestBrowsers(t *testing.T) {
	t.Parallel()
	m, err := Open(t.Context(), Options{DataDir: t.TempDir(), Level: "none"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	page := http.Header{"Origin": {"https://a.example"}}
	with := func(more ...string) http.Header {
		h := page.Clone()
		for i := 0; i < len(more); i += 2 {
			h.Set(more[i], more[i+1])
		}
		return h
	}
	for _, c := range []struct {
		name, key, method, path string
		header                  http.Header
		code                    int
		want                    map[string]string // "" is absent
	}{
		{"a preflight", "key", http.MethodOptions, "/v1/sandboxes", with("Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "a, b"), 200, map[string]string{
			"Access-Control-Allow-Origin": "https://a.example", "Access-Control-Allow-Credentials": "true", "Access-Control-Allow-Headers": "a, b", "Access-Control-Max-Age": "600",
			"Access-Control-Allow-Methods": "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT", "Vary": "Origin",
		}},
		{"a request without the key", "key", http.MethodGet, "/sandboxes", page, 401, map[string]string{"Access-Control-Allow-Origin": "*"}},
		{"a request", "key", http.MethodGet, "/sandboxes", with(keyHeader, "key"), 200, map[string]string{"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Credentials": "true", "Vary": ""}},
		{"a request with cookies", "key", http.MethodGet, "/sandboxes", with(keyHeader, "key", "Cookie", "a=b"), 200, map[string]string{"Access-Control-Allow-Origin": "https://a.example", "Vary": "Origin"}},
		{"no browser", "key", http.MethodGet, "/health", nil, 200, map[string]string{"Access-Control-Allow-Origin": ""}},
		{"no question", "key", http.MethodOptions, "/health", with(keyHeader, "key"), 405, map[string]string{"Access-Control-Allow-Methods": ""}},
		{"a preflight where there is no key", "", http.MethodOptions, "/sandboxes", with("Access-Control-Request-Method", "POST"), 405, map[string]string{"Access-Control-Allow-Origin": ""}},
		{"a request where there is no key", "", http.MethodGet, "/sandboxes", page, 200, map[string]string{"Access-Control-Allow-Origin": ""}},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		if c.header != nil {
			r.Header = c.header
		}
		w := httptest.NewRecorder()
		Guard(c.key, NewServer(m)).ServeHTTP(w, r)
		if w.Code != c.code || w.Header().Get(requestIDHeader) == "" {
			t.Errorf("%s: %d %v", c.name, w.Code, w.Header())
		}
		for name, want := range c.want {
			if got := w.Result().Header.Get(name); got != want {
				t.Errorf("%s: %s: %q, want %q", c.name, name, got, want)
			}
		}
	}
}

// TestBrowsersAndOwnServers has a server behind the proxy that answers browsers itself.
func TestBrowsersAndOwnServers(t *testing.T) {
	t.Parallel()
	own := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Access-Control-Allow-Origin", "https://its.own")
		w.Header().Add("X-Its", "own")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		_, _ = w.Write([]byte("text"))
	})
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Origin", "https://a.example")
	w := httptest.NewRecorder()
	shared(own).ServeHTTP(w, r)
	h := w.Result().Header
	if got := h.Values("Access-Control-Allow-Origin"); len(got) != 1 || got[0] != "*" || h.Get("X-Its") != "own" || w.Body.String() != "text" || !w.Flushed {
		t.Errorf("%v %q", h, w.Body)
	}
}
