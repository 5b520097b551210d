package adapter_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/credential/brokertest"
	"github.com/alineo-labs/alineo-host/host/internal/adapter"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
)

// openHostileBroker loads a guest of testdata as a broker.
func openHostileBroker(t *testing.T, rt *plugin.Runtime, guest, mode string, limit time.Duration) *adapter.Broker {
	t.Helper()
	db, err := sqlite.Open(sqlite.Options{Path: sqlite.Memory})
	if err != nil {
		t.Fatal(err)
	}
	caps := capability.NewSet(capability.SetOptions{Plugin: guest, Databases: map[string]capability.Database{"ledger": db}})
	wasm, digest := module(t, guest)
	p, err := rt.Load(t.Context(), plugin.Spec{
		Name: guest, Wasm: wasm, SHA256: digest, Caps: caps, Config: fmt.Appendf(nil, `{"mode":%q}`, mode),
		Limits: plugin.Limits{Deadline: limit, StartDeadline: time.Minute, MemoryBytes: 32 << 20, Instances: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	b := adapter.NewBroker(p)
	t.Cleanup(func() {
		_ = b.Close(context.Background()) // a guest that does not answer when it is closed is none of this test's
		if err := caps.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

const canary = "c4nary-of-the-broker"

// TestHostileBrokers: whatever a guest answers, the caller gets an error that names the plugin, and no value.
func TestHostileBrokers(t *testing.T) {
	t.Parallel()
	if raced {
		t.Skip("LEFT OUT: nonsense of a guest is read by one caller, and each deadline is waited for")
	}
	rt := newRuntime(t)
	s, err := openSidecar(brokertest.SidecarOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	set := func(ctx context.Context, b *adapter.Broker) error {
		return b.Set(ctx, s.Sandbox(), "key", credential.NewSecret(canary), credential.Bearer("a.example"))
	}
	list := func(ctx context.Context, b *adapter.Broker) error {
		got, err := b.ListBindings(ctx, s.Sandbox())
		if err != nil && got != nil {
			t.Errorf("with an error there is a list: %v", got)
		}
		return err
	}
	resolve := func(ctx context.Context, b *adapter.Broker) error {
		got, err := b.Resolve(ctx, "key", credential.Source{Type: credential.SourceExternal, Ref: "x"})
		if err != nil && got.Value.IsSet() {
			t.Error("with an error there is a value")
		}
		return err
	}
	for _, c := range []struct {
		guest, mode string
		run         func(context.Context, *adapter.Broker) error
		kind        plugin.Kind
		is          error
		words       string
	}{
		{"hostile", "broker-code", set, plugin.KindGuest, nil, "no such code"},
		{"hostile", "broker-text", set, plugin.KindGuest, credential.ErrInvalid, "owned"},
		{"hostile", "broker-spin", set, plugin.KindDeadline, credential.ErrUnknownOutcome, ""},
		{"hostile", "broker-exit", set, plugin.KindTrap, credential.ErrUnknownOutcome, "exited"},
		{"hostile", "broker-elsewhere", set, plugin.KindGuest, credential.ErrDenied, "granted no HTTP"},
		{"hostile", "broker-header", set, plugin.KindGuest, nil, ""},
		{"hostile", "broker-steal", set, plugin.KindGuest, credential.ErrNotFound, "there is no secret"},
		{"hostile", "broker-many", list, plugin.KindProtocol, nil, "2000 bindings"},
		{"hostile", "broker-twice", list, plugin.KindProtocol, nil, "does not follow"},
		{"hostile", "broker-name", list, plugin.KindProtocol, nil, "control character"},
		{"hostile", "broker-host", list, plugin.KindProtocol, nil, "bare name"},
		{"hostile", "broker-port", list, plugin.KindProtocol, nil, "no port"},
		{"hostile", "broker-auth", list, plugin.KindProtocol, nil, "magic"},
		{"hostile", "broker-places", list, plugin.KindProtocol, nil, "substitutions"},
		{"hostile", "", resolve, plugin.KindProtocol, nil, "secret 7, which it does not hold"},
		{"hostile", "broker-none", resolve, plugin.KindProtocol, nil, "secret 0"},
		{"trap", "", set, plugin.KindTrap, credential.ErrUnknownOutcome, ""},
		{"trap", "", list, plugin.KindTrap, credential.ErrUnknownOutcome, ""},
		{"spin", "", set, plugin.KindDeadline, credential.ErrUnknownOutcome, ""},
		{"hungry", "", set, plugin.KindTooLarge, credential.ErrUnknownOutcome, ""},
	} {
		t.Run(c.guest+" "+c.mode, func(t *testing.T) {
			t.Parallel()
			limit := time.Minute
			if c.kind == plugin.KindDeadline {
				limit = time.Second
			}
			err := c.run(t.Context(), openHostileBroker(t, rt, c.guest, c.mode, limit))
			if c.mode == "broker-header" {
				if err != nil {
					t.Errorf("a guest's header won over the endpoint's: %v", err)
				}
				return
			}
			at, ok := errors.AsType[*credential.Error](err)
			if !ok || !plugin.IsKind(err, c.kind) || c.is != nil && !errors.Is(err, c.is) {
				t.Fatalf("%v, want %s and %v", err, c.kind, c.is)
			}
			text := err.Error()
			if !strings.Contains(text, `plugin "`+c.guest+`"`) || !strings.Contains(text, c.words) || at.Op == "" {
				t.Errorf("%q does not name the plugin, or %q", text, c.words)
			}
			if strings.Contains(text, canary) || strings.ContainsAny(text, "\x1b\x07") || len(text) > 8<<10 {
				t.Errorf("the error has what it must not have: %.300q", text)
			}
		})
	}
}

// TestErrorsOfABroker: each code of a guest is what the caller can branch on.
func TestErrorsOfABroker(t *testing.T) {
	t.Parallel()
	for code, want := range map[abi.Code]error{
		abi.CodeInvalid: credential.ErrInvalid, abi.CodeNotFound: credential.ErrNotFound, abi.CodeConflict: credential.ErrConflict,
		abi.CodeDenied: credential.ErrDenied, abi.CodeUnsupported: credential.ErrUnsupported, abi.CodeUnavailable: credential.ErrUnavailable,
		abi.CodeUnknownOutcome: credential.ErrUnknownOutcome, abi.CodeResourceExhausted: credential.ErrUnavailable, abi.CodeDeadline: credential.ErrUnavailable,
	} {
		err := adapter.NewBroker(answering{code}).Remove(t.Context(), credential.Sandbox{ID: "sb"}, "key")
		if !errors.Is(err, want) || !strings.Contains(err.Error(), `removing credential "key" of sandbox sb: plugin "answering"`) {
			t.Errorf("%s: %v, want %v", code, err, want)
		}
	}
}

// answering is a guest that answers every call with a code.
type answering struct{ code abi.Code }

func (answering) Name() string                { return "answering" }
func (answering) Manifest() abi.Manifest      { return abi.Manifest{} }
func (answering) Close(context.Context) error { return nil }
func (a answering) Call(_ context.Context, op abi.Op, _ abi.Message, _ *capability.Call, _ abi.Message) error {
	return &plugin.Error{Plugin: "answering", Op: op, Kind: plugin.KindGuest, Sent: true, Err: &abi.Error{Code: a.code, Message: "so it is"}}
}
