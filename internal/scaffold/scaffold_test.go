package scaffold_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/internal/scaffold"
)

// TestMake makes each plugin: its name is everywhere, and that of the example that it was made of nowhere.
// Whether they build and work is tried in internal/sdktest, with real compilers.
func TestMake(t *testing.T) {
	t.Parallel()
	for _, p := range scaffold.Templates() {
		t.Run(p.Lang+" "+p.Kind, func(t *testing.T) {
			p.Name = "good-name"
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "a", "b")
			files, err := scaffold.Make(dir, p)
			if err != nil {
				t.Fatal(err)
			}
			named := 0
			for _, name := range files {
				text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(text), `"good-name"`) {
					named++
				}
				if own := !strings.Contains(name, "sdk/") && !strings.Contains(name, "abi/"); own {
					for _, other := range []string{"ledger-memory", "ledger-jsonl", "broker-static", "../../", "{{.", "<no value>"} {
						if strings.Contains(string(text), other) && !strings.HasPrefix(name, "scripts/") {
							t.Errorf("%s has %q", name, other)
						}
					}
				}
			}
			if named == 0 {
				t.Error("no source has the plugin's name")
			}
			if _, err := scaffold.Make(dir, p); !errors.Is(err, scaffold.ErrNotEmpty) {
				t.Errorf("made again: %v", err)
			}
		})
	}
}

// TestMakeNothing: what can't be made leaves nothing behind.
func TestMakeNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := scaffold.Plugin{Name: "good", Kind: "ledger", Lang: "go"}
	for _, bad := range []scaffold.Plugin{
		{Name: "", Kind: "ledger", Lang: "go"},
		{Name: "a/b", Kind: "ledger", Lang: "go"},
		{Name: "1st", Kind: "ledger", Lang: "go"},
		{Name: "a--b", Kind: "ledger", Lang: "go"},
		{Name: strings.Repeat("a", 61), Kind: "ledger", Lang: "go"},
		{Name: "good", Kind: "lock", Lang: "go"},
		{Name: "good", Kind: "ledger", Lang: "cobol"},
	} {
		if _, err := scaffold.Make(filepath.Join(dir, "new"), bad); !errors.Is(err, scaffold.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	tooLong := filepath.Join(dir, "on", "the", "way", strings.Repeat("x", 300))
	if _, err := scaffold.Make(tooLong, good); err == nil {
		t.Error("a name of 300 bytes was made")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
