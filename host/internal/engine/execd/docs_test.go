package execd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentedRoutes checks that what the page lists is served.
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
	for _, r := range routes {
		path := strings.ReplaceAll(r[2], "{port}", "80")
		path = regexp.MustCompile(`\{\w*\}`).ReplaceAllString(path, "x")
		if s.route(r[1], path) == nil {
			t.Errorf("%s %s is documented and not served", r[1], r[2])
		}
	}
}
