package plugin_test

import (
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
)

// TestModule makes several plugins of one module: each works, and closing one leaves the others alone.
func TestModule(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t, plugin.RuntimeOptions{})
	s := spec(t, "guest/echo")
	module, err := rt.Compile(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var all []*plugin.Plugin
	for range 3 {
		p, err := rt.Load(t.Context(), plugin.Spec{Name: "guest", Module: module})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	for i, p := range all {
		if err := p.Call(t.Context(), abi.OpEcho, nil, nil, nil); err != nil {
			t.Errorf("plugin %d, after %d were closed: %v", i, i, err)
		}
		if info := p.Info(); info.Digest != s.SHA256 || info.ModuleBytes != len(s.Wasm) || info.Functions == 0 {
			t.Errorf("plugin %d is %+v", i, info)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := rt.Load(t.Context(), plugin.Spec{
		Name: "guest", Module: module, Limits: plugin.Limits{MemoryBytes: 32 << 20},
	}); !plugin.IsKind(err, plugin.KindLoad) {
		t.Errorf("loading it with another limits.memory: %v", err)
	}
	if err := module.Close(t.Context()); err != nil {
		t.Error(err)
	}
	s.SHA256 = ""
	if _, err := rt.Compile(t.Context(), s); !plugin.IsKind(err, plugin.KindDigest) {
		t.Errorf("compiling what is not pinned: %v", err)
	}
}
