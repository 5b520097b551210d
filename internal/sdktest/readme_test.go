//go:build !race

package sdktest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
)

// TestReadmes builds the plugin that each SDK's page begins with, as it stands there, and loads it.
func TestReadmes(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]struct{ fence, file string }{
		"go": {"go", "main.go"}, "rust": {"rust", "lib.rs"}, "c": {"c", "mine.c"}, "assemblyscript": {"ts", "mine.ts"}, "zig": {"zig", "mine.zig"},
	}
	for _, l := range languages() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			page, err := os.ReadFile(filepath.Join(root, "sdk", l.name, "README.md"))
			if err != nil {
				t.Fatal(err)
			}
			its := files[l.name]
			found := regexp.MustCompile("(?s)\n```" + its.fence + "\n(.*?)\n```\n").FindSubmatch(page)
			if found == nil {
				t.Fatalf("the page has no code in %s", its.fence)
			}
			// As deep in the repository as the page says, where neither git nor go looks.
			if err := os.MkdirAll(filepath.Join(root, "bin"), 0o755); err != nil {
				t.Fatal(err)
			}
			dir, err := os.MkdirTemp(filepath.Join(root, "bin"), "_readme-") //nolint:usetesting // see above
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			source := filepath.Join(dir, its.file)
			if err := os.WriteFile(source, append(found[1], '\n'), 0o600); err != nil {
				t.Fatal(err)
			}
			relative, err := filepath.Rel(root, source)
			if err != nil {
				t.Fatal(err)
			}
			report, err := host.TestPlugin(t.Context(), config.Default(), l.module(t, filepath.ToSlash(relative)), host.PluginTest{
				Dir: t.TempDir(), Match: func(name string) bool { return name == "plugin/manifest" || name == "plugin/echo" },
			})
			if err != nil || report.Passed != 2 {
				t.Errorf("%d of 2 cases passed, %v: %+v", report.Passed, err, report.Cases)
			}
		})
	}
}
