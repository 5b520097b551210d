package execd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentedRoutes checks that what the page lists is served, and that
// everything served is listed.
func TestDocumentedRoutes(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.FromSlash("../../../../docs/engine.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(b), "\n### execd\n")
	section, _, _ = strings.Cut(section, "\n#")
	routes := regexp.MustCompile("(?m)^\\| `([A-Z]+) (/[^`]*)` \\|").FindAllStringSubmatch(section, -1)
	if !ok || len(routes) < 10 {
		t.Fatalf("docs/engine.md lists %d routes of execd", len(routes))
	}
	s := testServer()
	listed := map[string]bool{}
	for _, r := range routes {
		listed[r[1]+" "+r[2]] = true
		path := strings.ReplaceAll(r[2], "{port}", "80")
		path = regexp.MustCompile(`\{\w*\}`).ReplaceAllString(path, "x")
		if s.route(r[1], path) == nil {
			t.Errorf("%s %s is documented and not served", r[1], r[2])
		}
	}
	for _, r := range s.table {
		method, pattern := r.method, strings.ReplaceAll(r.pattern, "/proxy/…", "/proxy/{port}/{path}")
		if method == "" {
			method = "GET" // the page says that the others are the same
		}
		if !listed[method+" "+pattern] {
			t.Errorf("%s %s is served and not documented in docs/engine.md", method, pattern)
		}
	}
}
