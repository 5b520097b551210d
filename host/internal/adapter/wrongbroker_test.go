package adapter_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/credential/brokertest"
	"github.com/alineo-labs/alineo-host/host/internal/adapter"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
)

// beyondGuests are rules that no guest can break: the host keeps them, whatever a guest does. Package
// brokertest breaks them with brokers in Go.
func beyondGuests(name string) bool {
	switch name {
	case "fault/silent", "fault/canceled", "resolve/undeclared":
		return true
	}
	return false
}

// TestWrongBrokersAreCaught: each case notices when its rule is broken.
func TestWrongBrokersAreCaught(t *testing.T) {
	t.Parallel()
	wasm, err := os.ReadFile("../../../plugins/internal/wrongbroker/wrongbroker.wasm")
	if err != nil {
		t.Fatal(err)
	}
	rt := newRuntime(t)
	digest := sha256.Sum256(wasm)
	module, err := rt.Compile(t.Context(), plugin.Spec{Name: "wrong", Wasm: wasm, SHA256: hex.EncodeToString(digest[:]), Limits: patient})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := module.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	bench := func(fault string) func(brokertest.T) brokertest.Bench {
		return func(bt brokertest.T) brokertest.Bench {
			secrets := &values{text: map[string]string{"one": "value-one", "two": "value-two"}}
			return brokertest.Bench{
				Open: func(ctx context.Context) (credential.Broker, error) {
					caps := capability.NewSet(capability.SetOptions{Plugin: "wrong", Secrets: secrets.readers()})
					p, err := rt.Load(ctx, plugin.Spec{
						Name: "wrong", Module: module, Caps: caps, Limits: patient, Config: fmt.Appendf(nil, `{"fault":%q}`, fault),
					})
					if err != nil {
						return nil, errors.Join(err, caps.Close())
					}
					b := adapter.NewBroker(p)
					bt.Cleanup(func() {
						if err := errors.Join(b.Close(context.WithoutCancel(ctx)), caps.Close()); err != nil {
							bt.Errorf("closing: %v", err)
						}
					})
					return b, nil
				},
				Sidecar: openSidecar,
				Values:  map[string]string{"secret:one": "value-one", "secret:two": "value-two"},
				Rotate: func(reference, value string) error {
					secrets.put(strings.TrimPrefix(reference, "secret:"), value)
					return nil
				},
			}
		}
	}
	for i, one := range brokertest.Cases() {
		if beyondGuests(one.Name) || raced && i%8 != 0 {
			continue // a fault is about what the suite sees, not about goroutines: a few are enough for the detector
		}
		t.Run(one.Name, func(t *testing.T) {
			t.Parallel()
			only := brokertest.CheckOptions{Match: func(c brokertest.Case) bool { return c.Name == one.Name }}
			for _, r := range brokertest.Check(t.Context(), bench(one.Name), only) {
				if r.Status != brokertest.Failed {
					t.Errorf("a broker that breaks the rule %q has %s: %q", one.Rule, r.Status, r.Messages)
				}
			}
		})
	}
}
