package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestHostileLedgers names guests that mean ill as the ledger: every command says in a sentence which
// plugin did what, and ends.
func TestHostileLedgers(t *testing.T) {
	t.Parallel()
	c := &chaos{dir: t.TempDir()}
	for guest, want := range map[string]string{
		"spin":   "did not finish within 300ms",
		"trap":   "the guest crashed in alineo_call",
		"hungry": "limits.max_response allows",
	} {
		source, err := filepath.Abs(filepath.Join("..", "..", "host", "internal", "adapter", "testdata", "guests", guest, guest+".wasm"))
		if err != nil {
			t.Fatal(err)
		}
		wasm, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		c.write(t, guest+".toml", fmt.Sprintf("[ledger]\nplugin = \"mine\"\n[plugins.mine]\nsource = %q\nsha256 = \"%x\"\n"+
			"[plugins.mine.limits]\ndeadline = \"300ms\"\n", source, sha256.Sum256(wasm)))
		for _, command := range []string{"ledger tail", "sandboxes list", "sandboxes show 12345678"} {
			began := time.Now()
			stdout, stderr, _, err := c.run(t, nil, append([]string{"-c", guest + ".toml"}, strings.Fields(command)...)...)
			if err == nil || stdout != "" || !strings.Contains(stderr, want) || !strings.Contains(stderr, `plugin "mine": ledger.`) {
				t.Errorf("%s: %s: %v: printed %q and %q, want %q", guest, command, err, stdout, stderr, want)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("%s: %s: took %v", guest, command, took)
			}
		}
	}
}
