package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
)

// TestPasteLines pastes what is proposed behind different files, and reads them: the plugin then has all
// that it wants.
func TestPasteLines(t *testing.T) {
	t.Parallel()
	manifest := abi.Manifest{
		Name: "odd", Version: "1", Kinds: []string{"ledger", "broker"},
		Capabilities: []abi.Want{
			{Name: "sql", Resource: "ledger", Reason: "its tables\nare there"},
			{Name: "sql", Resource: "the other", Reason: "more"},
			{Name: "sql", Resource: "spare", Reason: "it can do without", Optional: true},
			{Name: "http", Resource: "https://ledger.example.com/v1", Reason: "it sends there"},
			{Name: "http", Resource: "https://more.example.com", Reason: "it may send there", Optional: true},
			{Name: "secret", Resource: "api-token", Reason: "it logs in"},
			{Name: "files", Resource: "/data/of it", Reason: "it keeps them"},
			{Name: "log", Reason: "it talks"},
		},
		ConfigSchema: `{"type":"object","required":["region","size","strict","tags"],"properties":{"region":{"enum":["eu","us"]},
			"size":{"type":"integer","description":"of \"it\"\nin bytes"},"strict":{"type":"boolean"},"tags":{"type":"array"}}}`,
	}
	for name, before := range map[string]string{
		"none":     "",
		"empty":    "\n",
		"others":   "[ledger]\nredact = true\n[secrets]\nother = \"x\"\n[credentials]\nbroker = \"broker-vault\"\n",
		"the name": "[plugins.odd-one]\nsource = \"./Odd One!.wasm\"\nsha256 = \"" + strings.Repeat("0", 64) + "\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "alineo.toml")
			write := func(path, text string) {
				if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("Odd One!.wasm", "")
			write("api-token", "s3cret")
			if err := os.Mkdir(filepath.Join(dir, "data-of-it"), 0o700); err != nil {
				t.Fatal(err)
			}
			write("alineo.toml", before)
			cfg, err := host.LoadConfig(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := host.PasteLines(cfg, host.PluginPaste{
				File: filepath.Join(dir, "Odd One!.wasm"), SHA256: strings.Repeat("a", 64), Manifest: manifest, Postgres: []string{"the other"},
			})
			if strings.Contains(lines, "# and below [secrets]") {
				// As somebody would who reads the comment.
				before = strings.Replace(before, "[secrets]\n", "[secrets]\napi-token = \"file:./api-token\"\n", 1)
			}
			write("alineo.toml", before+lines)
			cfg, err = config.Load(file, config.WithBundled("sqlite", "postgres", "broker-vault"),
				config.WithEnv(func(variable string) (string, bool) {
					set := variable == "DATABASE_URL"
					return map[bool]string{true: "postgres://localhost/x"}[set], set
				}))
			if err != nil {
				t.Fatalf("%v\n%s", err, lines)
			}
			plugin := "odd-one"
			if name == "the name" {
				plugin = "odd-one-2"
			}
			p := cfg.Plugins[plugin]
			if p.Source != filepath.Join(dir, "Odd One!.wasm") || p.SHA256 != strings.Repeat("a", 64) {
				t.Errorf("it is %q, %q\n%s", p.Source, p.SHA256, lines)
			}
			if len(p.SQL) != 2 || p.SQL["ledger"].Path == "" || p.SQL["the other"].Driver != "postgres" {
				t.Errorf("databases: %+v\n%s", p.SQL, lines)
			}
			g := p.Grant
			if len(g.HTTP) != 1 || len(g.Secrets) != 1 || len(g.Files) != 1 || g.Files[0].Guest != "/data/of it" {
				t.Errorf("granted: %+v\n%s", g, lines)
			}
			if p.Config["region"] != "eu" || p.Config["size"] != int64(1) || p.Config["strict"] != false {
				t.Errorf("configured: %+v\n%s", p.Config, lines)
			}
			if name != "others" && (cfg.Ledger.Plugin != plugin || cfg.Credentials.Broker != plugin) {
				t.Errorf("it is used as nothing\n%s", lines)
			}
		})
	}
}
