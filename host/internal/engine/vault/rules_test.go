package vault_test

import (
	"slices"
	"testing"

	"github.com/alineo-labs/alineo-host/host/internal/engine/vault"
)

func TestSelect(t *testing.T) {
	t.Parallel()
	store := vault.NewStore()
	bearer := vault.Auth{Type: "bearer", Credential: "t"}
	_, err := store.Create(vault.CreateRequest{
		Credentials: []vault.Credential{{Name: "t", Source: vault.Source{Value: "one"}}, {Name: "p", Source: vault.Source{Value: "dXNlcjpwYXNzd29yZA=="}}},
		Bindings: []vault.Binding{
			{Name: "own", Match: vault.Match{Hosts: []string{"a.b.test"}, Paths: []string{"/v1/*", "/exact"}}, Auth: bearer},
			{Name: "wild", Match: vault.Match{Hosts: []string{"*.b.test"}}, Auth: vault.Auth{Type: "basic", Credential: "p"}},
			{Name: "plain", Match: vault.Match{Hosts: []string{"c.test"}, Schemes: []string{"http"}, Methods: []string{"get"}}, Auth: bearer},
		},
	}, func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	rules := store.Rules()
	for _, c := range []struct {
		scheme string
		port   int
		method string
		host   string
		path   string
		want   string
	}{
		{"https", 443, "GET", "a.b.test", "/v1/x", "own"},
		{"https", 443, "GET", "a.b.test", "/v1/", "own"},
		{"https", 443, "GET", "a.b.test", "/exact", "own"},
		{"https", 443, "GET", "a.b.test", "/exact/", "wild"}, // the name's own binding is not for it
		{"https", 443, "GET", "a.b.test", "/V1/x", "wild"},
		{"https", 443, "GET", "x.a.b.test", "/", "wild"},
		{"https", 443, "HEAD", "x.b.test", "/", ""},
		{"https", 443, "GET", "b.test", "/", ""},
		{"https", 443, "GET", "evilb.test", "/", ""},
		{"https", 443, "GET", "a.b.test.evil", "/v1/x", ""},
		{"https", 80, "GET", "a.b.test", "/v1/x", ""},
		{"http", 443, "GET", "a.b.test", "/v1/x", ""},
		{"http", 80, "GET", "c.test", "/", "plain"},
		{"https", 443, "GET", "c.test", "/", ""},
		{"http", 80, "POST", "c.test", "/", ""},
	} {
		got, err := rules.Select(vault.Request{Scheme: c.scheme, Port: c.port, Method: c.method, Host: c.host, Path: c.path})
		name := ""
		if got != nil {
			name = got.Binding
		}
		if err != nil || name != c.want {
			t.Errorf("%+v: %q %v", c, name, err)
		}
	}
	for host, want := range map[string]bool{"a.b.test": true, "x.b.test": true, "b.test": false, "c.test": true, "": false} {
		if rules.Bound(host) != want {
			t.Errorf("%q is bound: %v", host, !want)
		}
	}
	if !slices.Contains(rules.Secrets, "user:password") || !slices.Contains(rules.Secrets, "password") {
		t.Error("what is inside of basic auth may come back")
	}
	if _, err := store.Patch(vault.Mutation{}, func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if err := store.Delete(); err != nil {
		t.Fatal(err)
	}
	if r := store.Rules(); r.Bound("c.test") || !slices.Contains(r.Secrets, "one") {
		t.Error("what was deleted is in force, or may come back")
	}
}
