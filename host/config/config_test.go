package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/alineo-labs/alineo-host/host/config"
)

func noEnv(string) (string, bool) { return "", false }

func TestWithoutAFile(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load("", config.WithEnv(noEnv))
	if err != nil {
		t.Fatal(err)
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := cfg.Plugins["sqlite"].SQL["ledger"].Path, filepath.Join(wd, ".alineo/ledger.db"); got != want {
		t.Errorf("the ledger is %q, want %q", got, want)
	}
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
	if err := config.Default().Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	if cfg.File() != "" || cfg.Dir() != wd {
		t.Errorf("file %q, directory %q", cfg.File(), cfg.Dir())
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	env := func(name string) (string, bool) {
		return map[string]string{"ALINEO_CONFIG": "/etc/alineo.toml"}[name], true
	}
	if got := config.Find("", config.WithEnv(noEnv)); got != "" {
		t.Errorf("nothing there: %q", got)
	}
	if err := os.WriteFile("alineo.toml", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := config.Find("", config.WithEnv(noEnv)); got != "alineo.toml" {
		t.Errorf("a file in the working directory: %q", got)
	}
	if got := config.Find("", config.WithEnv(env)); got != "/etc/alineo.toml" {
		t.Errorf("named by the environment: %q", got)
	}
	if got := config.Find("x.toml", config.WithEnv(env)); got != "x.toml" {
		t.Errorf("named by a flag: %q", got)
	}
	_, err := config.Load("x.toml", config.WithEnv(noEnv))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a named file that is not there: %v", err)
	}
}

func TestPositionsForLaterProblems(t *testing.T) {
	t.Parallel()
	text := `[plugins.sqlite.config]
path = "x.db"
[plugins.mine]
source = "testdata/cases/pins/module.wasm"
sha256 = "93a44bbb96c751218e4c00d479e4c14358122a389acca16205b1e4d0dc5f9476"
[plugins.mine.config]
table = 1
"odd.key" = 2
`
	cfg, err := config.Parse("alineo.toml", []byte(text), config.WithEnv(noEnv))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"plugins.mine.config.table":        "alineo.toml:7:1",
		`plugins.mine.config."odd.key"`:    "alineo.toml:8:1",
		"plugins.mine.config.missing.deep": "alineo.toml:6:1", // the table it would be in
		"plugins.sqlite.sql.ledger.path":   "alineo.toml:2:1", // where the file gives it
		"plugins.sqlite.sql.ledger":        "alineo.toml:1:1",
		"log.level":                        "alineo.toml",
	} {
		if got := cfg.Position(key).String(); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
	got := cfg.Problem("plugins.mine.config.table", "a name is wanted").Error()
	if want := "alineo.toml:7:1: plugins.mine.config.table: a name is wanted"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if len(cfg.Plugins["sqlite"].Config) != 0 {
		t.Errorf("the guest would get %v", cfg.Plugins["sqlite"].Config)
	}
}

func TestProblemsAreErrors(t *testing.T) {
	t.Parallel()
	_, err := config.Parse("a.toml", []byte("x = 1\ny = 2\n"), config.WithEnv(noEnv))
	all, ok := errors.AsType[config.Problems](err)
	if !ok || len(all) != 2 {
		t.Fatalf("%#v", err)
	}
	one, ok := errors.AsType[config.Problem](err)
	if !ok || one.Key != "x" || one.Position.Line != 1 {
		t.Errorf("%#v", one)
	}
}

func TestConfigJSON(t *testing.T) {
	t.Parallel()
	text := `[plugins.broker-vault.config]
a = 9007199254740993
b = [1.5, { c = "env:X" }]
at = 07:32:00
local = 1979-05-27T00:32:00.5
`
	cfg, err := config.Parse("a.toml", []byte(text), config.WithEnv(func(name string) (string, bool) {
		return map[string]string{"X": "<x>"}[name], true
	}))
	if err != nil {
		t.Fatal(err)
	}
	got, err := cfg.Plugins["broker-vault"].ConfigJSON()
	want := `{"a":9007199254740993,"at":"07:32:00","b":[1.5,{"c":"\u003cx\u003e"}],"local":"1979-05-27T00:32:00.5"}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	if got, err := (config.Plugin{}).ConfigJSON(); err != nil || string(got) != "{}" {
		t.Errorf("no table: %s, %v", got, err)
	}
}

func TestValidateWhatGoBuilt(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Log.Level = "loud"
	cfg.Ledger.Plugin = "mine"
	err := cfg.Validate(config.WithBundled("sqlite", "mime"))
	want := `ledger.plugin: "mine" is neither bundled nor a table under [plugins] (did you mean "mime"?)
log.level: "loud" is not "trace", "debug", "info", "warn", "error" or "off"`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant:\n%s", err, want)
	}
}

func TestBundledByTheCaller(t *testing.T) {
	t.Parallel()
	cfg, err := config.Parse("a.toml", []byte(`ledger.plugin = "mine"`),
		config.WithEnv(noEnv), config.WithBundled("mine"))
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := cfg.Plugins["mine"]; !ok || p.Limits != config.DefaultLimits() || p.SQL != nil {
		t.Errorf("%+v", cfg.Plugins)
	}
	_, err = config.Parse("a.toml", nil, config.WithEnv(noEnv), config.WithBundled("mine"))
	if err == nil || !strings.HasPrefix(err.Error(), `a.toml: ledger.plugin: "sqlite" is neither bundled`) {
		t.Error(err)
	}
}

func TestWriteJSON(t *testing.T) {
	t.Parallel()
	text := "[sandbox]\napi_key = \"secret\"\n[plugins.sqlite.limits]\nmemory = \"8MiB\"\n"
	cfg, err := config.Parse("a.toml", []byte(text), config.WithEnv(func(name string) (string, bool) {
		return map[string]string{"OPEN_SANDBOX_URL": "http://localhost:1"}[name], true
	}))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := cfg.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var out struct {
		Values []struct {
			Key    string
			Value  any
			Origin map[string]any
		}
	}
	if err := json.Unmarshal(b.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, v := range out.Values {
		text, err := json.Marshal([]any{v.Value, v.Origin})
		if err != nil {
			t.Fatal(err)
		}
		seen[v.Key] = string(text)
	}
	for key, want := range map[string]string{
		"sandbox.url":                  `["http://localhost:1",{"kind":"env","reference":"env:OPEN_SANDBOX_URL"}]`,
		"sandbox.api_key":              `["[redacted]",{"column":1,"file":"a.toml","kind":"file","line":2}]`,
		"plugins.sqlite.limits.memory": `["8MiB",{"column":1,"file":"a.toml","kind":"file","line":4}]`,
		"sandbox.max_concurrency":      `[0,{"kind":"default"}]`,
	} {
		if seen[key] != want {
			t.Errorf("%s: %s, want %s", key, seen[key], want)
		}
	}
}

// FuzzParse wants an answer to every text: a valid configuration that can be written and read, or
// problems at places that exist.
func FuzzParse(f *testing.F) {
	seeds, err := filepath.Glob("testdata/cases/*/alineo.toml")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range append(seeds, "../../alineo.toml") {
		if text, err := os.ReadFile(name); err == nil {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		// What fuzzing comes up with must not open files.
		text = bytes.ReplaceAll(text, []byte("file:"), []byte("fill:"))
		cfg, err := config.Parse("a.toml", text, config.WithEnv(func(name string) (string, bool) { return name, true }))
		if problems, ok := errors.AsType[config.Problems](err); ok {
			lines := bytes.Count(text, []byte("\n")) + 1
			for _, p := range problems {
				if p.Message == "" || p.Position.Line < 0 || p.Position.Line > lines {
					t.Errorf("%+v in %q", p, text)
				}
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := cfg.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		var tree map[string]any
		if _, err := toml.Decode(b.String(), &tree); err != nil {
			t.Errorf("%v in\n%s\nof %q", err, b.String(), text)
		}
		if err := cfg.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		for name, p := range cfg.Plugins {
			if _, err := p.ConfigJSON(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestValidateHostPaths is a configuration made in Go, whose paths nobody has made absolute.
func TestValidateHostPaths(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/srv/data": "", "data": "is not an absolute path", "/srv/": "is not an absolute path", "/a/../b": "is not an absolute path",
		"": "is not an absolute path", "/": "is all of this machine",
	} {
		cfg := config.Default()
		cfg.Engine.HostPaths = []string{"/ok", path}
		err := cfg.Validate()
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) || want != "" && !strings.Contains(got, "engine.host_paths") {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// TestReadSecret: what a reference leads to is read each time.
func TestReadSecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "token")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	variable := "one"
	env := func(name string) (string, bool) {
		if name != "TOKEN" || variable == "gone" {
			return "", false
		}
		return variable, true
	}
	write("first\n")
	cfg, err := config.Parse(filepath.Join(dir, "alineo.toml"), []byte(
		"[secrets]\nfile = \"file:token\"\nenv = \"env:TOKEN\"\nplain = \"as it is\"\n"), config.WithEnv(env))
	if err != nil {
		t.Fatal(err)
	}
	is := func(name, want string) {
		t.Helper()
		if got, err := cfg.ReadSecret(name); err != nil || got.Reveal() != want {
			t.Errorf("%s: %q, %v; want %q", name, got.Reveal(), err, want)
		}
	}
	fails := func(name, why string) {
		t.Helper()
		if _, err := cfg.ReadSecret(name); err == nil || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "second") {
			t.Errorf("%s: %v; want an error about %q", name, err, why)
		}
	}
	is("file", "first")
	is("env", "one")
	write("second")
	variable = "two"
	is("file", "second")
	is("env", "two")
	is("plain", "as it is")
	write("\n")
	fails("file", "empty")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	variable = "gone"
	fails("file", "no such file")
	fails("env", "TOKEN")
	fails("other", "none of that name")
}

// TestSecretThatCannotBeRead is nobody's matter but his who asks for it, and he is told where it stands.
func TestSecretThatCannotBeRead(t *testing.T) {
	t.Parallel()
	there := false
	cfg, err := config.Parse("alineo.toml", []byte("[secrets]\nfine = \"as it is\"\ngone = \"env:GONE\"\nfile = \"file:/no/such/file\"\n"),
		config.WithEnv(func(name string) (string, bool) {
			if !there || name != "GONE" {
				return "", false
			}
			return "now", true
		}))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := cfg.ReadSecret("fine"); err != nil || got.Reveal() != "as it is" {
		t.Error(err)
	}
	const gone, file = "alineo.toml:3:1: secrets.gone: env:GONE: the environment has no variable GONE",
		"alineo.toml:4:1: secrets.file: file:/no/such/file: no such file or directory"
	if _, err := cfg.ReadSecret("gone"); err == nil || err.Error() != gone {
		t.Errorf("got %v", err)
	}
	if err := cfg.CheckSecrets(); err == nil || err.Error() != gone+"\n"+file {
		t.Errorf("got %v", err)
	}
	there = true
	if got, err := cfg.ReadSecret("gone"); err != nil || got.Reveal() != "now" {
		t.Errorf("once it is there: %v", err)
	}
}
