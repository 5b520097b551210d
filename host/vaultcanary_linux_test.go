package host_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/internal/baotest"
)

// lockedText is what several write and one reads.
type lockedText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lockedText) Bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.text.Bytes())
}

// TestVaultCanary: a value that comes from a Vault, and the token that it is had with, are in no guest's
// memory, no file, no log and no error; neither is one of alineo.toml that no plugin is granted.
func TestVaultCanary(t *testing.T) {
	t.Parallel()
	vault := baotest.New(t, baotest.Options{TLS: true})
	random := func() string {
		var b [12]byte
		_, _ = rand.Read(b[:])
		return "key/" + hex.EncodeToString(b[:]) + "+="
	}
	value, ungranted := random(), random()
	vault.Call(t, "POST", "secret/data/canary-ref", fmt.Sprintf(`{"data":{"token":%q}}`, value), nil)
	token := vaultToken(t, vault)

	dir := t.TempDir()
	file := filepath.Join(dir, "alineo.toml")
	text := fmt.Sprintf(`[plugins.sqlite.config]
path = "ledger.db"
[plugins.broker-vault.grant]
http = [%q]
ca = %q
secrets = ["vault-token"]
[plugins.broker-vault.config.vault]
address = %q
token = "vault-token"
[secrets]
vault-token = "env:VAULT"
other = "env:OTHER"
`, vault.Address, vault.CAFile, vault.Address)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"VAULT": token, "OTHER": ungranted}
	cfg, err := config.Load(file, config.WithEnv(func(name string) (string, bool) { v, ok := env[name]; return v, ok }))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Engine.Data = shortDir(t)
	log := new(lockedText)
	h, err := host.Open(t.Context(), cfg, host.WithLogger(hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Trace})))
	if err != nil {
		t.Fatal(err)
	}
	closeHost := sync.OnceValue(func() error { return h.Close(context.WithoutCancel(t.Context())) })
	t.Cleanup(func() { _ = closeHost() }) // looked at below
	client, err := h.Sandboxes(t.Context())
	if err != nil {
		t.Skipf("SKIPPED: this machine can run no sandbox: %v", err)
	}
	sb, err := client.Create(t.Context(), sandbox.CreateOptions{CredentialProxy: true, NetworkPolicy: &opensandbox.NetworkPolicy{
		DefaultAction: opensandbox.ActionDeny,
		Egress:        []opensandbox.NetworkRule{{Action: opensandbox.ActionAllow, Target: "api.canary.test"}},
	}})
	if errors.Is(err, opensandbox.ErrUnsupported) {
		t.Skipf("LEFT OUT: this machine's engine keeps no network from a sandbox: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var said []string // errors, and what came back
	source := credential.External("vault:secret/canary-ref#token")
	broker, err := h.Broker(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := broker.Resolve(t.Context(), "key", *source)
	if err != nil || found.Value.Reveal() != value {
		t.Fatalf("another value, %v", err)
	}
	binding := credential.Header("api.canary.test", "", "X-Api-Key")
	if err := sb.Credentials().Set(t.Context(), "key", found.Value, binding, source); err != nil {
		t.Fatal(err)
	}
	if err := sb.Credentials().Refresh(t.Context(), "key", nil); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{value, token, ungranted} {
		run, err := sb.Run(t.Context(), "echo "+secret, sandbox.ExecOptions{})
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, run.Stdout)
	}
	if err := sb.Emit(t.Context(), "agent.note", map[string]any{"values": []string{value, token, ungranted}}); err != nil {
		t.Fatal(err)
	}
	memory := guestMemory(t) // now, for guests use theirs again
	for _, reference := range []string{"vault:secret/canary-ref#nothing", "vault:secret/nothing#token", "vault:nowhere/a#b", "secret:other"} {
		_, err := broker.Resolve(t.Context(), "key", credential.Source{Type: credential.SourceExternal, Ref: reference})
		if err == nil {
			t.Errorf("%s is known", reference)
		}
		said = append(said, fmt.Sprint(err))
	}
	if _, err := sb.Checkpoint(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	fork, err := sb.Fork(t.Context(), sandbox.ForkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := fork.Credentials().ListBindings(t.Context())
	if err != nil || len(list) != 1 || !list[0].Live {
		t.Errorf("the fork has %+v, %v", list, err)
	}

	secrets := map[string]string{"the value": value, "the Vault's token": token, "the secret that nobody is granted": ungranted}
	memory = append(memory, guestMemory(t)...)
	// The search works: here are the ledger, the broker, and what one of them was told.
	for _, known := range []string{"INSERT INTO", "X-Vault-Token", "canary-ref"} {
		if !raceEnabled && !slices.ContainsFunc(memory, func(b []byte) bool { return bytes.Contains(b, []byte(known)) }) {
			t.Errorf("no guest's memory among %d has %q", len(memory), known)
		}
	}
	for _, b := range memory {
		hasNone(t, "a guest's memory", b, secrets)
	}
	if err := errors.Join(fork.Close(t.Context()), sb.Close(t.Context()), closeHost()); err != nil {
		t.Error(err)
	}
	hasNone(t, "the log", log.Bytes(), secrets)
	hasNone(t, "what was said", []byte(strings.Join(said, "\n")), secrets)
	for _, folder := range []string{dir, cfg.Engine.Data} {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return nil //nolint:nilerr // what is gone can't have one
			}
			if b, err := os.ReadFile(path); err == nil {
				hasNone(t, path, b, secrets)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// vaultToken makes a token that may read.
func vaultToken(t *testing.T, vault *baotest.Server) string {
	t.Helper()
	vault.Call(t, "POST", "sys/policies/acl/reader", `{"policy":"path \"secret/*\" { capabilities = [\"read\"] }"}`, nil)
	var made struct {
		Auth struct {
			Token string `json:"client_token"`
		} `json:"auth"`
	}
	vault.Call(t, "POST", "auth/token/create", `{"policies":["reader"]}`, &made)
	if made.Auth.Token == "" {
		t.Fatal("the Vault makes no token")
	}
	return made.Auth.Token
}

// hasNone looks for secrets as they are, and as encodings have them.
func hasNone(t *testing.T, what string, text []byte, secrets map[string]string) {
	t.Helper()
	for name, secret := range secrets {
		forms := []string{secret, hex.EncodeToString([]byte(secret)), secret[4:20]}
		for skip := range 3 {
			whole := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(" ", skip) + secret))
			forms = append(forms, whole[4:len(whole)-4])
		}
		for _, form := range forms {
			if bytes.Contains(text, []byte(form)) {
				t.Errorf("%s is in %s as %q", name, what, form)
			}
		}
	}
}

// guestMemory is a copy of what this process has of all guests' linear memory, which the kernel knows
// by being reserved without a reservation. The race detector has memory of that kind, so with it there is
// none.
func guestMemory(t *testing.T) [][]byte {
	t.Helper()
	if raceEnabled {
		return nil
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = mem.Close() }() // it was only read
	pages, err := os.Open("/proc/self/pagemap")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pages.Close() }() // it was only read
	var all [][]byte
	var start, end int64
	lines := bufio.NewScanner(bytes.NewReader(maps))
	for lines.Scan() {
		line := lines.Text()
		if fields := strings.Fields(line); len(fields) == 5 && strings.HasPrefix(fields[1], "rw") { // no file behind it
			if _, err := fmt.Sscanf(fields[0], "%x-%x", &start, &end); err != nil {
				start, end = 0, 0
			}
			continue
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok {
			if slices.Contains(strings.Fields(flags), "nr") {
				all = append(all, touched(mem, pages, start, end))
			}
			start, end = 0, 0
		}
	}
	return all
}

// touched reads the pages of a range that were ever written, one behind another.
func touched(mem, pages *os.File, start, end int64) []byte {
	size := int64(os.Getpagesize())
	entries := make([]byte, (end-start)/size*8)
	if _, err := pages.ReadAt(entries, start/size*8); err != nil {
		return nil // it is gone
	}
	var out []byte
	page := make([]byte, size)
	for i := int64(0); i < int64(len(entries)); i += 8 {
		if binary.NativeEndian.Uint64(entries[i:])>>62 == 0 { // neither here nor swapped out
			continue
		}
		if _, err := mem.ReadAt(page, start+i/8*size); err == nil {
			out = append(out, page...)
		}
	}
	return out
}
