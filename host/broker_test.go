package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/credential"
)

// openConfigured opens a host with this configuration, in a directory with a secret.
func openConfigured(t *testing.T, text string) (h *host.Host, dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("f1rst\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "alineo.toml")
	if err := os.WriteFile(file, []byte("[plugins.sqlite.config]\npath = \":memory:\"\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(file, config.WithEnv(func(string) (string, bool) { return "", false }))
	if err != nil {
		t.Fatal(err)
	}
	h, err = host.Open(t.Context(), cfg, host.WithLogger(hclog.NewNullLogger()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h, dir
}

// TestConfiguredBroker: the broker that [credentials] names gets what it is granted, and what is rotated.
func TestConfiguredBroker(t *testing.T) {
	t.Parallel()
	h, dir := openConfigured(t, "[plugins.broker-vault.grant]\nsecrets = [\"token\"]\n[secrets]\ntoken = \"file:token\"\nother = \"s3cond\"\n")
	if loaded := h.Plugins(); len(loaded) != 1 {
		t.Errorf("before a credential is used %d plugins are loaded", len(loaded))
	}
	b, err := h.Broker(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := h.Broker(t.Context()); err != nil || again != b {
		t.Errorf("asked again it is another broker, %v", err)
	}
	if loaded := h.Plugins(); len(loaded) != 2 {
		t.Errorf("%d plugins are loaded", len(loaded))
	}
	resolve := func(reference string) (string, error) {
		got, err := b.Resolve(t.Context(), "key", credential.Source{Type: credential.SourceExternal, Ref: reference})
		return got.Value.Reveal(), err
	}
	if got, err := resolve("secret:token"); err != nil || got != "f1rst" {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("rotat3d"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := resolve("secret:token"); err != nil || got != "rotat3d" {
		t.Errorf("after the rotation %q, %v", got, err)
	}
	if got, err := resolve("secret:other"); !errors.Is(err, credential.ErrDenied) || got != "" || !strings.Contains(err.Error(), "[plugins.broker-vault.grant]") {
		t.Errorf("a secret that is not granted: %q, %v", got, err)
	}
	if err := os.Remove(filepath.Join(dir, "token")); err != nil {
		t.Fatal(err)
	}
	if _, err := resolve("secret:token"); !errors.Is(err, credential.ErrUnavailable) || strings.Contains(err.Error(), dir) {
		t.Errorf("a secret that is gone: %v", err)
	}
	if _, err := resolve("vault:secret/x#y"); !errors.Is(err, credential.ErrInvalid) || !strings.Contains(err.Error(), "config.vault") {
		t.Errorf("a Vault that is not configured: %v", err)
	}
}

func TestBrokersThatAreNone(t *testing.T) {
	t.Parallel()
	none, _ := openConfigured(t, "[credentials]\nbroker = \"\"\n")
	if _, err := none.Broker(t.Context()); !errors.Is(err, host.ErrNoBroker) {
		t.Errorf("without a broker: %v", err)
	}
	ledger, _ := openConfigured(t, "[credentials]\nbroker = \"sqlite\"\n")
	if _, err := ledger.Broker(t.Context()); err == nil || !strings.Contains(err.Error(), `"sqlite" is not a broker`) {
		t.Errorf("with a ledger: %v", err)
	}
	wrong, _ := openConfigured(t, "[plugins.broker-vault.config.vault]\naddress = \"https://x\"\nauth = \"kerberos\"\n")
	if _, err := wrong.Broker(t.Context()); err == nil || !strings.Contains(err.Error(), "alineo.toml:5:1: plugins.broker-vault.config.vault.auth") {
		t.Errorf("with a configuration that is wrong: %v", err)
	}
}
