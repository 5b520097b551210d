package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/internal/drivers"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/nativebroker"
)

// machine has two clients, as two processes have them, which find each other.
type machine struct {
	*rig
	dir   string
	other *process
}

// process is another client, with a ledger of its own.
type process struct {
	*sandbox.Client
	*ledger.Writer
}

func newMachine(t *testing.T, env map[string]string, adjust ...func(*sandbox.Options)) *machine {
	t.Helper()
	m := &machine{dir: t.TempDir()}
	m.rig = newRig(t, append([]func(*sandbox.Options){withBroker(nativebroker.New(nativebroker.Options{}), nil), m.finds(t)}, adjust...)...)
	m.other = m.process(t, env)
	return m
}

// finds gives a client the drivers of the machine.
func (m *machine) finds(t *testing.T) func(*sandbox.Options) {
	t.Helper()
	found := drivers.New(m.dir, hclog.NewNullLogger())
	t.Cleanup(func() { found.Close(context.Background()) })
	return func(o *sandbox.Options) { o.Drivers = found }
}

// process is another client on the same ledger, that knows no more of the first one's secrets than a
// process does.
func (m *machine) process(t *testing.T, env map[string]string) *process {
	t.Helper()
	writer := ledger.NewWriter(m.store, ledger.WriterOptions{RetryFor: 50 * time.Millisecond})
	t.Cleanup(func() { _ = writer.Close(context.Background()) }) // tests take sandboxes from it
	opts := sandbox.Options{Wire: wireClient(m.wire), Store: m.store, Ledger: writer, Image: "host"}
	withBroker(nativebroker.New(nativebroker.Options{}), env)(&opts)
	m.finds(t)(&opts)
	client, err := sandbox.New(opts)
	must(t, err)
	t.Cleanup(func() { _ = client.Close(context.Background()) })
	return &process{client, writer}
}

func (m *machine) operate(t *testing.T, h *sandbox.Handle) *sandbox.Operator {
	t.Helper()
	operator := m.other.Operate(h.Key(), sandbox.ConnectOptions{})
	t.Cleanup(func() { _ = operator.Close(context.Background()) })
	return operator
}

func allow(target string) opensandbox.NetworkRule {
	return opensandbox.NetworkRule{Action: opensandbox.ActionAllow, Target: target}
}

// What another process changes while a command runs is done and recorded by the command's own process:
// each change once and in order, the command to its end, and no value anywhere, also none that only the
// other process knew before.
func TestOperatorBesideExec(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m := newMachine(t, map[string]string{"API_KEY": canary + "-2"})
	h := m.proxied(func(o *sandbox.CreateOptions) { o.Env = map[string]string{"KEY": canary} })
	exec, err := h.Exec(ctx, `echo up; until [ -e /tmp/go ]; do sleep 0.05; done; echo "$KEY"`, sandbox.ExecOptions{})
	must(t, err)
	readUntil(t, exec.Stdout(), "up\n")

	operator := m.operate(t, h)
	status, err := operator.AddNetworkRules(ctx, allow("pypi.org"))
	if err != nil || status == nil || status.Mode != "enforcing" {
		t.Fatalf("%+v, %v", status, err)
	}
	_, err = operator.RemoveNetworkRules(ctx, "git.example.com")
	must(t, err)
	header := credential.Header("api.example.com", "/v1", "X-Api-Key")
	value, another := credential.NewSecret(canary), credential.NewSecret(canary+"-3")
	must(t, operator.SetCredential(ctx, "api", credential.Resolved{Value: value}, header, nil))
	must(t, operator.PatchCredential(ctx, "api", sandbox.CredentialPatch{Value: &another, Source: credential.Env("API_KEY")}))
	must(t, operator.RefreshCredential(ctx, "api", nil))
	if got := m.bindings(h); !slices.Equal(got, []string{"api at api.example.com live=true recorded=true"}) {
		t.Errorf("the driver knows of %q", got)
	}
	must(t, operator.RemoveCredential(ctx, "api"))
	must(t, operator.Close(ctx))

	must(t, h.WriteFile(ctx, "/tmp/go", nil, 0o600))
	result, err := exec.Wait()
	if err != nil || result.ExitCode != 0 || result.Stdout != "up\n[redacted]\n" {
		t.Errorf("the exec: %+v, %v", result, err)
	}
	m.wantEvents(h, "sandbox.created exec.started:1 egress.rule_added egress.rule_removed credential.bound credential.bound credential.revoked "+
		"exec.completed:1")
	hasNo(t, "the ledger", m.ledgerText(h), canary)
}

// Refusals are what they are in one process.
func TestOperatorIsRefused(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m := newMachine(t, nil)
	bare, h := m.create(sandbox.CreateOptions{}), m.proxied()
	operator := m.operate(t, h)
	header := credential.Header("far.example.com", "/", "X-Api-Key")
	value := credential.NewSecret(canary)
	for name, test := range map[string]struct {
		do   func() error
		want error
	}{
		"a target that is none": {func() error { _, err := operator.AddNetworkRules(ctx, allow("http://x")); return err }, sandbox.ErrInvalid},
		"no rule":               {func() error { _, err := operator.AddNetworkRules(ctx); return err }, sandbox.ErrInvalid},
		"no target":             {func() error { _, err := operator.RemoveNetworkRules(ctx); return err }, sandbox.ErrInvalid},
		"no policy": {func() error {
			_, err := m.operate(t, bare).AddNetworkRules(ctx, allow("pypi.org"))
			return err
		}, opensandbox.ErrUnavailable},
		"no proxy": {func() error { return m.operate(t, bare).RemoveCredential(ctx, "api") }, credential.ErrNoProxy},
		"a host without a rule": {func() error {
			return operator.SetCredential(ctx, "api", credential.Resolved{Value: value}, header, nil)
		}, credential.ErrInvalid},
		"nothing to change":  {func() error { return operator.PatchCredential(ctx, "api", sandbox.CredentialPatch{Value: &value}) }, credential.ErrNotFound},
		"nothing to refresh": {func() error { return operator.RefreshCredential(ctx, "api", nil) }, credential.ErrNotFound},
		"no value":           {func() error { return operator.SetCredential(ctx, "api", credential.Resolved{}, header, nil) }, credential.ErrInvalid},
	} {
		err := test.do()
		if !errors.Is(err, test.want) || !strings.Contains(err.Error(), "sandbox ") || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m.wantEvents(bare, "sandbox.created")
}

// Where nobody drives a sandbox, the operator does, until somebody comes who does: then that one is asked.
func TestOperatorDrives(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m := newMachine(t, nil)
	h := m.proxied()
	must(t, h.Detach(ctx))
	operator := m.operate(t, h)
	_, err := operator.AddNetworkRules(ctx, allow("one.example.org"))
	must(t, err)

	// It was taken over by a second one, whom a third has taken over since.
	var last *sandbox.Handle
	var execs []*sandbox.Exec
	for range 2 {
		last, err = m.client.Connect(ctx, h.ID(), sandbox.ConnectOptions{})
		must(t, err)
		exec, err := last.Exec(ctx, `echo up; until [ -e /tmp/go ]; do sleep 0.05; done`, sandbox.ExecOptions{Background: true})
		must(t, err)
		readUntil(t, exec.Stdout(), "up\n")
		execs = append(execs, exec)
	}
	_, err = operator.AddNetworkRules(ctx, allow("two.example.org"))
	must(t, err)
	must(t, last.WriteFile(ctx, "/tmp/go", nil, 0o600))
	if result, err := execs[1].Wait(); err != nil || result.ExitCode != 0 {
		t.Errorf("the exec: %+v, %v", result, err)
	}
	if _, err := execs[0].Wait(); !errors.Is(err, store.ErrConflict) {
		t.Errorf("the exec of who was taken over: %v", err)
	}

	// The third has gone, and the second is one of the past.
	must(t, last.Detach(ctx))
	_, err = m.operate(t, h).AddNetworkRules(ctx, allow("three.example.org"))
	must(t, err)
	m.wantEvents(h, "sandbox.created egress.rule_added exec.started:1 exec.started:2 egress.rule_added exec.completed:2 "+
		"egress.rule_added")
	again, err := m.client.Connect(ctx, h.ID(), sandbox.ConnectOptions{})
	must(t, err)
	must(t, again.Close(ctx))
}

// A driver that lets go of a sandbox waits for what runs, and whoever wants something changed waits with
// it.
func TestOperatorWaitsForLeaving(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m := newMachine(t, nil)
	h := m.proxied()
	exec, err := h.Exec(ctx, `echo up; until [ -e /tmp/go ]; do sleep 0.05; done`, sandbox.ExecOptions{})
	must(t, err)
	readUntil(t, exec.Stdout(), "up\n")
	left := make(chan error, 1)
	go func() { left <- h.Detach(ctx) }()
	eventually(t, "leaving", func() bool { _, err := h.NetworkPolicy(ctx); return errors.Is(err, sandbox.ErrClosed) })

	changed := make(chan error, 1)
	operator := m.operate(t, h)
	go func() {
		_, err := operator.AddNetworkRules(ctx, allow("pypi.org"))
		changed <- err
	}()
	select {
	case err := <-changed:
		t.Errorf("it did not wait: %v", err)
	case <-time.After(500 * time.Millisecond): // what is awaited is that nothing happens
	}
	look, err := m.client.Connect(ctx, h.ID(), sandbox.ConnectOptions{LookOnly: true})
	must(t, err)
	must(t, look.WriteFile(ctx, "/tmp/go", nil, 0o600))
	result, err := exec.Wait()
	if err != nil || result.ExitCode != 0 {
		t.Errorf("the exec: %+v, %v", result, err)
	}
	must(t, <-left)
	must(t, <-changed)
	m.wantEvents(h, "sandbox.created exec.started:1 exec.completed:1 egress.rule_added")
	must(t, operator.Close(ctx))
	must(t, m.client.Stop(ctx, store.Key{Name: h.Name(), SandboxID: h.ID()}))
}

// A value that ends is taken anew by the driver, who has the sandbox open, whoever set it.
func TestOperatorSetsLease(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	broker := nativebroker.New(nativebroker.Options{Known: map[string]string{"table:api": canary + "-later"}, Lease: time.Minute})
	m := newMachine(t, nil, withBroker(broker, nil))
	h := m.proxied()
	operator := m.operate(t, h)
	ends := func(value string) credential.Resolved {
		return credential.Resolved{Value: credential.NewSecret(value), Expires: time.Now().Add(time.Second)}
	}
	knows := func(value string) func() bool {
		return func() bool { return m.writer.Redactor().Has(value) }
	}
	must(t, operator.SetCredential(ctx, "api", ends(canary), credential.Bearer("api.example.com"), credential.External("table:api")))
	eventually(t, "the value that was set taken anew", knows(canary+"-later"))
	broker.Put("table:api", canary+"-last")
	value := ends(canary + "-patched")
	must(t, operator.PatchCredential(ctx, "api", sandbox.CredentialPatch{Value: &value.Value, Expires: value.Expires}))
	eventually(t, "the value that was changed taken anew", knows(canary+"-last"))
	must(t, operator.Close(ctx))
}

// A credential is tried beside what the driver runs: it records that, and its commands' positions stay as
// they are, which a resumed program goes by.
func TestOperatorTriesCredential(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m := newMachine(t, map[string]string{"API_KEY": canary})
	h := m.proxied()
	const driversOwn = "cnry-5be0c1-of-the-driver"
	m.set(h, "api", driversOwn, credential.Bearer("api.example.com"), credential.Env("API_KEY"))
	exec, err := h.Exec(ctx, `echo up; until [ -e /tmp/go ]; do sleep 0.05; done; echo down`, sandbox.ExecOptions{})
	must(t, err)
	readUntil(t, exec.Stdout(), "up\n")

	operator := m.operate(t, h)
	const url = "https://api.example.com/v1"
	got, err := operator.TryCredential(ctx, "api", url, "echo '"+canary+"'; echo no >&2; exit 3", time.Minute)
	if err != nil || *got != (sandbox.Result{Stdout: "[redacted]\n", Stderr: "no\n", ExitCode: 3}) {
		t.Errorf("%+v, %v", got, err)
	}
	var sent []byte
	m.wire.do(http.MethodPost, "/command", func(req *http.Request) (*http.Response, error) {
		sent, _ = io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(sent))
		return pass(req)
	})
	got, err = operator.TryCredential(ctx, "api", url, "echo before; exec sleep 1000", 200*time.Millisecond)
	if err != nil || got.ExitCode != -1 || !got.TimedOut || got.Stdout != "before\n" {
		t.Errorf("%+v, %v", got, err)
	}
	m.wire.heal()
	if !bytes.Contains(sent, []byte(`"timeout":200`)) {
		t.Errorf("sent %s", sent)
	}
	if _, err := operator.TryCredential(ctx, "api", url+"?"+driversOwn+"&"+canary, "true", 0); err != nil {
		t.Error(err)
	}
	if m.other.Redactor().Has(canary) {
		t.Error("the value is still kept")
	}
	for name, err := range map[string]error{"no name": sandbox.ErrInvalid, "": credential.ErrInvalid} {
		command := "touch /tmp/sent"
		if name != "" {
			command = ""
		}
		if got, failure := operator.TryCredential(ctx, name, url, command, 0); got != nil || !errors.Is(failure, err) {
			t.Errorf("%q: %+v, %v", name, got, failure)
		}
	}

	must(t, h.WriteFile(ctx, "/tmp/go", nil, 0o600))
	result, err := exec.Wait()
	if err != nil || result.ExitCode != 0 || result.Stdout != "up\ndown\n" {
		t.Errorf("the exec: %+v, %v", result, err)
	}
	if got := m.run(h, "ls /tmp/sent"); got.Seq != 2 || got.ExitCode == 0 {
		t.Errorf("%+v", got)
	}
	const tested = "credential.tested "
	m.wantEvents(h, "sandbox.created credential.bound exec.started:1 "+tested+tested+tested+"exec.completed:1 exec.started:2 exec.completed:2")
	want := `{"name":"api","url":"https://api.example.com/v1`
	if got := m.payloads(h, "credential.tested"); len(got) != 3 || got[0] != want+`"}` || got[2] != want+`?[redacted]&[redacted]"}` {
		t.Errorf("%q", got)
	}
	hasNo(t, "the ledger", m.ledgerText(h), canary)
	hasNo(t, "the ledger", m.ledgerText(h), driversOwn)

	// Where nobody drives it, the operator records it.
	must(t, h.Detach(ctx))
	got, err = operator.TryCredential(ctx, "api", url, "echo alone", time.Minute)
	if err != nil || got.Stdout != "alone\n" {
		t.Errorf("%+v, %v", got, err)
	}
	must(t, operator.Close(ctx))
	if got := m.payloads(h, "credential.tested"); len(got) != 4 {
		t.Errorf("%q", got)
	}
	must(t, m.client.Stop(ctx, h.Key()))
}

// What a trial prints is kept in part, and it ends with whoever waits for it.
func TestOperatorTriesWithinLimits(t *testing.T) {
	t.Parallel()
	m := newMachine(t, nil)
	h := m.proxied()
	operator := m.operate(t, h)
	got, err := operator.TryCredential(t.Context(), "api", "https://api.example.com", "yes $(seq 300) | head -n 2000", 0)
	if err != nil || !got.Truncated || len(got.Stdout) < 1<<19 || len(got.Stdout) > 1<<20 {
		t.Errorf("%d bytes, %v", len(got.Stdout), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := operator.TryCredential(ctx, "api", "https://api.example.com", "echo $$ >/tmp/pid; exec sleep 1000", 0)
		ended <- err
	}()
	eventually(t, "the trial", func() bool { _, err := h.ReadFile(t.Context(), "/tmp/pid"); return err == nil })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	eventually(t, "the end of the trial", func() bool { return m.run(h, "kill -0 $(cat /tmp/pid)").ExitCode != 0 })
}

// A request is not sent before the ledger knows of it.
func TestOperatorTriesWhatIsRecorded(t *testing.T) {
	t.Parallel()
	m := newMachine(t, nil)
	h := m.proxied()
	m.set(h, "api", canary, credential.Bearer("api.example.com"), nil)
	m.store.set(failOn("credential.tested", store.ErrInvalid))
	_, err := m.operate(t, h).TryCredential(t.Context(), "api", "https://api.example.com", "touch /tmp/sent", 0)
	if !errors.Is(err, store.ErrInvalid) {
		t.Errorf("%v", err)
	}
	if got := m.run(h, "ls /tmp/sent"); got.ExitCode == 0 {
		t.Error("it was sent")
	}
}
