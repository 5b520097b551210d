package outbound_test

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/internal/capability/outbound"
)

func TestPermits(t *testing.T) {
	t.Parallel()
	c, err := outbound.New(outbound.Options{Allow: []string{
		"https://Vault.internal.:8200/v1/", "http://10.0.0.7", "https://[2001:db8::1]:8443", "https://api.example.com/a%20b",
	}})
	if err != nil {
		t.Fatal(err)
	}
	for address, ok := range map[string]bool{
		"https://vault.internal:8200/v1":               true,
		"https://vault.internal:8200/v1/secret":        true,
		"https://VAULT.internal.:8200/v1/secret?x=1":   true,
		"https://vault.internal:8200/v1secret":         false,
		"https://vault.internal:8200/":                 false,
		"https://vault.internal:8200":                  false,
		"https://vault.internal/v1/secret":             false,
		"http://vault.internal:8200/v1/secret":         false,
		"https://vault.internal:8200/v1/../sys":        false,
		"https://vault.internal:8200/v1/%2e%2e/sys":    false,
		"https://vault.internal:8200/v1/..%2fsys":      false,
		`https://vault.internal:8200/v1/..%5csys`:      false,
		"https://user@vault.internal:8200/v1/secret":   false,
		"https://vault.internal:8200/v1/secret#x":      false,
		"https://vault.internal.evil.example:8200/v1/": false,
		"https://evil.example/?vault.internal":         false,
		"http://10.0.0.7/any":                          true,
		"http://10.0.0.7:80/any":                       true,
		"http://[::ffff:10.0.0.7]/any":                 true,
		"http://10.0.0.8/any":                          false,
		"https://[2001:db8:0::1]:8443/x":               true,
		"https://api.example.com/a%20b/c":              true,
		"https://api.example.com/a":                    false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		denied := c.Permits(u)
		if _, is := errors.AsType[*outbound.DeniedError](denied); (denied == nil) != ok || denied != nil && !is {
			t.Errorf("%s: %v, want permitted %v", address, denied, ok)
		}
	}
}

func TestGrantsThatAreNone(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		"":                            "https://",
		"vault.internal":              "https://",
		"ftp://vault.internal":        "https://",
		"https://":                    "host",
		"https://u:p@vault.internal":  "user",
		"https://vault.internal/?x=1": "query",
		"https://vault.internal/#x":   "fragment",
		"https://*.internal":          "one by one",
		"https://a/../b":              "elsewhere",
		"https://a/b%2Fc":             "encoded slash",
		"https://a:port":              "no URL",
	} {
		if got, err := outbound.ParseGrant(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %q, %v; want an error about %q", text, got, err, why)
		}
	}
	if got, err := outbound.ParseGrant("HTTPS://Vault.Internal./v1//"); err != nil || got != "https://vault.internal:443/v1" {
		t.Errorf("canonical form %q, %v", got, err)
	}
}

// TestAddresses looks at what names stand for: only the addresses that are allowed are dialled.
func TestAddresses(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "reached") }))
	t.Cleanup(server.Close)
	port := server.URL[strings.LastIndexByte(server.URL, ':')+1:]
	for _, c := range []struct {
		name, host, address string
		private             []string
		reached             bool
	}{
		{name: "loopback by name", host: "rebound.example", address: "127.0.0.1"},
		{name: "loopback by name, allowed", host: "near.example", address: "127.0.0.1", private: []string{"Near.example."}, reached: true},
		{name: "another name is allowed", host: "rebound.example", address: "127.0.0.1", private: []string{"near.example"}},
		{name: "localhost", host: "localhost", address: "127.0.0.1", reached: true},
		{name: "localhost that is elsewhere", host: "localhost", address: "10.0.0.1"},
		{name: "the address itself", host: "127.0.0.1", reached: true},
		{name: "IPv4 in IPv6", host: "rebound.example", address: "::ffff:127.0.0.1"},
		{name: "translated", host: "rebound.example", address: "64:ff9b::7f00:1"},
		{name: "6to4", host: "rebound.example", address: "2002:7f00:1::"},
		{name: "metadata", host: "near.example", address: "169.254.169.254", private: []string{"near.example"}},
		{name: "metadata, translated", host: "near.example", address: "64:ff9b::a9fe:a9fe", private: []string{"near.example"}},
		{name: "unspecified", host: "near.example", address: "0.0.0.0", private: []string{"near.example"}},
		{name: "a network of one's own", host: "rebound.example", address: "10.1.2.3"},
		{name: "carrier's", host: "rebound.example", address: "100.64.0.1"},
		{name: "unique local", host: "rebound.example", address: "fd00::1"},
		{name: "multicast", host: "near.example", address: "224.0.0.1", private: []string{"near.example"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client, err := outbound.New(outbound.Options{
				Allow: []string{"http://" + c.host + ":" + port}, Private: c.private,
				Lookup: func(context.Context, string, string) ([]netip.Addr, error) {
					return []netip.Addr{netip.MustParseAddr(c.address)}, nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = client.Close() }()
			body, err := get(t, client, "http://"+c.host+":"+port+"/")
			if c.reached {
				if err != nil || body != "reached" {
					t.Errorf("%q, %v", body, err)
				}
				return
			}
			if _, denied := errors.AsType[*outbound.DeniedError](err); !denied || !strings.Contains(err.Error(), c.host) {
				t.Errorf("%q, %v; want that it is denied", body, err)
			}
		})
	}
}

func get(t *testing.T, c *outbound.Client, address string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Vault-Token", "t0k3n")
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// TestRedirects looks at each hop.
func TestRedirects(t *testing.T) {
	t.Parallel()
	reached := make(chan string, 16)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached <- r.Header.Get("X-Vault-Token") }))
	defer other.Close()
	var target string
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/here", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "here "+r.Header.Get("X-Vault-Token"))
	})
	mux.HandleFunc("/v1/loop", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/v1/loop", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/v1/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target, http.StatusTemporaryRedirect)
	})
	server := httptest.NewTLSServer(mux)
	defer server.Close()
	client, err := outbound.New(outbound.Options{
		Allow: []string{server.URL + "/v1", other.URL + "/granted"},
		CA:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	for _, c := range []struct{ to, want, fails string }{
		{to: "/v1/here", want: "here t0k3n"},
		{to: "/v1/loop", fails: "more than"},
		{to: "/v2", fails: "not granted"},
		{to: "/v1/../v2", fails: "not granted"},
		{to: other.URL + "/elsewhere", fails: "from https to"},
		{to: other.URL + "/granted", fails: "from https to"},
		{to: "https://169.254.169.254/latest", fails: "not granted"},
	} {
		target = c.to
		body, err := get(t, client, server.URL+"/v1/to")
		if c.fails == "" {
			if err != nil || body != c.want {
				t.Errorf("to %s: %q, %v", c.to, body, err)
			}
			continue
		}
		if _, denied := errors.AsType[*outbound.DeniedError](err); !denied || !strings.Contains(err.Error(), c.fails) {
			t.Errorf("to %s: %q, %v; want denied: %s", c.to, body, err, c.fails)
		}
	}
	if len(reached) != 0 {
		t.Errorf("the other server got %q", <-reached)
	}
}

func TestPrivateCA(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	client, err := outbound.New(outbound.Options{Allow: []string{server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if _, err := get(t, client, server.URL); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("without the CA: %v", err)
	}
	if _, err := outbound.New(outbound.Options{CA: []byte("no certificate")}); err == nil {
		t.Error("a CA file without a certificate was taken")
	}
}

// TestNoProxy: what the environment says of proxies does not count.
func TestNoProxy(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	client, err := outbound.New(outbound.Options{
		Allow:  []string{"http://far.example"},
		Lookup: func(context.Context, string, string) ([]netip.Addr, error) { return nil, errors.New("no such host") },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, client, "http://far.example/"); err == nil || !strings.Contains(err.Error(), "no such host") {
		t.Errorf("%v", err)
	}
}

// FuzzPermits: whatever is granted, a permitted address goes to the grant's host, below its path.
func FuzzPermits(f *testing.F) {
	for _, s := range []string{
		"https://vault.internal:8200/v1/secret", "https://vault.internal:8200/v1/..%2f", "https://vault.internal:8200\\@evil/v1", "//x", "https://vault.internal:8200/v1//..",
	} {
		f.Add(s)
	}
	client, err := outbound.New(outbound.Options{Allow: []string{"https://vault.internal:8200/v1"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, address string) {
		u, err := url.Parse(address)
		if err != nil || client.Permits(u) != nil {
			return
		}
		host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
		decoded, err := url.PathUnescape(u.EscapedPath())
		if err != nil || u.Scheme != "https" || host != "vault.internal" || u.Port() != "8200" ||
			decoded != "/v1" && !strings.HasPrefix(decoded, "/v1/") || strings.Contains(decoded, "/../") || strings.HasSuffix(decoded, "/..") {
			t.Errorf("%q is permitted", address)
		}
	})
}
