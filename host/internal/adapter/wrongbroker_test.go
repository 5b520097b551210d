package adapter_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
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

// breaksToo are the rules that can't be kept by who breaks one: a broker that forgets the others whenever it binds
// one has lost those that are bound at the same time, and what is said for every reference is said for those that lead
// nowhere.
func breaksToo() map[string][]string {
	return map[string][]string{
		"set/several": {"set/concurrent"}, "set/concurrent": {"set/several"}, // forgets the others
		"set/values":  {"set/names"},                     // writes texts into documents as they are
		"set/names":   {"set/replaces", "set/stateless"}, // binds under another name than it lists
		"remove/ends": {"remove/others"},                 // removes nothing
		"list/order":  {"list/whole"},
		"fault/plain": {"fault/refused"}, "fault/refused": {"fault/plain"}, // says another thing than the sidecar
		"resolve/known": {"resolve/unknown", "resolve/rotated"}, // has one value for all
	}
}

// groupOf is what the names of cases that belong together begin with.
func groupOf(name string) string {
	group, _, _ := strings.Cut(name, "/")
	return group
}

// waits says whether a case takes seconds, whatever the broker does.
func waits(name string) bool {
	return strings.HasSuffix(name, "/live") || slices.Contains([]string{"fault/starting", "fault/no-proxy", "fault/failing", "fault/silent"}, name)
}

// TestWrongBrokersAreCaught: each case notices when its rule is broken, and the others of its group
// do not, unless they are broken by that as well.
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
			// Its own rule, and the others of its group but those that wait for seconds.
			group := brokertest.CheckOptions{Parallel: 2, Match: func(c brokertest.Case) bool {
				return c.Name == one.Name || groupOf(c.Name) == groupOf(one.Name) && !waits(c.Name)
			}}
			var failed []string
			for _, r := range brokertest.Check(t.Context(), bench(one.Name), group) {
				if r.Status == brokertest.Failed {
					failed = append(failed, r.Case.Name)
				}
			}
			if !slices.Contains(failed, one.Name) {
				t.Errorf("a broker that breaks the rule %q fails %q", one.Rule, failed)
			}
			for _, name := range failed {
				if name != one.Name && !slices.Contains(breaksToo()[one.Name], name) {
					t.Errorf("a broker that breaks the rule %q fails %s, too", one.Rule, name)
				}
			}
		})
	}
}
