package plugin_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/plugin"
)

// What is wrong with a file or a setting is said before anything runs, with what to do about it.
func TestVerify(t *testing.T) {
	t.Parallel()
	good := spec(t, "guest/echo")
	changed := slices.Clone(good.Wasm)
	changed[len(changed)-1]++
	for _, c := range []struct {
		name   string
		change func(s *plugin.Spec)
		kind   plugin.Kind
		want   string
	}{
		{
			"no pin", func(s *plugin.Spec) { s.SHA256 = "" }, plugin.KindDigest,
			"add this line below [plugins.guest]:\nsha256 = \"" + good.SHA256 + "\"",
		},
		{
			"one byte changed", func(s *plugin.Spec) { s.Wasm = changed }, plugin.KindDigest,
			"pinned " + good.SHA256 + "\nfound  " + digest(changed) + "\n",
		},
		{
			"text", func(s *plugin.Spec) { s.Wasm = []byte("[plugins.sqlite]\n") }, plugin.KindLoad,
			"the file is not a WebAssembly module: it looks like text",
		},
		{
			"pinned text", func(s *plugin.Spec) { s.Wasm = []byte("x"); s.SHA256 = digest(s.Wasm) }, plugin.KindLoad,
			"the file is not a WebAssembly module: it looks like text",
		},
		{"nothing", func(s *plugin.Spec) { s.Wasm = nil }, plugin.KindLoad, "the file is empty"},
		{"program", func(s *plugin.Spec) { s.Wasm = []byte("\x7fELF\x02\x01\x01\x00") }, plugin.KindLoad, "the file is not a WebAssembly module"},
		{"component", func(s *plugin.Spec) { s.Wasm = []byte("\x00asm\x0d\x00\x01\x00") }, plugin.KindLoad, "the file is a WebAssembly component"},
		{"cut off", func(s *plugin.Spec) { s.Wasm = s.Wasm[:100]; s.SHA256 = digest(s.Wasm) }, plugin.KindLoad, "this host refuses the module: metering module: offset"},
		{
			"one page", func(s *plugin.Spec) { s.Limits.MemoryBytes = 65536 }, plugin.KindMemory,
			"the guest needs 2 pages of memory (131072 bytes) to start, limits.memory allows 1 (65536 bytes)",
		},
		{"less than a page", func(s *plugin.Spec) { s.Limits.MemoryBytes = 1 }, plugin.KindLoad, "limits.memory: 1 is not between 65536 and 4294967296"},
		{"negative", func(s *plugin.Spec) { s.Limits.Instances = -1 }, plugin.KindLoad, "limits.instances: -1 is negative"},
		{"too large", func(s *plugin.Spec) { s.Limits.MaxModule = 100 }, plugin.KindTooLarge, "limits.max_module allows 100"},
		{"config that is none", func(s *plugin.Spec) { s.Config = json.RawMessage(`["x"]`) }, plugin.KindConfig, "not a JSON object"},
		{"no name", func(s *plugin.Spec) { s.Name = "" }, plugin.KindLoad, "a plugin needs a name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := good
			c.change(&s)
			p, err := newRuntime(t, plugin.RuntimeOptions{}).Load(t.Context(), s)
			if p != nil || !plugin.IsKind(err, c.kind) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %v that says %q", err, c.kind, c.want)
			}
			if !strings.HasPrefix(err.Error(), `plugin "`+s.Name+`": load: `) {
				t.Errorf("error %q does not name the plugin", err)
			}
		})
	}
}

// A pin may be written in capitals and with space around it.
func TestPinIsHex(t *testing.T) {
	t.Parallel()
	s := spec(t, "guest/echo")
	s.SHA256 = " " + strings.ToUpper(s.SHA256) + "\n"
	load(t, s)
}

func TestKindNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for k := plugin.KindGuest; k <= plugin.KindClosed; k++ {
		if seen[k.String()] || k.String() == "unknown" {
			t.Errorf("kind %d is called %q", k, k)
		}
		seen[k.String()] = true
	}
	if plugin.Kind(200).String() != "unknown" || plugin.IsKind(nil, plugin.KindGuest) {
		t.Error("what is no kind has a name")
	}
}

// Garbage in the place of a module never gets further than an error.
func FuzzLoad(f *testing.F) {
	f.Add(guest(f, "guest/echo"))
	f.Add(guest(f, "hazard/exclusive"))
	f.Add([]byte("text"))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		rt := newRuntime(t, plugin.RuntimeOptions{})
		s := plugin.Spec{Name: "guest", Wasm: bytes.Clone(wasm), SHA256: digest(wasm)}
		s.Limits.StartDeadline = 200 * time.Millisecond
		if p, err := rt.Load(t.Context(), s); err == nil {
			p.Manifest()
		}
	})
}
