package intercept

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/internal/engine/trail"
	"github.com/alineo-labs/alineo-host/host/internal/engine/vault"
)

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }

// TestInjection sees what reaches the upstream.
func TestInjection(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		auth vault.Auth
		want map[string]string
	}{
		{"bearer", bearer(), map[string]string{"Authorization": "Bearer " + secret}},
		{"basic", vault.Auth{Type: "basic", Credential: "t"}, map[string]string{"Authorization": "Basic " + secret}},
		{"apiKey", vault.Auth{Type: "apiKey", Name: "x-api-key", Credential: "t"}, map[string]string{"X-Api-Key": secret}},
		{"customHeaders", vault.Auth{Type: "customHeaders", Headers: []vault.Header{{Name: "x-a", Credential: "t"}, {Name: "x-b", Credential: "t"}}}, map[string]string{"X-A": secret, "X-B": secret}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, ok)
			r.bind(c.auth)
			for _, scheme := range []string{"http", "https"} {
				for _, http2 := range []bool{false, true} {
					req := r.request(http.MethodPost, scheme+"://"+host+"/v1/%41?q=1;2&%zz", "body")
					for name := range c.want {
						req.Header[name] = []string{"mine", "mine too"}
						req.Header[strings.ToLower(name)] = []string{"mine as well"}
						req.Header["Connection"] = append(req.Header["Connection"], name) // take it out on the way
					}
					if http2 {
						req.Header.Del("Connection")
					}
					req.Header.Set("X-Forwarded-For", "1.2.3.4")
					if resp, body := r.do(r.client(http2), req); resp.StatusCode != http.StatusOK || body != "ok" {
						t.Fatalf("%s: %d %s", scheme, resp.StatusCode, body)
					}
					got := r.took()
					if len(got) != 1 {
						t.Fatalf("%s: %d requests", scheme, len(got))
					}
					for name, v := range c.want {
						if have := got[0].Header.Values(name); len(have) != 1 || have[0] != v {
							t.Errorf("%s: %s is %q", scheme, name, have)
						}
					}
					if got[0].RequestURI != "/v1/%41?q=1;2&%zz" || got[0].Host != host || got[0].Header.Get("X-Forwarded-For") != "1.2.3.4" {
						t.Errorf("%s: %s of %s, forwarded for %s", scheme, got[0].RequestURI, got[0].Host, got[0].Header.Get("X-Forwarded-For"))
					}
				}
			}
			if !r.recorded(trail.Injected, `binding "b"`) {
				t.Error(r.trail.Entries())
			}
		})
	}
}

// TestOnlyMatching sends everything but the request that is meant.
func TestOnlyMatching(t *testing.T) {
	t.Parallel()
	r := newRig(t, ok)
	r.bind(bearer(), func(m *vault.Match) {
		*m = vault.Match{Hosts: []string{host}, Methods: []string{"GET"}, Paths: []string{"/v1/*"}}
	})
	c := r.client(false)
	for _, what := range []string{"GET http /v1/x", "POST https /v1/x", "GET https /v2/x", "GET https /V1/x", "GET https /v1", "GET https //v1/x"} {
		f := strings.Fields(what)
		r.do(c, r.request(f[0], f[1]+"://"+host+f[2], ""))
		if got := r.took(); len(got) != 1 || got[0].Header.Get("Authorization") != "" {
			t.Errorf("%s: %v", what, got)
		}
	}
	if !r.recorded(trail.Withheld, "POST "+host+":443/v1/x") || !r.recorded(trail.Withheld, "GET "+host+":80/v1/x") {
		t.Error(r.trail.Entries())
	}
	if r.recorded(trail.Injected, "") {
		t.Error("a credential went out")
	}
	r.do(c, r.request(http.MethodGet, "https://"+host+"/v1/x", ""))
	if got := r.took(); len(got) != 1 || got[0].Header.Get("Authorization") == "" {
		t.Error("the one that matches has none")
	}
}

// TestSubstitution puts a credential where a placeholder was.
func TestSubstitution(t *testing.T) {
	t.Parallel()
	var body string
	r := newRig(t, func(w http.ResponseWriter, q *http.Request) {
		b, err := io.ReadAll(q.Body)
		if err != nil {
			t.Error(err)
		}
		body = string(b)
		ok(w, q)
	})
	r.bind(vault.Auth{Type: "passthrough", Substitutions: []vault.Substitution{
		{Credential: "t", Placeholder: "PLACE", In: []string{"query", "header", "body"}},
		{Credential: "t", Placeholder: "PLACEHOLDER", In: []string{"body"}},
	}})
	c := r.client(false)
	long := strings.Repeat("x", maxSubstituted)
	for _, s := range []struct{ kind, send, want string }{
		{"text/plain", "a PLACE b PLACEHOLDER", "a " + secret + " b " + secret},
		{"application/json; charset=utf-8", `{"k":"PLACE"}`, `{"k":"s3cr3t/value+with=odd\u0026\u003cchars\u003e\"1"}`},
		{"application/x-www-form-urlencoded", "k=PLACE", "k=s3cr3t%2Fvalue%2Bwith%3Dodd%26%3Cchars%3E%221"},
		{"multipart/form-data; boundary=x", "PLACE", "PLACE"},
		{"text/plain", "PLACE\xff", "PLACE\xff"},
		{"text/plain", "PLACE" + long, "PLACE" + long},
		{"text/plain", "", ""},
	} {
		req := r.request(http.MethodPost, "https://"+host+"/PLACE?a=PLACE&b=xPLACE", s.send)
		req.Header.Set("Content-Type", s.kind)
		req.Header.Set("X-Token", "PLACE")
		if resp, out := r.do(c, req); resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s", s.kind, resp.StatusCode, out)
		}
		const encoded = "s3cr3t%2Fvalue%2Bwith%3Dodd%26%3Cchars%3E%221"
		got := r.took()[0]
		if got.RequestURI != "/PLACE?a="+encoded+"&b=x"+encoded || got.Header.Get("X-Token") != secret || body != s.want {
			t.Errorf("%s %.50q: %s, %s, %.80q", s.kind, s.send, got.RequestURI, got.Header.Get("X-Token"), body)
		}
	}
	for range 3 * maxBodies { // each gives its room back
		r.do(c, r.request(http.MethodPost, "https://"+host+"/", "PLACE"))
	}
	req := r.request(http.MethodPost, "https://"+host+"/", "PLACE")
	req.Header.Set("Content-Encoding", "gzip")
	if r.do(c, req); body != "PLACE" {
		t.Errorf("a compressed body became %q", body)
	}
}

// TestSubstitutionInPath keeps a value from making another path.
func TestSubstitutionInPath(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{"key-1": "/v1/key-1/x", "a b": "/v1/a%20b/x", "..": "", "a/b": "", "..%2f": ""} {
		r := newRig(t, ok)
		if _, err := r.store.Create(vault.CreateRequest{
			Credentials: []vault.Credential{{Name: "t", Source: vault.Source{Value: vault.Value(value)}}},
			Bindings: []vault.Binding{{Name: "b", Match: vault.Match{Hosts: []string{host}}, Auth: vault.Auth{
				Type: "passthrough", Substitutions: []vault.Substitution{{Credential: "t", Placeholder: "KEY", In: []string{"path"}}},
			}}},
		}, anyHost); err != nil {
			t.Fatal(err)
		}
		resp, _ := r.do(r.client(false), r.request(http.MethodGet, "https://"+host+"/v1/KEY/x", ""))
		got := ""
		if all := r.took(); len(all) > 0 {
			got = all[0].RequestURI
		}
		if got != want || (want == "") != (resp.StatusCode == http.StatusForbidden) {
			t.Errorf("%q: %s, %d", value, got, resp.StatusCode)
		}
	}
}

// TestIdentity is strict about which host a connection and a request are for.
func TestIdentity(t *testing.T) {
	t.Parallel()
	r := newRig(t, ok)
	r.bind(bearer())
	if c, err := r.dial("other.test"); err == nil {
		t.Errorf("TLS for another name: %v", c.ConnectionState().ServerName)
	}
	if !r.recorded(trail.Refused, `the server name of TLS is "other.test"`) {
		t.Error(r.trail.Entries())
	}
	for header, code := range map[string]int{
		host: 200, strings.ToUpper(host): 200, host + ".": 200, host + ":443": 200, host + ":8443": 421, "other.test": 421, "127.0.0.1": 421, "": 421, host + "@other.test": 400,
	} {
		c, err := r.dial("")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", header); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("Host %q: %v", header, err)
		}
		_ = resp.Body.Close()
		if got := len(r.took()); resp.StatusCode != code || (got == 1) != (code == 200) {
			t.Errorf("Host %q: %d, and %d requests went out", header, resp.StatusCode, got)
		}
	}
	if !r.recorded(trail.Refused, `the request is for "other.test"`) {
		t.Error(r.trail.Entries())
	}
	r.mu.Lock()
	r.allowed = false
	r.mu.Unlock()
	if resp, body := r.do(r.client(false), r.request(http.MethodGet, "https://"+host+"/", "")); resp.StatusCode != http.StatusForbidden || len(r.took()) != 0 {
		t.Errorf("against the policy: %d %s", resp.StatusCode, body)
	}
}

// TestUpstreamCertificate sends nothing to whom nobody vouches for.
func TestUpstreamCertificate(t *testing.T) {
	t.Parallel()
	r := newRig(t, ok)
	r.bind(bearer())
	stranger, err := NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := stranger.certificate(host)
	if err != nil {
		t.Fatal(err)
	}
	r.upstream.TLS.Certificates[0] = *cert
	resp, body := r.do(r.client(false), r.request(http.MethodGet, "https://"+host+"/", ""))
	if resp.StatusCode != http.StatusBadGateway || len(r.took()) != 0 || !r.recorded(trail.Refused, "certificate is not valid") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestLive changes the vault below a connection that stays.
func TestLive(t *testing.T) {
	t.Parallel()
	r := newRig(t, ok)
	for _, http2 := range []bool{false, true} {
		c := r.client(http2)
		auth := func() string {
			r.do(c, r.request(http.MethodGet, "https://"+host+"/", ""))
			return r.took()[0].Header.Get("Authorization")
		}
		r.bind(bearer())
		if got := auth(); got != "Bearer "+secret {
			t.Errorf("bound: %q", got)
		}
		for i := range 20 {
			v := fmt.Sprintf("rotated-%d", i)
			var m vault.Mutation
			if err := vault.Decode([]byte(`{"credentials":{"replace":[{"name":"t","source":{"value":"`+v+`"}}]}}`), &m); err != nil {
				t.Fatal(err)
			}
			if _, err := r.store.Patch(m, anyHost); err != nil {
				t.Fatal(err)
			}
			if got := auth(); got != "Bearer "+v {
				t.Fatalf("rotated to %q: %q", v, got)
			}
		}
		if err := r.store.Delete(); err != nil {
			t.Fatal(err)
		}
		if got := auth(); got != "" {
			t.Errorf("deleted: %q", got)
		}
	}
}
