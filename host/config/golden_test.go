package config_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/config"
)

// TestGolden loads testdata/cases/NAME/alineo.toml and compares what comes of it with want.txt: the
// problems, or the values in force. A file named env has the environment, NAME=VALUE a line.
//
// go test ./host/config -update rewrites what is wanted.
func TestGolden(t *testing.T) {
	t.Parallel()
	dirs, err := filepath.Glob("testdata/cases/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	update := flag.Lookup("update").Value.String() == "true"
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			got := outcome(t, dir)
			golden := filepath.Join(dir, "want.txt")
			if update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func outcome(t *testing.T, dir string) string {
	t.Helper()
	cfg, err := config.Load(filepath.Join(dir, config.FileName), config.WithEnv(envOf(t, dir)))
	var text string
	if err != nil {
		text = err.Error() + "\n"
	} else {
		var b bytes.Buffer
		if err := cfg.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		text = b.String()
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	text = strings.NewReplacer(dir+"/", "", absolute, "$DIR").Replace(text)
	// Comments are aligned, and how far depends on where this folder lies.
	return regexp.MustCompile(`(?m) +# `).ReplaceAllString(text, "  # ")
}

func envOf(t *testing.T, dir string) func(string) (string, bool) {
	t.Helper()
	env := map[string]string{"HOME": "/home/somebody"}
	text, err := os.ReadFile(filepath.Join(dir, "env"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		env[name] = value
	}
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
}
