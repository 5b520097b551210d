//go:build !race

package sdktest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/store"
)

// caught is what the SDK for Go says of a panic, which it makes an error: the instance goes on.
const caught = "internal: panic in ledger.open: "

// hazards are the mistakes that a guest of each language can make, and what the error says then. A loop
// is ended by the deadline.
func hazards() map[string]map[string]string {
	const (
		crashed  = "the guest crashed in alineo_call"
		memory   = "refused memory beyond limits.memory"
		stack    = "stack overflow"
		outside  = "out of bounds memory access"
		deadline = "(limits.deadline)"
	)
	return map[string]map[string]string{
		"go": {
			"panic": caught, "nil": caught, "map": caught, "index": caught, "exit": "the guest exited with code 3", "stack": memory, "memory": memory,
			"deadlock": crashed, "loop": deadline,
		},
		"rust": {
			"panic": crashed, "unwrap": crashed, "index": crashed, "abort": crashed, "stack": outside, "memory": memory, "loop": deadline,
		},
		"c": {
			"trap": crashed, "abort": crashed, "pointer": outside, "stack": outside, "memory": memory, "malloc": memory, "loop": deadline,
		},
		"assemblyscript": {
			"throw": crashed, "assert": crashed, "null": crashed, "index": crashed, "stack": stack, "memory": memory, "loop": deadline,
		},
		"zig": {
			"panic": crashed, "unwrap": crashed, "index": crashed, "unreachable": crashed, "stack": outside, "memory": memory, "arena": memory,
			"loop": deadline,
		},
	}
}

// TestHazards has a guest of each language make its mistakes: each ends as an error of that call, which
// names the plugin and the operation, and the next call is answered, by another instance unless a panic was caught.
func TestHazards(t *testing.T) {
	t.Parallel()
	for _, l := range languages() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			wasm := l.module(t, l.hazards)
			for name, want := range hazards()[l.name] {
				deadline := time.Minute
				if name == "loop" {
					deadline = 2 * time.Second
				}
				hazard(t, wasm, name, want, deadline)
			}
		})
	}
}

func hazard(t *testing.T, wasm, name, want string, deadline time.Duration) {
	t.Helper()
	cfg := config.Default()
	p := config.DefaultPlugin("hazard")
	p.Source, p.SHA256 = wasm, digest(t, wasm)
	p.Limits.Instances, p.Limits.Memory, p.Limits.Deadline = 1, 32<<20, config.Duration(deadline)
	cfg.Plugins = map[string]config.Plugin{"hazard": p}
	cfg.Ledger.Plugin = "hazard"
	h, err := host.Open(t.Context(), cfg, host.WithLogger(hclog.NewNullLogger()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	open := func(name string) (store.Head, error) {
		return h.Store().OpenLedger(t.Context(), store.Key{Name: name, SandboxID: "id"})
	}
	calls := func(n uint64) { // of the instance that answers
		if head, err := open("harmless"); err != nil || head.Epoch != n {
			t.Errorf("%s: a harmless call: epoch %d, want %d: %v", name, head.Epoch, n, err)
		}
	}
	calls(1)
	calls(2)
	_, err = open(name)
	switch {
	case err == nil:
		t.Errorf("%s: no error", name)
	case !strings.Contains(err.Error(), `plugin "hazard": ledger.open: `), !strings.Contains(err.Error(), want):
		t.Errorf("%s: error is %q, want one that names plugin and operation and has %q", name, err, want)
	}
	if want == caught {
		calls(3)
		return
	}
	calls(1)
}
