package egress

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/internal/engine/vault"
)

// TestPolicyAPI goes through what the original was seen to answer, in its order.
func TestPolicyAPI(t *testing.T) {
	t.Parallel()
	g, err := NewGateway(Options{MaxRules: 4})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(NewServer(g, "t0ken", nil))
	defer srv.Close()
	for _, c := range []struct {
		method, body string
		code         int
		want         string
	}{
		{"GET", "", 200, `{"status":"ok","mode":"deny_all","enforcementMode":"dns+nft","policy":null}`},
		{"POST", `{"defaultAction":"deny","egress":[{"action":"allow","target":"example.org"}]}`, 200, `{"status":"ok","mode":"enforcing","enforcementMode":"dns+nft"}`},
		{"PATCH", `[{"action":"allow","target":"Example.com"},{"action":"deny","target":"example.com"},{"action":"allow","target":"10.0.0.0/8"}]`, 200, `{"status":"ok","mode":"enforcing","enforcementMode":"dns+nft"}`},
		{"GET", "", 200, `"policy":{"egress":[{"action":"allow","target":"Example.com"},{"action":"allow","target":"10.0.0.0/8"},{"action":"allow","target":"example.org"}],"defaultAction":"deny"}}`},
		{"PATCH", `[]`, 400, "invalid patch rules: empty array\n"},
		{"PATCH", `{"a":1}`, 400, "invalid patch rules: json: cannot unmarshal object"},
		{"PATCH", `[{"action":"block","target":"a.com"}]`, 400, "invalid merged policy: unsupported action \"block\"\n"},
		{"PATCH", `[{"action":"allow","target":"a.com"},{"action":"allow","target":"b.com"},{"action":"allow","target":"c.com"}]`, 413, "egress rule total count 6 exceeds limit 4\n"},
		{"DELETE", `["nope.com"]`, 200, `{"status":"ok","mode":"enforcing","enforcementMode":"dns+nft","reason":"no matching targets found"}`},
		{"DELETE", ``, 400, "invalid delete targets"},
		{"DELETE", `[]`, 400, "invalid delete targets: empty array"},
		{"DELETE", `["EXAMPLE.COM"]`, 200, `{"status":"ok","mode":"enforcing","enforcementMode":"dns+nft"}`},
		{"GET", "", 200, `"policy":{"egress":[{"action":"allow","target":"10.0.0.0/8"},{"action":"allow","target":"example.org"}],"defaultAction":"deny"}}`},
		{"OPTIONS", "", 405, "method not allowed"},
		{"PUT", `{"defaultAction":"ALLOW"}`, 200, `{"status":"ok","mode":"allow_all","enforcementMode":"dns+nft"}`},
		{"POST", ``, 200, `{"status":"ok","mode":"deny_all","reason":"policy reset to default deny-all"}`},
		{"POST", `{}`, 200, `{"status":"ok","mode":"deny_all","enforcementMode":"dns+nft"}`},
		{"POST", `null`, 200, `{"status":"ok","mode":"deny_all","enforcementMode":"dns+nft"}`},
		{"POST", `{"egress":[{"target":"a.com","bogus":1}]}`, 200, `"mode":"enforcing"`},
		{"GET", "", 200, `{"action":"deny","target":"a.com"}`},
		{"POST", `{"egress":[{"action":"allow","target":" "}]}`, 400, "target cannot be empty"},
		{"POST", `{"egress":"` + strings.Repeat("x", maxBody), 400, "invalid policy"},
	} {
		code, header, body := call(t, srv.URL+"/policy", c.method, "t0ken", c.body)
		if code != c.code || !strings.Contains(body, c.want) {
			t.Errorf("%s %.80s: %d %s, want %d %s", c.method, c.body, code, body, c.code, c.want)
		}
		if kind := header.Get("Content-Type"); code >= 400 && !strings.HasPrefix(kind, "text/plain") {
			t.Errorf("%s %.80s: an error as %s", c.method, c.body, kind)
		}
		if allow := header.Get("Allow"); code == 405 && allow != "GET, POST, PUT, PATCH, DELETE" {
			t.Errorf("Allow: %s", allow)
		}
	}
	for _, token := range []string{"", "other", "t0ken "} {
		if code, _, body := call(t, srv.URL+"/policy", "GET", token, ""); token != "t0ken " && (code != 401 || body != "unauthorized\n") {
			t.Errorf("token %q: %d %s", token, code, body)
		}
	}
	if code, _, body := call(t, srv.URL+"/healthz", "GET", "", ""); code != 200 || body != "ok" {
		t.Errorf("health: %d %s", code, body)
	}
	if code, _, _ := call(t, srv.URL+"/credential-vault", "GET", "t0ken", ""); code != 404 {
		t.Errorf("the vault: %d", code)
	}
}

func call(t *testing.T, url, method, token, body string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(AuthHeader, token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

// FuzzPolicy makes policies of anything: what is accepted can be asked, and survives being read back.
func FuzzPolicy(f *testing.F) {
	f.Add(`{"defaultAction":"deny","egress":[{"action":"allow","target":"*.example.org"}]}`, "a.example.org")
	f.Add(`{"egress":[{"target":"10.0.0.0/8"},{"action":"allow","target":"::1"}]}`, "::1")
	f.Fuzz(func(t *testing.T, body, name string) {
		g, err := NewGateway(Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := NewServer(g, "", nil)
		do := func(method, body string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest(method, "/policy", strings.NewReader(body)))
			return w
		}
		if do(http.MethodPost, body).Code != http.StatusOK {
			return
		}
		rules := g.rules.Load()
		verdict := rules.allowsName(canonicalName(name))
		var p Policy
		if g.Policy() != nil {
			p = *g.Policy()
		}
		if err := g.SetPolicy(p); err != nil {
			t.Fatalf("what was accepted is refused: %v", err)
		}
		if g.rules.Load().allowsName(canonicalName(name)) != verdict {
			t.Fatal("another verdict the second time")
		}
	})
}

// TestDocumentedRoutes checks that docs/engine.md lists what the API serves, and nothing else.
func TestDocumentedRoutes(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.FromSlash("../../../../docs/engine.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "\n### Egress\n")
	section, _, _ = strings.Cut(section, "\n#")
	listed := map[string]bool{}
	for _, r := range regexp.MustCompile("(?m)^\\| `([A-Z]+ /[^`]*)` \\|").FindAllStringSubmatch(section, -1) {
		listed[r[1]] = true
	}
	g, err := NewGateway(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for r := range listed {
		store := vault.NewStore()
		if _, err := store.Create(vault.CreateRequest{
			Credentials: []vault.Credential{{Name: "{name}", Source: vault.Source{Value: "v"}}},
			Bindings:    []vault.Binding{{Name: "{name}", Match: vault.Match{Hosts: []string{"a.test"}}, Auth: vault.Auth{Type: "passthrough"}}},
		}, func(string) bool { return true }); err != nil {
			t.Fatal(err)
		}
		s := NewServer(g, "", vault.NewServer(store, g, func() {}))
		method, path, _ := strings.Cut(r, " ")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader("")))
		if w.Code == http.StatusNotFound || w.Code == http.StatusMethodNotAllowed {
			t.Errorf("%s is documented and not served: %d", r, w.Code)
		}
	}
	for method := range strings.SplitSeq(allowed, ", ") {
		if !listed[method+" /policy"] {
			t.Errorf("%s /policy is served and not documented", method)
		}
	}
}
