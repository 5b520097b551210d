package lifecycle

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documented are the routes in the page's table of that title.
func documented(t *testing.T, title string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.FromSlash("../../../../docs/engine.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(b), "\n### "+title+"\n")
	section, _, _ = strings.Cut(section, "\n#")
	var out []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Z]+ /[^`]*)` \\|").FindAllStringSubmatch(section, -1) {
		out = append(out, m[1])
	}
	if !ok || len(out) == 0 {
		t.Fatalf("docs/engine.md has no table under %q", title)
	}
	return out
}

// TestDocumentedRoutes checks that what the page lists is served, or a 501
// that it calls one, and that everything served is listed.
func TestDocumentedRoutes(t *testing.T) {
	t.Parallel()
	m, err := Open(t.Context(), Options{DataDir: t.TempDir(), Level: "none"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	s := NewServer(m)
	variable := regexp.MustCompile(`\{\w*\}`)
	listed := map[string]bool{}
	for _, r := range documented(t, "Lifecycle") {
		method, pattern, _ := strings.Cut(r, " ")
		listed[method+" "+strings.ReplaceAll(variable.ReplaceAllString(pattern, "{}"), "/proxy/{}/{}", "/proxy/{}…")] = true
		path := strings.ReplaceAll(pattern, "{port}", "80")
		path = variable.ReplaceAllString(path, "x")
		for _, prefix := range []string{"", "/v1"} {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest(method, prefix+path, strings.NewReader("{}")))
			if w.Code == http.StatusMethodNotAllowed || strings.Contains(w.Body.String(), `"detail":"Not Found"`) {
				t.Errorf("%s %s is documented and not served: %d %s", method, prefix+path, w.Code, w.Body)
			}
			absent := strings.HasPrefix(path, "/pools") || strings.HasPrefix(path, "/templates")
			if absent != (w.Code == http.StatusNotImplemented) {
				t.Errorf("%s %s: %d", method, prefix+path, w.Code)
			}
		}
	}
	for _, r := range s.routes() {
		for method := range r.methods {
			if !listed[method+" "+r.pattern] {
				t.Errorf("%s %s is served and not documented in docs/engine.md", method, r.pattern)
			}
		}
	}
}
