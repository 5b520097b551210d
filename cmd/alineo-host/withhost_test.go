package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/config"
)

// TestPatience checks how long a call of the ledger's plugin may take for who operates the ledger.
func TestPatience(t *testing.T) {
	t.Parallel()
	for limits, want := range map[string]time.Duration{
		"": time.Duration(patience),
		"[plugins.sqlite.limits]\ndeadline = \"9s\"\n":  9 * time.Second,
		"[plugins.sqlite.limits]\nmemory = \"32MiB\"\n": time.Duration(patience),
	} {
		file := filepath.Join(t.TempDir(), "alineo.toml")
		if err := os.WriteFile(file, []byte("[ledger]\nplugin = \"sqlite\"\n"+limits), 0o600); err != nil {
			t.Fatal(err)
		}
		a := &app{configFile: file}
		cfg, err := a.config()
		if err != nil {
			t.Fatal(err)
		}
		patient(cfg)
		if got := time.Duration(cfg.Plugins[config.SQLite].Limits.Deadline); got != want {
			t.Errorf("%q: %v, want %v", limits, got, want)
		}
	}
}
