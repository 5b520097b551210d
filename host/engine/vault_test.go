package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/engine"
)

func quietLog() *log.Logger { return log.New(io.Discard, "", 0) }

// canary is a secret that is nowhere by chance.
const canary = "canary-7f3e/secret+value=9a"

// TestCredentialInjection uses a credential with programs that know nothing of it.
func TestCredentialInjection(t *testing.T) {
	t.Parallel()
	w := requireWorld(t)
	e := w.engine()
	requireEgress(t, e)
	w.name("api.bound.test", w.ip)
	var got seen
	echo := func(rw http.ResponseWriter, r *http.Request) {
		got.add(r.Header.Get("Authorization"))
		_, _ = fmt.Fprintf(rw, "%s %s saw %s", r.Proto, r.URL.Path, r.Header.Get("Authorization"))
	}
	w.serve("443", echo, "api.bound.test")
	w.serve("80", echo)
	box := w.locked(e, "api.bound.test")
	requirePrograms(t, box.testBox, "curl", "python3")

	if out := box.must("curl -sS http://api.bound.test/before"); !strings.Contains(out, "/before saw") {
		t.Errorf("before there is a vault: %s", out)
	}
	box.bind(canary, "api.bound.test", `,"schemes":["https","http"]`)
	got.take()
	for _, command := range []string{
		"curl -sS https://api.bound.test/v1",
		"curl -sS --http1.1 https://api.bound.test/v1",
		"curl -sS http://api.bound.test/v1",
		"curl -sS -H 'Authorization: Bearer mine' https://api.bound.test/v1",
		`python3 -c 'import urllib.request; print(urllib.request.urlopen("https://api.bound.test/v1").read().decode())'`,
		`env -u SSL_CERT_FILE python3 -c 'import urllib.request; print(urllib.request.urlopen("https://api.bound.test/v1").read().decode())'`,
		`env -u SSL_CERT_FILE -u CURL_CA_BUNDLE curl -sS https://api.bound.test/v1`,
		`if command -v node >/dev/null; then node -e 'fetch("https://api.bound.test/v1").then(r => r.text()).then(console.log)'; else curl -sS https://api.bound.test/v1; fi`,
		`openssl s_client -quiet -verify_return_error -CApath /etc/ssl/certs -connect api.bound.test:443 -servername api.bound.test < <(printf 'GET /v1 HTTP/1.1\r\nHost: api.bound.test\r\nConnection: close\r\n\r\n'; sleep 5) 2>/dev/null || curl -sS https://api.bound.test/v1`,
	} {
		out := box.run(command)
		if strings.Contains(out.Stdout, canary) || !strings.Contains(out.Stdout, "/v1 saw Bearer ***") {
			t.Errorf("%s: %s%s", command, out.Stdout, out.Stderr)
		}
		if auth := got.take(); len(auth) != 1 || auth[0] != "Bearer "+canary {
			t.Errorf("%s: the server saw %q", command, auth)
		}
	}
	if log := box.attempts(); !strings.Contains(log, "injected GET api.bound.test:443/v1: binding \"b\"") {
		t.Error(log)
	}

	// Nothing inside has it, nor has what the engine writes.
	if out := box.run(`env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null; grep -rsl -e 'canary-7f3e/se[c]ret' /etc /run /tmp /root /workspace /opt /var/tmp /dev/shm && echo FO""UND`).Stdout; strings.Contains(out, canary) || strings.Contains(out, "FOUND") {
		t.Error("the sandbox has the value")
	}
	if out := box.run("cat " + trustDir + "/* /etc/ssl/certs/ca-certificates.crt").Stdout; strings.Contains(out, "PRIVATE KEY") {
		t.Error("the sandbox has a key")
	}
	for _, token := range box.endpoint.Headers {
		if out := box.run("env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null"); strings.Contains(out.Stdout, token) {
			t.Error("the sandbox has the token of the vault's API")
		}
	}
	findIn(t, e.dir, canary)
	findIn(t, e.dir, "PRIVATE KEY")
}

// trustDir is where a sandbox has the certificates.
const trustDir = "/run/opensandbox"

// findIn fails when a file below a directory has a text.
func findIn(t *testing.T, dir, text string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || strings.Contains(path, "/base/") {
			return nil //nolint:nilerr // it is a live directory; the base layers are of the machine
		}
		b, err := os.ReadFile(path)
		if err == nil && bytes.Contains(b, []byte(text)) {
			t.Errorf("%s has %q", path, text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCredentialRequired refuses what can't be.
func TestCredentialRequired(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	requireEgress(t, e)
	body := hostImage()
	body["credentialProxy"] = map[string]any{"enabled": true}
	if code, _, out := e.do(http.MethodPost, "/sandboxes", body); code != http.StatusUnprocessableEntity {
		t.Errorf("without a policy: %d %s", code, out)
	}
	body["credentialProxy"] = map[string]any{"enabled": "certainly"}
	if code, _, out := e.do(http.MethodPost, "/sandboxes", body); code != http.StatusUnprocessableEntity {
		t.Errorf("not a boolean: %d %s", code, out)
	}
	box := &lockedBox{testBox: e.create(map[string]any{"networkPolicy": map[string]any{"egress": []any{map[string]string{"action": "allow", "target": "a.test"}}}})}
	_, _, out := e.do(http.MethodGet, "/sandboxes/"+box.ID+"/endpoints/18080", nil)
	if err := json.Unmarshal([]byte(out), &box.endpoint); err != nil {
		t.Fatal(err)
	}
	if code, out := box.vault(http.MethodPost, "/credential-vault", "{}"); code != http.StatusPreconditionFailed {
		t.Errorf("a vault without a proxy: %d %s", code, out)
	}
	if out := box.run("ls " + trustDir + "; env").Stdout; strings.Contains(out, "ca.pem") || strings.Contains(out, "SSL_CERT_FILE") {
		t.Errorf("an authority without a proxy: %s", out)
	}
	box = (&outsideWorld{t: t, ip: "192.0.2.1"}).locked(e, "a.test")
	// Also where the machine's root owns the bundle, and this user made the sandbox.
	box.must("grep -q CERTIFICATE " + trustDir + "/ca.pem && (test ! -e /etc/ssl/certs/ca-certificates.crt || grep -q 'credential proxy' /etc/ssl/certs/ca-certificates.crt)")
	secret := `{"credentials":[{"name":"t","source":{"value":"v"}}],"bindings":[]}`
	relayed, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+box.endpoint.Endpoint+"/credential-vault", strings.NewReader(secret))
	if err != nil {
		t.Fatal(err)
	}
	relayed.Header.Set("OPENSANDBOX-EGRESS-AUTH", box.endpoint.Headers["OPENSANDBOX-EGRESS-AUTH"])
	relayed.Header.Set("X-Forwarded-For", "203.0.113.9")
	relayed.Header.Set("X-Forwarded-Proto", "http")
	if code, _, out := e.send(relayed); code != http.StatusUpgradeRequired {
		t.Errorf("a secret in clear from another machine: %d %s", code, out)
	}
	box.endpoint.Headers["OPENSANDBOX-EGRESS-AUTH"] += "x"
	if code, out := box.vault(http.MethodPost, "/credential-vault", secret); code != http.StatusUnauthorized {
		t.Errorf("with another token: %d %s", code, out)
	}
}

// TestCredentialFork makes a sandbox of the files of one with credentials: it has none, and trusts an
// authority of its own.
func TestCredentialFork(t *testing.T) {
	t.Parallel()
	w := requireWorld(t)
	e := w.engine()
	requireEgress(t, e)
	w.name("api.bound.test", w.ip)
	w.serve("443", func(rw http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(rw, "auth %q", r.Header.Get("Authorization"))
	}, "api.bound.test")
	first := w.locked(e, "api.bound.test")
	requirePrograms(t, first.testBox, "curl")
	first.bind(canary, "api.bound.test", "")
	code, _, out := e.do(http.MethodPost, "/sandboxes/"+first.ID+"/snapshots", map[string]any{})
	var snap struct {
		ID     string
		Status struct{ State string }
	}
	if err := json.Unmarshal([]byte(out), &snap); err != nil || code != http.StatusAccepted {
		t.Fatalf("snapshot: %d %s", code, out)
	}
	eventually(t, "the snapshot", func() bool {
		_, _, out := e.do(http.MethodGet, "/snapshots/"+snap.ID, nil)
		if err := json.Unmarshal([]byte(out), &snap); err != nil {
			t.Fatal(err)
		}
		return snap.Status.State == "Ready"
	})
	second := &lockedBox{testBox: e.create(map[string]any{
		"image": nil, "snapshotId": snap.ID, "credentialProxy": map[string]any{"enabled": true},
		"networkPolicy": map[string]any{"egress": []any{
			map[string]string{"action": "allow", "target": w.ip}, map[string]string{"action": "allow", "target": "api.bound.test"},
		}},
	})}
	_, _, out = e.do(http.MethodGet, "/sandboxes/"+second.ID+"/endpoints/18080", nil)
	if err := json.Unmarshal([]byte(out), &second.endpoint); err != nil {
		t.Fatal(err)
	}
	if code, out := second.vault(http.MethodGet, "/credential-vault", ""); code != http.StatusNotFound {
		t.Errorf("the fork has a vault: %d %s", code, out)
	}
	if out := second.must("curl -sSk https://api.bound.test/"); !strings.HasPrefix(out, `auth ""`) {
		t.Errorf("the fork has the credential: %s", out)
	}
	second.bind("another", "api.bound.test", "")
	if out := second.must("env -u CURL_CA_BUNDLE -u SSL_CERT_FILE curl -sS https://api.bound.test/"); !strings.HasPrefix(out, `auth "Bearer ****`) {
		t.Error(out)
	}
	findIn(t, e.dir, canary)
}

// TestCredentialSurvivesEngine keeps the vault while another engine takes over.
func TestCredentialSurvivesEngine(t *testing.T) {
	t.Parallel()
	w := requireWorld(t)
	opts := engine.Options{DataDir: t.TempDir(), Nameserver: w.dns, Roots: w.roots}
	first := openEngine(t, opts)
	requireEgress(t, first)
	w.name("api.bound.test", w.ip)
	var got seen
	w.serve("443", func(_ http.ResponseWriter, r *http.Request) { got.add(r.Header.Get("Authorization")) }, "api.bound.test")
	box := w.locked(first, "api.bound.test")
	requirePrograms(t, box.testBox, "curl")
	box.bind(canary, "api.bound.test", "")
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := openEngine(t, opts)
	box.e = second
	if code, out := box.vault(http.MethodGet, "/credential-vault", ""); code != http.StatusOK || !strings.Contains(out, `"revision":1`) {
		t.Fatalf("the vault: %d %s", code, out)
	}
	box.must("curl -sS https://api.bound.test/")
	if auth := got.take(); len(auth) != 1 || auth[0] != "Bearer "+canary {
		t.Errorf("the server saw %q", auth)
	}
	// Rotation, and the end of it, hold for the next request, on a connection that stays.
	client := `python3 - <<'EOF'
import http.client, json, ssl, sys, urllib.request
c = http.client.HTTPSConnection("api.bound.test")
for line in range(2):
    c.request("GET", "/"); c.getresponse().read()
EOF`
	if code, out := box.vault(http.MethodPatch, "/credential-vault", `{"expectedRevision":1,"credentials":{"replace":[{"name":"t","source":{"value":"second"}}]}}`); code != http.StatusOK {
		t.Fatalf("rotating: %d %s", code, out)
	}
	box.must(client)
	if auth := got.take(); len(auth) != 2 || auth[0] != "Bearer second" || auth[1] != "Bearer second" {
		t.Errorf("the server saw %q", auth)
	}
	if code, out := box.vault(http.MethodDelete, "/credential-vault", ""); code != http.StatusNoContent {
		t.Fatalf("deleting: %d %s", code, out)
	}
	if out := box.run("curl -sS https://api.bound.test/"); !strings.Contains(out.Stderr, "certificate") {
		t.Errorf("without a binding the server itself answers, whom nobody inside trusts: %s%s", out.Stdout, out.Stderr)
	}
	if auth := got.take(); len(auth) != 0 {
		t.Errorf("the server saw %q", auth)
	}
}
