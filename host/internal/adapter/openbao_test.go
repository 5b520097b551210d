package adapter_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/internal/adapter"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/outbound"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/internal/baotest"
	"github.com/alineo-labs/alineo-host/plugins"
)

// crossing is a plugin's capabilities that remembers every byte which goes to the guest.
type crossing struct {
	*capability.Set
	mu    sync.Mutex
	bytes strings.Builder
}

func (c *crossing) Handle(ctx context.Context, call *capability.Call, op abi.Op, req, dst []byte) ([]byte, *abi.Error) {
	out, failure := c.Set.Handle(ctx, call, op, req, dst)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes.Write(req)
	c.bytes.Write(out[len(dst):])
	if failure != nil {
		c.bytes.WriteString(failure.Error())
	}
	return out, failure
}

// bao is a broker over a real OpenBao.
type bao struct {
	*adapter.Broker
	server  *baotest.Server
	secrets *values
	crossed *crossing
	log     *logText
	set     *capability.Set
	health  func(context.Context) error
}

// logText is what the host and the guest log.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// openBao loads the bundled broker with this configuration of its Vault, besides the address.
func openBao(t *testing.T, server *baotest.Server, config string, secrets map[string]string) *bao {
	t.Helper()
	client, err := outbound.New(outbound.Options{Allow: []string{server.Address}, CA: server.CA})
	if err != nil {
		t.Fatal(err)
	}
	return openBaoVia(t, server, client, server.Address, config, secrets)
}

func openBaoVia(t *testing.T, server *baotest.Server, client *outbound.Client, address, config string, secrets map[string]string) *bao {
	t.Helper()
	bundle, err := plugins.Find("broker-vault")
	if err != nil {
		t.Fatal(err)
	}
	b := &bao{server: server, secrets: &values{text: secrets}, log: new(logText)}
	logger := hclog.New(&hclog.LoggerOptions{Output: b.log, Level: hclog.Trace})
	set := capability.NewSet(capability.SetOptions{Plugin: "broker-vault", Secrets: b.secrets.readers(), Web: client, Logger: logger})
	b.crossed = &crossing{Set: set}
	p, err := newRuntime(t).Load(t.Context(), plugin.Spec{
		Name: "broker-vault", Wasm: bundle.Wasm, SHA256: bundle.SHA256, Caps: b.crossed, Limits: patient,
		Config: fmt.Appendf(nil, `{"vault":{"address":%q,%s}}`, address, config),
	})
	if err != nil {
		t.Fatal(errors.Join(err, set.Close()))
	}
	b.Broker, b.set = adapter.NewBroker(p), set
	b.health = func(ctx context.Context) error { return p.Call(ctx, abi.OpHealth, nil, nil, nil) }
	t.Cleanup(func() {
		if err := errors.Join(b.Close(context.Background()), set.Close()); err != nil {
			t.Error(err)
		}
	})
	return b
}

const withToken = `"token":"vault-token"`

func (b *bao) get(t *testing.T, reference string) (credential.Resolved, error) {
	t.Helper()
	return b.Resolve(t.Context(), "key", credential.Source{Type: credential.SourceExternal, Ref: reference})
}

// finds checks what a reference leads to.
func (b *bao) finds(t *testing.T, reference, want string) credential.Resolved {
	t.Helper()
	got, err := b.get(t, reference)
	if err != nil || got.Value.Reveal() != want {
		t.Errorf("%s: %d bytes, %v; want %q", reference, len(got.Value.Reveal()), err, want)
	}
	return got
}

// refuses checks why a reference leads nowhere.
func (b *bao) refuses(t *testing.T, reference string, kind error, words ...string) {
	t.Helper()
	_, err := b.get(t, reference)
	if !errors.Is(err, kind) {
		t.Errorf("%s: %v, want %q", reference, err, kind)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %q does not say %q", reference, err, word)
		}
	}
}

// hides checks that the guest, the log and errors never had these.
func (b *bao) hides(t *testing.T, secrets ...string) {
	t.Helper()
	b.crossed.mu.Lock()
	crossed := b.crossed.bytes.String()
	b.crossed.mu.Unlock()
	if crossed == "" {
		t.Error("nothing crossed to the guest: the test looks at nothing")
	}
	for _, secret := range secrets {
		if strings.Contains(crossed, secret) {
			t.Errorf("the guest has seen %q", secret)
		}
		if strings.Contains(b.log.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}

// TestOpenBaoValues reads what is kept in both versions of KV, and says why what can't be read can't.
func TestOpenBaoValues(t *testing.T) {
	t.Parallel()
	server := baotest.New(t, baotest.Options{TLS: true})
	const value = `c4nary "v2" ü`
	put := func(path, body string) { server.Call(t, "POST", path, body, nil) }
	put("secret/data/ci/github", `{"data":{"token":"first","user":"c4nary-neighbour"}}`)
	put("secret/data/ci/github", `{"data":{"token":"c4nary \"v2\" ü","user":"c4nary-neighbour","port":5432,"a/b":"slashed","deep":{"list":["x","y"]},"on":true}}`)
	put("secret/data/gone", `{"data":{"token":"x"}}`)
	server.Call(t, "DELETE", "secret/data/gone", "", nil)
	put("secret/data/burnt", `{"data":{"token":"x"}}`)
	put("secret/destroy/burnt", `{"versions":[1]}`)
	put("sys/mounts/old", `{"type":"kv","options":{"version":"1"}}`)
	put("old/app", `{"token":"c4nary-v1","ttl":"90s"}`)
	put("sys/mounts/a/nested/mount", `{"type":"kv","options":{"version":"2"}}`)
	put("a/nested/mount/data/x y/z", `{"data":{"token":"c4nary-nested"}}`)
	b := openBao(t, server, withToken, map[string]string{"vault-token": baotest.RootToken})
	b.finds(t, "vault:secret/ci/github#token", value)
	b.finds(t, "vault:secret/ci/github#token", value)
	b.finds(t, "vault:/secret/ci/github/?version=1#token", "first")
	b.finds(t, "vault:secret/ci/github#port", "5432")
	b.finds(t, "vault:secret/ci/github#a/b", "slashed")
	b.finds(t, "vault:secret/ci/github#/deep/list/1", "y")
	b.finds(t, "vault:a/nested/mount/x y/z#token", "c4nary-nested")
	got := b.finds(t, "vault:old/app#token", "c4nary-v1")
	if left := time.Until(got.Expires); left <= 0 || left > 90*time.Second {
		t.Errorf("the value with a ttl of 90 s is good for %v", left)
	}
	b.refuses(t, "vault:secret/ci/github#none", credential.ErrNotFound, "no text under the key", `"none"`)
	b.refuses(t, "vault:secret/ci/github#on", credential.ErrNotFound, "no text under the key")
	b.refuses(t, "vault:secret/ci/nothing#token", credential.ErrNotFound, "nothing is stored at ci/nothing")
	b.refuses(t, "vault:secret/gone#token", credential.ErrNotFound, "version 1 was deleted at 20")
	b.refuses(t, "vault:secret/burnt#token", credential.ErrNotFound, "version 1 was destroyed")
	b.refuses(t, "vault:secret/ci/github?version=9#token", credential.ErrNotFound)
	b.refuses(t, "vault:old/nothing#token", credential.ErrNotFound, "nothing is stored")
	b.refuses(t, "vault:old/app?version=1#token", credential.ErrInvalid, "KV version 2")
	b.refuses(t, "vault:nowhere/x#token", credential.ErrDenied, "nothing is mounted at the beginning of nowhere/x")
	for _, reference := range []string{"vault:", "vault:secret/x", "vault:secret#x", "vault:secret/x#", "vault:secret/../sys/x#y", "vault:secret//x#y", "vault:secret/x?list=true#y"} {
		b.refuses(t, reference, credential.ErrInvalid, "vault:MOUNT/PATH#KEY")
	}
	b.hides(t, "c4nary", "first", "slashed", baotest.RootToken)
}

func TestOpenBaoNamespaces(t *testing.T) {
	t.Parallel()
	server := baotest.New(t, baotest.Options{})
	server.Call(t, "POST", "sys/namespaces/team", "", nil)
	server.Call(t, "POST", "team/sys/mounts/kv", `{"type":"kv","options":{"version":"2"}}`, nil)
	server.Call(t, "POST", "team/kv/data/x", `{"data":{"token":"of the team"}}`, nil)
	secrets := map[string]string{"vault-token": baotest.RootToken}
	openBao(t, server, withToken+`,"namespace":"team"`, secrets).finds(t, "vault:kv/x#token", "of the team")
	openBao(t, server, withToken, secrets).refuses(t, "vault:kv/x#token", credential.ErrDenied, "nothing is mounted")
	openBao(t, server, withToken+`,"namespace":"nobody"`, secrets).refuses(t, "vault:kv/x#token", credential.ErrInvalid, `no namespace "nobody"`)
}

type login struct {
	Auth struct {
		Token    string `json:"client_token"`
		Accessor string `json:"accessor"`
	} `json:"auth"`
}

// TestOpenBaoTokens: a token that is over is an error until another one is granted; one that can be renewed
// lives on.
func TestOpenBaoTokens(t *testing.T) {
	t.Parallel()
	server := baotest.New(t, baotest.Options{})
	server.Call(t, "POST", "secret/data/x", `{"data":{"token":"value"}}`, nil)
	server.Call(t, "POST", "sys/policies/acl/reader", `{"policy":"path \"secret/data/x\" { capabilities = [\"read\"] }"}`, nil)
	token := func(options string) string {
		var made login
		server.Call(t, "POST", "auth/token/create", `{"policies":["reader"],`+options+`}`, &made)
		return made.Auth.Token
	}
	first := token(`"ttl":"1h"`)
	b := openBao(t, server, withToken, map[string]string{"vault-token": first})
	b.finds(t, "vault:secret/x#token", "value")
	b.refuses(t, "vault:secret/y#token", credential.ErrDenied, "permission denied")
	server.Call(t, "POST", "auth/token/revoke", `{"token":"`+first+`"}`, nil)
	b.refuses(t, "vault:secret/x#token", credential.ErrDenied, `"vault-token"`, "put a new one there")
	second := token(`"ttl":"1h"`)
	b.secrets.put("vault-token", second)
	b.finds(t, "vault:secret/x#token", "value")

	short := token(`"ttl":"8s","explicit_max_ttl":"8s"`)
	b.secrets.put("vault-token", short)
	b.finds(t, "vault:secret/x#token", "value")
	eventually(t, "the token's end", func() bool {
		_, err := b.get(t, "vault:secret/x#token")
		return errors.Is(err, credential.ErrDenied)
	})

	// Used all the time, a token of twelve seconds lives longer than that. It is renewed in the last four.
	renewed := token(`"period":"12s"`)
	b.secrets.put("vault-token", renewed)
	for end := time.Now().Add(14 * time.Second); time.Now().Before(end); time.Sleep(400 * time.Millisecond) {
		b.finds(t, "vault:secret/x#token", "value")
	}
	b.hides(t, first, second, short, renewed, "value\"")
}

// TestOpenBaoTokenThatNobodyUses is renewed all the same, when the host says that it is time.
func TestOpenBaoTokenThatNobodyUses(t *testing.T) {
	t.Parallel()
	server := baotest.New(t, baotest.Options{})
	server.Call(t, "POST", "secret/data/x", `{"data":{"token":"value"}}`, nil)
	var made login
	server.Call(t, "POST", "auth/token/create", `{"policies":["root"],"period":"12s"}`, &made)
	b := openBao(t, server, withToken, map[string]string{"vault-token": made.Auth.Token})
	told := make(chan error, 10)
	b.set.OnDue(func() { told <- b.health(context.Background()) })
	b.finds(t, "vault:secret/x#token", "value")
	var found struct {
		Data struct {
			Renewed int64 `json:"last_renewal_time"`
		} `json:"data"`
	}
	look := func() int64 {
		server.Call(t, "POST", "auth/token/lookup", `{"token":"`+made.Auth.Token+`"}`, &found)
		return found.Data.Renewed
	}
	early := time.Now()
	err := b.health(t.Context())
	if renewed := look(); err != nil || renewed != 0 && time.Since(early) < time.Second {
		t.Errorf("renewed before it is time: %v", err)
	}
	if err := <-told; err != nil {
		t.Error(err)
	}
	if look() == 0 {
		t.Error("it was not renewed")
	}
	b.hides(t, made.Auth.Token)
}

// eventually waits for something that time brings.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !f(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s", what)
		}
	}
}

// TestOpenBaoAppRole: logins are used until their lease is over, and then there is another.
func TestOpenBaoAppRole(t *testing.T) {
	t.Parallel()
	server := baotest.New(t, baotest.Options{})
	server.Call(t, "POST", "secret/data/x", `{"data":{"token":"value"}}`, nil)
	server.Call(t, "POST", "sys/policies/acl/reader", `{"policy":"path \"secret/data/x\" { capabilities = [\"read\"] }"}`, nil)
	server.Call(t, "POST", "sys/auth/machines", `{"type":"approle"}`, nil)
	server.Call(t, "POST", "auth/machines/role/ci", `{"token_policies":"reader","token_ttl":"2s","token_max_ttl":"4s"}`, nil)
	var role struct {
		Data struct {
			RoleID   string `json:"role_id"`
			SecretID string `json:"secret_id"`
		} `json:"data"`
	}
	server.Call(t, "GET", "auth/machines/role/ci/role-id", "", &role)
	server.Call(t, "POST", "auth/machines/role/ci/secret-id", "{}", &role)
	config := fmt.Sprintf(`"auth":"approle","mount":"machines","role_id":%q,"secret_id":"secret-id"`, role.Data.RoleID)
	b := openBao(t, server, config, map[string]string{"secret-id": role.Data.SecretID})
	accessors := func() (list []string) {
		var found struct {
			Data struct {
				Keys []string `json:"keys"`
			} `json:"data"`
		}
		server.Call(t, "GET", "auth/token/accessors?list=true", "", &found)
		return found.Data.Keys
	}
	before := len(accessors())
	for range 5 {
		b.finds(t, "vault:secret/x#token", "value")
	}
	if n := len(accessors()) - before; n != 1 {
		t.Errorf("five questions took %d logins", n)
	}
	// The lease ends however often it is renewed: after four seconds there is another login.
	for end := time.Now().Add(6 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		b.finds(t, "vault:secret/x#token", "value")
	}
	// A login that is revoked is replaced.
	for _, accessor := range accessors() {
		var found struct {
			Data struct {
				Path string `json:"path"`
			} `json:"data"`
		}
		server.Call(t, "POST", "auth/token/lookup-accessor", `{"accessor":"`+accessor+`"}`, &found)
		if found.Data.Path == "auth/machines/login" {
			server.Call(t, "POST", "auth/token/revoke-accessor", `{"accessor":"`+accessor+`"}`, nil)
		}
	}
	b.finds(t, "vault:secret/x#token", "value")
	b.refuses(t, "vault:secret/y#token", credential.ErrDenied, "permission denied")
	b.hides(t, role.Data.SecretID, "value\"")

	wrong := openBao(t, server, config, map[string]string{"secret-id": "no such secret id"})
	wrong.refuses(t, "vault:secret/x#token", credential.ErrDenied, "AppRole", `"secret-id"`)
	wrong.secrets.put("secret-id", role.Data.SecretID)
	wrong.finds(t, "vault:secret/x#token", "value")
	elsewhere := openBao(t, server, strings.Replace(config, "machines", "nowhere", 1), map[string]string{"secret-id": role.Data.SecretID})
	elsewhere.refuses(t, "vault:secret/x#token", credential.ErrDenied, "AppRole")
}

// TestOpenBaoTrouble: sealed, limited and gone are told apart, and soon.
func TestOpenBaoTrouble(t *testing.T) {
	t.Parallel()
	server := baotest.New(t, baotest.Options{})
	server.Call(t, "POST", "secret/data/x", `{"data":{"token":"value"}}`, nil)
	b := openBao(t, server, withToken, map[string]string{"vault-token": baotest.RootToken})
	b.finds(t, "vault:secret/x#token", "value")
	server.Call(t, "POST", "sys/quotas/rate-limit/tests", `{"rate":1,"interval":"1h","path":"secret"}`, nil)
	eventually(t, "the limit", func() bool {
		_, err := b.get(t, "vault:secret/x#token")
		return errors.Is(err, credential.ErrUnavailable) && strings.Contains(err.Error(), "limits how often it is asked")
	})
	server.Call(t, "DELETE", "sys/quotas/rate-limit/tests", "", nil)
	b.finds(t, "vault:secret/x#token", "value")
	server.Call(t, "POST", "sys/seal", "", nil)
	b.refuses(t, "vault:secret/x#token", credential.ErrUnavailable, "is sealed", server.Address)
	server.Stop()
	b.refuses(t, "vault:secret/x#token", credential.ErrUnavailable, "can't be reached")
}

// TestOpenBaoTLS: who vouches for the server, and where its name leads, are the operator's to say.
func TestOpenBaoTLS(t *testing.T) {
	t.Parallel()
	server := baotest.New(t, baotest.Options{TLS: true})
	server.Call(t, "POST", "secret/data/x", `{"data":{"token":"value"}}`, nil)
	secrets := map[string]string{"vault-token": baotest.RootToken}
	// The server's certificate is for localhost too.
	port := server.Address[strings.LastIndexByte(server.Address, ':'):]
	for _, c := range []struct {
		name, address, leads string
		opts                 outbound.Options
		kind                 error
		words                string
	}{
		{name: "the whole way", address: "https://localhost" + port, opts: outbound.Options{CA: server.CA}},
		{name: "nobody vouches", address: server.Address, kind: credential.ErrUnavailable, words: `ca = "./ca.pem"`},
		{name: "another name", address: "https://vault.internal" + port, opts: outbound.Options{CA: server.CA, Private: []string{"vault.internal"}}, kind: credential.ErrUnavailable, words: "vault.internal"},
		{name: "a private address", address: "https://vault.internal" + port, opts: outbound.Options{CA: server.CA}, kind: credential.ErrDenied, words: `private = ["vault.internal"]`},
		{name: "plain", address: "http://localhost" + port, kind: credential.ErrInvalid, words: "refuses"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.opts.Allow = []string{c.address}
			c.opts.Lookup = func(context.Context, string, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			}
			client, err := outbound.New(c.opts)
			if err != nil {
				t.Fatal(err)
			}
			b := openBaoVia(t, server, client, c.address, withToken, secrets)
			if c.kind == nil {
				b.finds(t, "vault:secret/x#token", "value")
				return
			}
			b.refuses(t, "vault:secret/x#token", c.kind, c.words)
			b.hides(t, baotest.RootToken)
		})
	}
}
