package engine_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"testing"
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
	w.name("api.vault.test", w.ip)
	var got seen
	echo := func(rw http.ResponseWriter, r *http.Request) {
		got.add(r.Header.Get("Authorization"))
		_, _ = fmt.Fprintf(rw, "%s %s saw %s", r.Proto, r.URL.Path, r.Header.Get("Authorization"))
	}
	w.serve("443", echo, "api.vault.test")
	w.serve("80", echo)
	box := w.locked(e, "api.vault.test")
	requirePrograms(t, box.testBox, "curl", "python3")

	if out := box.must("curl -sS http://api.vault.test/before"); !strings.Contains(out, "/before saw") {
		t.Errorf("before there is a vault: %s", out)
	}
	box.bind(canary, "api.vault.test", `,"schemes":["https","http"]`)
	got.take()
	for _, command := range []string{
		"curl -sS https://api.vault.test/v1",
		"curl -sS --http1.1 https://api.vault.test/v1",
		"curl -sS http://api.vault.test/v1",
		"curl -sS -H 'Authorization: Bearer mine' https://api.vault.test/v1",
		`python3 -c 'import urllib.request; print(urllib.request.urlopen("https://api.vault.test/v1").read().decode())'`,
		`env -u SSL_CERT_FILE python3 -c 'import urllib.request; print(urllib.request.urlopen("https://api.vault.test/v1").read().decode())'`,
		`env -u SSL_CERT_FILE -u CURL_CA_BUNDLE curl -sS https://api.vault.test/v1`,
	} {
		out := box.run(command)
		if strings.Contains(out.Stdout, canary) || !strings.Contains(out.Stdout, "/v1 saw Bearer ***") {
			t.Errorf("%s: %s%s", command, out.Stdout, out.Stderr)
		}
		if auth := got.take(); len(auth) != 1 || auth[0] != "Bearer "+canary {
			t.Errorf("%s: the server saw %q", command, auth)
		}
	}
	t.Log(box.attempts())
}
