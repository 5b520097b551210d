package config_test

import (
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/config"
)

// TestWithLedger takes another ledger than the file's: it is completed as if the file had named it.
func TestWithLedger(t *testing.T) {
	t.Parallel()
	none := config.WithEnv(func(string) (string, bool) { return "", false })
	const text = "[ledger]\nplugin = \"sqlite\"\n[plugins.sqlite.config]\npath = \"a.db\"\n"
	cfg, err := config.Parse("alineo.toml", []byte(text), none, config.WithLedger("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Ledger.Plugin != "postgres" || cfg.Plugins["postgres"].SQL["ledger"].Driver != config.Postgres {
		t.Errorf("got %+v", cfg.Plugins["postgres"])
	}
	if path := cfg.Plugins["sqlite"].SQL["ledger"].Path; !strings.HasSuffix(path, "/a.db") {
		t.Errorf("the other one's path is %q", path)
	}
	if _, err := config.Parse("alineo.toml", []byte(text), none, config.WithLedger("nonsense")); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("got %v", err)
	}
}
