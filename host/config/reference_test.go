package config_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/config"
)

const referenceFile = "../../alineo.toml"

// TestReferenceFileSaysTheDefaults loads the repository's alineo.toml: it works as it is, and what
// stands in it is what would hold without it.
func TestReferenceFileSaysTheDefaults(t *testing.T) {
	t.Parallel()
	written, err := config.Load(referenceFile, config.WithEnv(noEnv))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	silent, err := config.Parse(referenceFile, nil, config.WithEnv(noEnv))
	if err != nil {
		t.Fatal(err)
	}
	// An image that is not mapped stands for itself, so the file may name the one there is.
	silent.Engine.Images = map[string]string{"default": "host"}
	for _, c := range []*config.Config{written, silent} {
		p := c.Plugins["sqlite"]
		p.Config = nil
		c.Plugins["sqlite"] = p
	}
	for _, part := range []struct{ got, want any }{
		{written.Sandbox, silent.Sandbox},
		{written.Ledger, silent.Ledger},
		{written.Runs, silent.Runs},
		{written.Plugins, silent.Plugins},
		{written.Engine, silent.Engine},
		{written.Telemetry, silent.Telemetry},
		{written.Log, silent.Log},
	} {
		if !reflect.DeepEqual(part.got, part.want) {
			t.Errorf("the file says  %+v\nthe default is %+v", part.got, part.want)
		}
	}
	for number, line := range strings.Split(string(text), "\n") {
		if len(line) > 120 {
			t.Errorf("line %d has %d bytes", number+1, len(line))
		}
	}
}

// TestReferenceFileHasEveryKey uncomments all options: every key that exists is there, and nothing
// else.
func TestReferenceFileHasEveryKey(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	option := regexp.MustCompile(`(?m)^# (\[[a-z.-]+\]|"?[a-z_0-9:]+"? = )`)
	all := option.ReplaceAllString(string(text), "$1")
	_, err = config.Parse("alineo.toml", []byte(all), config.WithEnv(func(string) (string, bool) { return "x=y-long-enough-for-a-token", true }))
	for line := range strings.Lines(err.Error()) {
		// These name files that the reader has and the repository does not.
		if !strings.Contains(line, "digest.key") && !strings.Contains(line, "my-ledger.wasm") && !strings.Contains(line, "ca.pem") &&
			!strings.Contains(line, "grant.files") {
			t.Errorf("an option that does not work: %s", line)
		}
	}
	for _, key := range config.Keys() {
		table, name := "", key
		if i := strings.LastIndexByte(key, '.'); i >= 0 {
			table, name = key[:i], key[i+1:]
		}
		if !hasKey(all, strings.Split(table, "."), name) {
			t.Errorf("%s is not in alineo.toml, not even as an option", key)
		}
	}
}

// hasKey looks for a line `name = …` in a table whose path matches, NAME standing for any part; a
// key that is a table of its own counts when there is such a table.
func hasKey(text string, table []string, name string) bool {
	pattern := ""
	for _, part := range table {
		if part == "NAME" {
			part = `[a-z-]+`
		}
		if part != "" {
			pattern += part + `\.`
		}
	}
	own := regexp.MustCompile(`^\[` + pattern + name + `\]`)
	header := regexp.MustCompile(`^\[` + strings.TrimSuffix(pattern, `\.`) + `\]`)
	assignment := regexp.MustCompile(`^` + name + ` = `)
	inside := false
	for line := range strings.Lines(text) {
		if own.MatchString(line) {
			return true
		}
		if strings.HasPrefix(line, "[") {
			inside = header.MatchString(line)
		}
		if inside && assignment.MatchString(line) {
			return true
		}
	}
	return false
}
