package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/nativebroker"
)

// canary is a value that is nowhere by chance.
const canary = "cnry/77f0e3b1+c9d24f5a=e"

const vaultPath = "/credential-vault"

// withBroker gives a rig's client a broker.
func withBroker(b credential.Broker, env map[string]string) func(*sandbox.Options) {
	return func(o *sandbox.Options) {
		o.Broker = b
		o.LookupEnv = func(name string) (string, bool) {
			value, ok := env[name]
			return value, ok
		}
	}
}

// locked is a policy under which credentials for some hosts can be bound.
func locked(hosts ...string) *opensandbox.NetworkPolicy {
	policy := &opensandbox.NetworkPolicy{DefaultAction: opensandbox.ActionDeny}
	for _, host := range hosts {
		policy.Egress = append(policy.Egress, opensandbox.NetworkRule{Action: opensandbox.ActionAllow, Target: host})
	}
	return policy
}

// proxied makes a sandbox that may have credentials for api.example.com and git.example.com.
func (r *rig) proxied(adjust ...func(*sandbox.CreateOptions)) *sandbox.Handle {
	r.t.Helper()
	opts := sandbox.CreateOptions{NetworkPolicy: locked("api.example.com", "git.example.com"), CredentialProxy: true}
	for _, a := range adjust {
		a(&opts)
	}
	return r.create(opts)
}

func (r *rig) set(h *sandbox.Handle, name, value string, binding credential.Binding, source *credential.Source) {
	r.t.Helper()
	if err := h.Credentials().Set(r.t.Context(), name, credential.NewSecret(value), binding, source); err != nil {
		r.t.Fatal(err)
	}
}

// bindings is what a sandbox has, in short.
func (r *rig) bindings(h *sandbox.Handle) (all []string) {
	r.t.Helper()
	list, err := h.Credentials().ListBindings(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, b := range list {
		all = append(all, fmt.Sprintf("%s at %s live=%v recorded=%v", b.Name, strings.Join(b.Binding.Hosts, ","), b.Live, b.Recorded))
	}
	return all
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	var injected []string
	r := newRig(t, withBroker(nativebroker.New(nativebroker.Options{}), nil))
	h := r.proxied(func(o *sandbox.CreateOptions) {
		o.Hooks = &sandbox.Hooks{CredentialInjected: func(_, name string, b credential.Binding) {
			injected = append(injected, name+" "+strings.Join(b.Hosts, ","))
		}}
	})
	header := credential.Header("api.example.com", "/v1", "X-Api-Key")
	placed := credential.Substitution("git.example.com", "", "<TOKEN>", "query", "header")
	r.set(h, "api", canary, header, credential.Env("API_KEY"))
	r.set(h, "git", canary+"-2", placed, nil)

	list, err := h.Credentials().ListBindings(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	// The vault does not tell the placeholder.
	if !reflect.DeepEqual(list[1].Binding, placed) || list[0].Source.VarName != "API_KEY" || !list[0].Live || !list[1].Recorded {
		t.Errorf("%+v", list)
	}

	moved := credential.Header("api.example.com", "/v2", "X-Api-Key")
	value := credential.NewSecret(canary + "-3")
	for _, patch := range []sandbox.CredentialPatch{{Value: &value}, {Binding: &moved}, {Value: &value, Binding: &moved, Source: credential.External("vault:api")}} {
		if err := h.Credentials().Patch(t.Context(), "api", patch); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := h.Credentials().Remove(t.Context(), "git"); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.bindings(h); !slices.Equal(got, []string{"api at api.example.com live=true recorded=true"}) {
		t.Errorf("%q", got)
	}
	r.wantEvents(h, "sandbox.created credential.bound credential.bound credential.bound credential.bound credential.revoked")
	if got, want := r.payloads(h, store.EventCredentialBound), []string{
		`{"name":"api","binding":{"host":"api.example.com","pathPrefix":"/v1","injection":{"type":"header","name":"X-Api-Key"}},"source":{"type":"env","varName":"API_KEY"}}`,
		`{"name":"git","binding":{"host":"git.example.com","injection":{"type":"substitution","placeholder":"<TOKEN>","in":["query","header"]}}}`,
		`{"name":"api","binding":{"host":"api.example.com","pathPrefix":"/v2","injection":{"type":"header","name":"X-Api-Key"}},"source":{"type":"env","varName":"API_KEY"}}`,
		`{"name":"api","binding":{"host":"api.example.com","pathPrefix":"/v2","injection":{"type":"header","name":"X-Api-Key"}},"source":{"type":"external","ref":"vault:api"}}`,
	}; !slices.Equal(got, want) {
		t.Errorf("recorded\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := r.payloads(h, store.EventCredentialRevoked); !slices.Equal(got, []string{`{"name":"git"}`}) {
		t.Errorf("%q", got)
	}
	if want := []string{"api api.example.com", "git git.example.com", "api api.example.com", "api api.example.com"}; !slices.Equal(injected, want) {
		t.Errorf("hooks: %q", injected)
	}

	// Closing takes them from the broker and leaves them in the ledger.
	before := r.wire.count(http.MethodPatch, vaultPath)
	must(t, h.Close(t.Context()))
	if r.wire.count(http.MethodPatch, vaultPath) != before+1 {
		t.Error("the broker was not told")
	}
	if got := r.payloads(h, store.EventCredentialRevoked); len(got) != 1 {
		t.Errorf("closing recorded %q", got)
	}
	if r.writer.Redactor().Active() {
		t.Error("the values are still known")
	}
}

func TestCredentialsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, withBroker(nativebroker.New(nativebroker.Options{}), nil))
	plain, h := r.create(sandbox.CreateOptions{}), r.proxied()
	header := credential.Header("api.example.com", "", "X-Api-Key")
	several := credential.Binding{Hosts: []string{"api.example.com"}, Injection: credential.Injection{
		Type: credential.TypeCustomHeaders, Headers: []credential.HeaderValue{{Name: "X-Api-Key"}, {Name: "X-Other", Credential: "top-secret"}},
	}}
	try := func(h *sandbox.Handle, name, value string, b credential.Binding, s *credential.Source) error {
		return h.Credentials().Set(t.Context(), name, credential.NewSecret(value), b, s)
	}
	for name, c := range map[string]struct{ err, is error }{
		"no proxy":      {try(plain, "a", canary, header, nil), credential.ErrNoProxy},
		"no name":       {try(h, "", canary, header, nil), credential.ErrInvalid},
		"no value":      {try(h, "a", "", header, nil), credential.ErrInvalid},
		"line break":    {try(h, "a", canary+"\nX-Evil: 1", header, nil), credential.ErrInvalid},
		"no binding":    {try(h, "a", canary, credential.Binding{}, nil), credential.ErrInvalid},
		"bad source":    {try(h, "a", canary, header, &credential.Source{Type: "env"}), credential.ErrInvalid},
		"value in name": {try(h, "my-top-secret", "top-secret", header, nil), sandbox.ErrInvalid},
		"value in ref":  {try(h, "a", canary, header, credential.External(canary)), sandbox.ErrInvalid},
		"value as name": {try(h, "a", canary, several, nil), credential.ErrInvalid},
		"not bound":     {h.Credentials().Patch(t.Context(), "a", sandbox.CredentialPatch{Binding: &header}), credential.ErrNotFound},
		"nothing known": {h.Credentials().Refresh(t.Context(), "a", nil), credential.ErrNotFound},
	} {
		if !errors.Is(c.err, c.is) || strings.Contains(c.err.Error(), canary[:12]) || strings.Contains(c.err.Error(), "top-secret") {
			t.Errorf("%s: %v", name, c.err)
		}
	}
	_, err := r.client.Create(t.Context(), sandbox.CreateOptions{CredentialProxy: true})
	if !errors.Is(err, sandbox.ErrInvalid) || !strings.Contains(err.Error(), "network policy") {
		t.Errorf("without a policy: %v", err)
	}
	bare := newRig(t)
	if err := try(bare.proxied(), "a", canary, header, nil); !errors.Is(err, credential.ErrUnsupported) {
		t.Errorf("without a broker: %v", err)
	}
	r.wantEvents(h, "sandbox.created")
	if n := r.wire.count(http.MethodPost, vaultPath) + r.wire.count(http.MethodPatch, vaultPath); n != 0 {
		t.Errorf("%d requests went to the vault", n)
	}
}

// TestCredentialFailures: whatever fails, nothing is bound that the ledger does not know.
func TestCredentialFailures(t *testing.T) {
	t.Parallel()
	r := newRig(t, withBroker(nativebroker.New(nativebroker.Options{}), nil))
	h := r.proxied()
	creds := h.Credentials()
	value := credential.NewSecret(canary)
	header := credential.Header("api.example.com", "", "X-Api-Key")
	elsewhere := credential.Header("not-allowed.example.com", "", "X-Api-Key")

	// The ledger does not take it: the broker is not asked.
	r.store.set(failOn(store.EventCredentialBound, store.ErrInvalid))
	if err := creds.Set(t.Context(), "api", value, header, nil); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("%v", err)
	}
	r.store.set(nil)
	if r.wire.count(http.MethodPost, vaultPath) != 0 {
		t.Error("the broker was asked")
	}
	// The broker refuses: the ledger says so. The error says once what was done.
	err := creds.Set(t.Context(), "api", value, elsewhere, nil)
	if of, ok := errors.AsType[*credential.Error](err); !errors.Is(err, credential.ErrInvalid) || !ok || of.Name != "api" {
		t.Errorf("%v", err)
	}
	if strings.Count(err.Error(), "setting credential") != 1 || strings.Count(err.Error(), h.ID()) != 1 {
		t.Errorf("it repeats itself: %v", err)
	}
	r.wantEvents(h, "sandbox.created credential.bound credential.revoked")
	// The same for one that replaces another.
	must(t, creds.Set(t.Context(), "api", value, header, credential.Env("A")))
	if err := creds.Set(t.Context(), "api", value, elsewhere, nil); !errors.Is(err, credential.ErrInvalid) {
		t.Errorf("%v", err)
	}
	if err := creds.Patch(t.Context(), "api", sandbox.CredentialPatch{Binding: &elsewhere}); !errors.Is(err, credential.ErrInvalid) {
		t.Errorf("%v", err)
	}
	err = creds.Refresh(t.Context(), "api", nil)
	if of, ok := errors.AsType[*credential.UnresolvedError](err); !ok || of.Source.VarName != "A" || !errors.Is(err, credential.ErrUnresolved) {
		t.Errorf("%v", err)
	}
	if strings.Count(err.Error(), `"api"`) != 1 || strings.Count(err.Error(), h.ID()) != 1 || !strings.Contains(err.Error(), "variable A is not set") {
		t.Errorf("it repeats itself: %v", err)
	}
	bound := r.payloads(h, store.EventCredentialBound)
	if last := bound[len(bound)-1]; len(bound) != 6 || !strings.Contains(last, `"host":"api.example.com"`) || !strings.Contains(last, `"varName":"A"`) {
		t.Errorf("%q", bound)
	}
	// Nobody knows what the broker did: the ledger has what was asked for.
	r.wire.do(http.MethodPatch, vaultPath, func(*http.Request) (*http.Response, error) { return nil, errors.New("connection reset") })
	if err := creds.Set(t.Context(), "git", value, credential.Header("git.example.com", "", "X-Api-Key"), nil); !errors.Is(err, credential.ErrUnknownOutcome) {
		t.Errorf("%v", err)
	}
	r.wire.heal()
	if got, want := r.bindings(h), []string{
		"api at api.example.com live=true recorded=true", "git at git.example.com live=false recorded=true",
	}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	// The ledger does not take a removal: it is removed, and that is recorded the next time.
	r.store.set(failOn(store.EventCredentialRevoked, store.ErrInvalid))
	if err := creds.Remove(t.Context(), "api"); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("%v", err)
	}
	r.store.set(nil)
	if got := r.bindings(h); got[0] != "api at api.example.com live=false recorded=true" {
		t.Errorf("%q", got)
	}
	must(t, creds.Remove(t.Context(), "api"))
	if got := r.payloads(h, store.EventCredentialRevoked); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

func TestResumeBindsAgain(t *testing.T) {
	t.Parallel()
	env := map[string]string{"API_KEY": canary}
	broker := nativebroker.New(nativebroker.Options{Known: map[string]string{"table:git": canary + "-git"}})
	r := newRig(t, withBroker(broker, env))
	first := r.proxied()
	r.set(first, "api", canary, credential.Header("api.example.com", "/v1", "X-Api-Key"), credential.Env("API_KEY"))
	r.set(first, "git", canary+"-git", credential.Header("git.example.com", "/a", "X-Api-Key"), credential.External("table:git"))
	r.set(first, "mine", canary+"-mine", credential.Header("git.example.com", "/b", "X-Api-Key"), nil)
	r.set(first, "gone", canary, credential.Header("git.example.com", "/c", "X-Api-Key"), nil)
	must(t, first.Credentials().Remove(t.Context(), "gone"))
	r.checkpoint(first, "")
	must(t, first.Close(t.Context()))

	// Without the value that only its owner knows nothing is made.
	posted := r.wire.count(http.MethodPost, "/v1/sandboxes")
	delete(env, "API_KEY")
	_, err := r.client.Resume(t.Context(), first.ID(), sandbox.ResumeOptions{})
	var unresolved *credential.UnresolvedError
	if !errors.Is(err, credential.ErrUnresolved) || !errors.As(err, &unresolved) || unresolved.Name != "api" {
		t.Fatalf("%v", err)
	}
	for _, part := range []string{`"api"`, "API_KEY is not set", `"mine"`, first.ID(), "resolver"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not name %s", err, part)
		}
	}
	if n := r.wire.count(http.MethodPost, "/v1/sandboxes"); n != posted {
		t.Errorf("%d sandboxes were made", n-posted)
	}
	env["API_KEY"] = canary

	var asked []string
	resolve := func(_ context.Context, name string, source credential.Source) (credential.Secret, error) {
		asked = append(asked, name+" from "+source.String())
		return credential.NewSecret(canary + "-" + name), nil
	}
	second := r.resume(first.ID(), sandbox.ResumeOptions{ResolveCredential: resolve})
	if want := []string{"mine from external source"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q", asked)
	}
	want := []string{
		"api at api.example.com live=true recorded=true", "git at git.example.com live=true recorded=true",
		"mine at git.example.com live=true recorded=true",
	}
	if got := r.bindings(second); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	r.wantEvents(second, "sandbox.created credential.bound credential.bound credential.bound")
	if got := r.payloads(second, store.EventCredentialBound); !strings.Contains(got[0], `"source":{"type":"env","varName":"API_KEY"}`) ||
		!strings.Contains(got[1], `"ref":"table:git"`) || strings.Contains(got[2], "source") {
		t.Errorf("%q", got)
	}
	// A value that was changed where it is kept.
	patched := r.wire.count(http.MethodPatch, vaultPath)
	broker.Put("table:git", canary+"-rotated")
	must(t, second.Credentials().Refresh(t.Context(), "git", nil))
	if r.wire.count(http.MethodPatch, vaultPath) != patched+1 || !r.writer.Redactor().Has(canary+"-rotated") {
		t.Error("the value was not changed")
	}
	// What a resumed sandbox has, its own resumed ones have.
	r.checkpoint(second, "")
	must(t, second.Close(t.Context()))
	third := r.resume(second.ID(), sandbox.ResumeOptions{ResolveCredential: resolve})
	if got := r.bindings(third); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	must(t, third.Close(t.Context()))

	// What can't be bound leaves nothing behind.
	made := len(r.wire.made())
	r.wire.on(http.MethodPost, vaultPath, says{http.StatusBadRequest, "not that one"})
	_, err = r.client.Resume(t.Context(), second.ID(), sandbox.ResumeOptions{ResolveCredential: resolve})
	if !errors.Is(err, credential.ErrInvalid) || !strings.Contains(err.Error(), `"api"`) {
		t.Errorf("%v", err)
	}
	r.wire.heal()
	if all := r.wire.made(); len(all) != made+1 || !gone(t, all[made]) {
		t.Errorf("%q were made", all[made:])
	}
}

// TestResumeReadsTheReference: bindings that the reference recorded.
func TestResumeReadsTheReference(t *testing.T) {
	t.Parallel()
	env := map[string]string{"GH": canary}
	r := newRig(t, withBroker(nativebroker.New(nativebroker.Options{}), env))
	first := r.create(sandbox.CreateOptions{})
	snapshot := r.checkpoint(first, "")
	for i, test := range []struct{ bound, fails string }{
		{`{"name":"gh","binding":{"host":"api.example.com","pathPrefix":"/user","injection":{"type":"header","name":"Authorization"}},"source":{"type":"env","varName":"GH"}}`, ""},
		{`{"name":"gh","binding":{"host":"api.example.com","injection":{"type":"substitution","placeholder":"__KEY__","in":["query"]}},"source":{"type":"env","varName":"GH"}}`, ""},
		{`{"name":"gh","binding":{"host":"api.example.com","injection":{"type":"tomorrow"}},"source":{"type":"env","varName":"GH"}}`, "tomorrow"},
		{`{"name":"gh"}`, "gh"},
	} {
		key := store.Key{Name: "theirs", SandboxID: fmt.Sprintf("reference-%d", i)}
		foreign(t, r, key, []ledger.Event{
			{Step: -1, Name: "sandbox.created", Payload: []byte(`{"sandboxId":"x","runId":"y","resources":{"cpu":"1","memory":"256Mi"},` +
				`"networkPolicy":{"defaultAction":"deny","egress":[{"action":"allow","target":"api.example.com"}]},"credentialProxy":true}`)},
			{Step: -1, Name: "credential.bound", Payload: []byte(`{"name":"old","binding":{"host":7}}`)},
			{Step: -1, Name: "credential.revoked", Payload: []byte(`{"name":"old"}`)},
			{Step: -1, Name: "sandbox.checkpoint_created", Payload: []byte(`{"snapshotId":"` + snapshot + `"}`)},
			{Step: -1, Name: "credential.bound", Payload: []byte(test.bound)},
		})
		h, err := r.client.Resume(t.Context(), key.SandboxID, sandbox.ResumeOptions{})
		if test.fails != "" {
			if err == nil || !strings.Contains(err.Error(), test.fails) {
				t.Errorf("%s: %v", test.bound, err)
			}
			continue
		}
		must(t, err)
		if got := r.payloads(h, store.EventCredentialBound); !slices.Equal(got, []string{test.bound}) {
			t.Errorf("recorded %q\nwant     %q", got, test.bound)
		}
		must(t, h.Close(t.Context()))
	}
}

// TestForkInheritsItsLock: neither rules nor credentials are lost by forking.
func TestForkInheritsItsLock(t *testing.T) {
	t.Parallel()
	broker := nativebroker.New(nativebroker.Options{Known: map[string]string{"table:api": canary}})
	r := newRig(t, withBroker(broker, nil))
	h := r.proxied()
	if _, err := h.AddNetworkRules(t.Context(), opensandbox.NetworkRule{Action: "allow", Target: "late.example.com"}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.RemoveNetworkRules(t.Context(), "git.example.com"); err != nil {
		t.Fatal(err)
	}
	r.set(h, "api", canary, credential.Bearer("api.example.com"), credential.External("table:api"))
	children, err := h.ForkAll(t.Context(), 2, sandbox.ForkOptions{})
	must(t, err)
	for _, child := range append(children, r.keep(children[0].Fork(t.Context(), sandbox.ForkOptions{}))) {
		status, err := child.NetworkPolicy(t.Context())
		must(t, err)
		want := &opensandbox.NetworkPolicy{DefaultAction: "deny", Egress: []opensandbox.NetworkRule{
			{Action: "allow", Target: "late.example.com"}, {Action: "allow", Target: "api.example.com"},
		}}
		if !reflect.DeepEqual(status.Policy, want) {
			t.Errorf("%+v", status.Policy)
		}
		if got := r.bindings(child); !slices.Equal(got, []string{"api at api.example.com live=true recorded=true"}) {
			t.Errorf("%q", got)
		}
		if got := r.payloads(child, store.EventCredentialBound); len(got) != 1 || !strings.Contains(got[0], `"ref":"table:api"`) {
			t.Errorf("%q", got)
		}
		t.Cleanup(func() { _ = child.Close(context.Background()) })
	}
	// A parent that somebody else made is no different.
	must(t, h.Detach(t.Context()))
	again := r.keep(r.client.Connect(t.Context(), h.ID(), sandbox.ConnectOptions{Resources: h.Resources()}))
	child := r.keep(again.Fork(t.Context(), sandbox.ForkOptions{}))
	if got := r.bindings(child); len(got) != 1 {
		t.Errorf("%q", got)
	}
	// A value that nobody knows any more: no checkpoint is made of it.
	lost := newRig(t, withBroker(nativebroker.New(nativebroker.Options{}), nil))
	parent := lost.proxied()
	lost.set(parent, "api", canary, credential.Bearer("api.example.com"), nil)
	if _, err := parent.Fork(t.Context(), sandbox.ForkOptions{}); !errors.Is(err, credential.ErrUnresolved) {
		t.Errorf("%v", err)
	}
	lost.wantEvents(parent, "sandbox.created credential.bound")
}

// TestConnectSeesCredentials: another process goes on with them.
func TestConnectSeesCredentials(t *testing.T) {
	t.Parallel()
	r := newRig(t, withBroker(nativebroker.New(nativebroker.Options{}), nil))
	h := r.proxied()
	placed := credential.Substitution("git.example.com", "/x", "<TOKEN>", "body")
	r.set(h, "git", canary, placed, credential.Env("GIT"))
	look := r.keep(r.client.Connect(t.Context(), h.ID(), sandbox.ConnectOptions{LookOnly: true}))
	list, err := look.Credentials().ListBindings(t.Context())
	if err != nil || len(list) != 1 || !reflect.DeepEqual(list[0].Binding, placed) || !list[0].Live {
		t.Errorf("%+v, %v", list, err)
	}
	must(t, h.Credentials().Remove(t.Context(), "git"))
	r.set(h, "git", canary, placed, credential.Env("OTHER"))
	list, err = look.Credentials().ListBindings(t.Context()) // as it is now
	if err != nil || len(list) != 1 || list[0].Source.VarName != "OTHER" {
		t.Errorf("%+v, %v", list, err)
	}
	if err := look.Credentials().Remove(t.Context(), "git"); !errors.Is(err, sandbox.ErrLookOnly) {
		t.Errorf("%v", err)
	}
	must(t, look.Close(t.Context()))
	must(t, h.Detach(t.Context()))
	other := r.keep(r.client.Connect(t.Context(), h.ID(), sandbox.ConnectOptions{}))
	value := credential.NewSecret(canary + "-new")
	must(t, other.Credentials().Patch(t.Context(), "git", sandbox.CredentialPatch{Value: &value}))
	third := r.keep(r.client.Connect(t.Context(), h.ID(), sandbox.ConnectOptions{}))
	before := r.wire.count(http.MethodPatch, vaultPath)
	must(t, third.Close(t.Context())) // it never looked at them, and clears them all the same
	if r.wire.count(http.MethodPatch, vaultPath) != before+1 {
		t.Error("the broker was not told")
	}
}

// TestLease: a value that ends is taken anew before it does, and no more when the sandbox is closed.
func TestLease(t *testing.T) {
	t.Parallel()
	broker := nativebroker.New(nativebroker.Options{Known: map[string]string{"table:api": canary}, Lease: 2 * time.Second})
	r := newRig(t, withBroker(broker, nil))
	h := r.proxied()
	r.set(h, "api", canary, credential.Bearer("api.example.com"), credential.External("table:api"))
	child := r.keep(h.Fork(t.Context(), sandbox.ForkOptions{}))
	anew := func(h *sandbox.Handle, value string) {
		t.Helper()
		broker.Put("table:api", value)
		for deadline := time.Now().Add(time.Minute); !r.writer.Redactor().Has(value); {
			if time.Now().After(deadline) {
				t.Fatal("the value was not taken anew")
			}
			r.bindings(h)
		}
	}
	anew(child, canary+"-later")
	must(t, child.Close(t.Context()))
	must(t, h.Credentials().SetResolved(t.Context(), "api", credential.Resolved{Value: credential.NewSecret(canary), Expires: time.Now().Add(time.Second)},
		credential.Bearer("api.example.com"), credential.External("table:api")))
	anew(h, canary+"-set")
	must(t, h.Close(t.Context()))
}
