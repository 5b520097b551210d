package plugin_test

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
)

// grace is what a call may take beyond its deadline.
const grace = 100 * time.Millisecond

// The operations of testdata/hazard/call.wat.
const opHarmless abi.Op = 0x200

// Each hazard of a call ends as an error that names plugin and operation, in time, and the next call
// works.
func TestCallHazards(t *testing.T) {
	const deadline = 150 * time.Millisecond
	for _, c := range []struct {
		name string
		op   abi.Op
		kind plugin.Kind
		want string
	}{
		{"trap", 0x100, plugin.KindTrap, "the guest crashed in alineo_call: wasm error: unreachable"},
		{"wild load", 0x101, plugin.KindTrap, "the guest crashed in alineo_call: wasm error: out of bounds memory access"},
		{"deep recursion", 0x102, plugin.KindTrap, "the guest crashed in alineo_call: stack overflow"},
		{"exit", 0x103, plugin.KindTrap, "the guest exited with code 7 in alineo_call"},
		{"memory bomb", 0x104, plugin.KindMemory, "refused memory beyond limits.memory, which is 1024 pages (67108864 bytes): wasm error: unreachable"},
		{"table bomb", 0x105, plugin.KindTrap, "the guest crashed in alineo_call: wasm error: unreachable"},

		{"spin", 0x110, plugin.KindDeadline, "the guest did not finish within 150ms (limits.deadline): context deadline exceeded"},
		{"fill", 0x111, plugin.KindDeadline, "did not finish within 150ms"},
		{"copy", 0x112, plugin.KindDeadline, "did not finish within 150ms"},
		{"host calls for ever", 0x113, plugin.KindDeadline, "did not finish within 150ms"},
		{"log flood", 0x114, plugin.KindDeadline, "did not finish within 150ms"},
		{"stderr flood", 0x115, plugin.KindDeadline, "did not finish within 150ms"},
		{"sleep", 0x116, plugin.KindDeadline, "did not finish within 150ms"},
		{"random", 0x117, plugin.KindDeadline, "did not finish within 150ms"},
		{"stdout of its whole memory", 0x118, plugin.KindDeadline, "did not finish within 150ms"},
		{"growth by nothing", 0x119, plugin.KindDeadline, "did not finish within 150ms"},
		{"empty buffers to read to", 0x11b, plugin.KindDeadline, "did not finish within 150ms"},
		{"empty buffers to write", 0x11c, plugin.KindDeadline, "did not finish within 150ms"},
		{"paths of its whole memory", 0x11d, plugin.KindDeadline, "did not finish within 150ms"},
		{"refused host calls for ever", 0x11a, plugin.KindDeadline, "did not finish within 150ms"},

		{"response outside", 0x120, plugin.KindProtocol, "the guest's response, 1 bytes at 0xffffff00, is not inside its memory of 131072 bytes"},
		{"response over the end", 0x121, plugin.KindProtocol, "the guest's response, 2 bytes at 0x1ffff, is not inside"},
		{"host call outside", 0x122, plugin.KindProtocol, "the guest's request of sql.exec, 8 bytes at 0xffffffff, is not inside"},
		{"host call over the end", 0x123, plugin.KindProtocol, "the guest's request of sql.exec, 8 bytes at 0x1fffc, is not inside"},
		{"take outside", 0x124, plugin.KindProtocol, "the guest's buffer for a response, "},
		{"take of nothing", 0x125, plugin.KindProtocol, "the guest takes a response that is not there"},
		{"log outside", 0x126, plugin.KindProtocol, "the guest's log line, 100 bytes at 0x1ffff, is not inside"},
		{"take twice", 0x127, plugin.KindProtocol, "the guest takes a response that is not there"},

		{"response too large", 0x130, plugin.KindTooLarge, "the response has 17825792 bytes, limits.max_response allows 16777216"},
		{"response of 4 GiB", 0x131, plugin.KindTooLarge, "the response has 4294967295 bytes"},
		{"host call too large", 0x132, plugin.KindTooLarge, "the guest's request of sql.exec has 17825792 bytes, limits.max_response allows 16777216"},

		{"truncated frame", 0x140, plugin.KindProtocol, "the guest's response: abi: malformed response frame: "},
		{"unknown status", 0x141, plugin.KindProtocol, "its status byte is neither 0 nor 1"},
		{"empty frame", 0x142, plugin.KindProtocol, "it is empty"},
		{"no frame", 0x143, plugin.KindProtocol, "it is empty"},
		{"garbage reply", 0x144, plugin.KindProtocol, "the guest's reply of 4 bytes: abi: malformed"},
		{"error without a code", 0x145, plugin.KindGuest, "internal: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := spec(t, "hazard/call")
			if c.kind == plugin.KindDeadline {
				s.Limits.Deadline, s.Limits.MemoryBytes = deadline, 16<<20
			}
			p := load(t, s)
			inTime(t, p.Info().Limits.Deadline, func() {
				err := p.Call(t.Context(), c.op, nil, nil, &abi.Head{})
				expect(t, err, c.kind, c.op, c.want)
			})
			if err := p.Call(t.Context(), opHarmless, nil, nil, nil); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

// A guest can't make the host keep a table of files.
func TestRenumber(t *testing.T) {
	t.Parallel()
	if err := load(t, spec(t, "hazard/call")).Call(t.Context(), 0x160, nil, nil, nil); err != nil {
		t.Error(err)
	}
}

// The same for what the guest does when it is asked for a buffer, as it is for a larger request.
func TestBufferHazards(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		prime  abi.Op
		kind   plugin.Kind
		want   string
		broken bool
	}{
		{"trap", 0x151, plugin.KindTrap, "the guest crashed in alineo_buffer: wasm error: unreachable", true},
		{"spin", 0x152, plugin.KindDeadline, "did not finish within 1s", true},
		{"null", 0x153, plugin.KindProtocol, "alineo_buffer returned no buffer for ", true},
		{"outside", 0x154, plugin.KindProtocol, "bytes at 0xffffffff, is not inside its memory of 131072 bytes", true},
		{"over the end", 0x155, plugin.KindProtocol, "bytes at 0x1fffd, is not inside", true},
		{"misaligned", 0x156, 0, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := spec(t, "hazard/call")
			if c.kind == plugin.KindDeadline {
				s.Limits.Deadline = time.Second
			}
			p := load(t, s)
			if err := p.Call(t.Context(), c.prime, nil, nil, nil); err != nil {
				t.Fatal(err)
			}
			if err := p.Call(t.Context(), opHarmless, nil, nil, nil); err != nil {
				t.Fatalf("a request that fits: %v", err) // the guest is not asked
			}
			larger := text(strings.Repeat("x", echoSize))
			err := p.Call(t.Context(), opHarmless, &larger, nil, nil)
			if c.broken {
				expect(t, err, c.kind, opHarmless, c.want)
			} else if err != nil {
				t.Error(err)
			}
			if err := p.Call(t.Context(), opHarmless, nil, nil, nil); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

// inTime insists that f ends within its deadline and the grace. Other processes may keep ours from
// running, so it has five tries.
func inTime(t *testing.T, deadline time.Duration, f func()) {
	t.Helper()
	var took time.Duration
	for range 5 {
		began := time.Now()
		f()
		if took = time.Since(began); took <= deadline+grace || raced || t.Failed() {
			return
		}
	}
	t.Errorf("took %v, the deadline was %v", took, deadline)
}

func expect(t *testing.T, err error, kind plugin.Kind, op abi.Op, want string) {
	t.Helper()
	var e *plugin.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want a *plugin.Error", err)
	}
	if e.Kind != kind || e.Plugin != "guest" || e.Op != op {
		t.Errorf("kind %v, plugin %q, op %v, want %v, %q, %v: %v", e.Kind, e.Plugin, e.Op, kind, "guest", op, err)
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("error %q, want one that says %q", err, want)
	}
	if strings.Contains(err.Error(), "\n") && kind != plugin.KindDigest {
		t.Errorf("error of several lines: %q", err)
	}
}

// Modules that must not be loaded.
func TestLoadHazards(t *testing.T) {
	const deadline = 150 * time.Millisecond
	for _, c := range []struct {
		guest string
		kind  plugin.Kind
		op    abi.Op
		want  string
	}{
		{"trap-describe", plugin.KindTrap, abi.OpDescribe, "describe: the guest crashed in alineo_call: wasm error: unreachable"},
		{"trap-configure", plugin.KindTrap, abi.OpConfigure, "configure: the guest crashed in alineo_call"},
		{"trap-buffer", plugin.KindTrap, abi.OpDescribe, "describe: the guest crashed in alineo_buffer"},
		{"trap-initialize", plugin.KindStart, 0, "load: the guest crashed in _initialize: wasm error: unreachable"},
		{"trap-start", plugin.KindStart, 0, "load: the guest crashed in its start function"},
		{"spin-describe", plugin.KindDeadline, abi.OpDescribe, "the guest did not finish within 150ms (limits.start_deadline)"},
		{"spin-configure", plugin.KindDeadline, abi.OpConfigure, "did not finish within 150ms (limits.start_deadline)"},
		{"spin-buffer", plugin.KindDeadline, abi.OpDescribe, "did not finish within 150ms"},
		{"spin-initialize", plugin.KindDeadline, 0, "did not finish within 150ms"},
		{"spin-start", plugin.KindDeadline, 0, "did not finish within 150ms"},

		{"missing-call", plugin.KindMissingExport, 0, "the module does not export the function alineo_call (i32, i32) -> i64"},
		{"missing-buffer", plugin.KindMissingExport, 0, "the module does not export the function alineo_buffer (i32) -> i32"},
		{"missing-marker", plugin.KindMissingExport, 0, "the module does not export the function alineo_abi_v1 () -> ()"},
		{"missing-memory", plugin.KindMissingExport, 0, `the module does not export its memory as "memory"`},
		{"newer-marker", plugin.KindMissingExport, 0, `the module speaks "alineo_abi_v2", this host speaks alineo_abi_v1`},
		{"wrong-call", plugin.KindSignature, 0, "the module exports alineo_call as (i32, i32, i32) -> i32, wanted is (i32, i32) -> i64"},
		{"wrong-buffer", plugin.KindSignature, 0, "the module exports alineo_buffer as (i64) -> i64, wanted is (i32) -> i32"},
		{"wrong-import", plugin.KindSignature, 0, "the module imports alineo_v1.log as (i32, i32) -> i32, wanted is (i32, i32, i32) -> ()"},
		{"unknown-import", plugin.KindImport, 0, `the module imports "env"."abort", which is unknown: a plugin can import from alineo_v1 and wasi_snapshot_preview1`},
		{"unknown-function", plugin.KindImport, 0, `the module imports "alineo_v1"."fork", which is unknown: version 1 has call, take and log`},
		{"newer-import", plugin.KindImport, 0, `the module imports "alineo_v2"."call", but this host is too old for it: it has alineo_v1`},
		{"unknown-wasi", plugin.KindImport, 0, `the module imports "wasi_snapshot_preview1"."sock_connect", a WASI function that this host does not offer`},
		{"other-wasi", plugin.KindImport, 0, `of WASI this host has only wasi_snapshot_preview1: build for wasip1`},
		{"host-import", plugin.KindLoad, 0, "import of alineo_rt.tick, which is the host's own"},
		{"big-memory", plugin.KindMemory, 0, "the guest needs 2000 pages of memory (131072000 bytes) to start, limits.memory allows 1024 (67108864 bytes)"},
		{"garbage-manifest", plugin.KindProtocol, abi.OpDescribe, "the guest's reply of 3 bytes: abi: malformed Manifest"},
		{"empty-manifest", plugin.KindProtocol, abi.OpDescribe, "the manifest has no name or no version"},
		{"unknown-state", plugin.KindLoad, abi.OpDescribe, "the manifest's state 7 is unknown"},
		{"refuses-config", plugin.KindConfig, abi.OpConfigure, "the configuration is refused: path: is missing"},
		{"fails-config", plugin.KindGuest, abi.OpConfigure, "configure: unavailable: no luck!"},
		{"wants-sql", plugin.KindGrant, abi.OpDescribe, `the guest wants "sql" of "ledger" (to write), and was granted nothing`},
	} {
		t.Run(c.guest, func(t *testing.T) {
			s := spec(t, "hazard/"+c.guest)
			limit := 30 * time.Second
			if c.kind == plugin.KindDeadline {
				limit = deadline
			}
			s.Limits.StartDeadline = limit
			rt := newRuntime(t, plugin.RuntimeOptions{})
			inTime(t, limit, func() {
				p, err := rt.Load(t.Context(), s)
				if p != nil {
					t.Fatal("it was loaded")
				}
				expect(t, err, c.kind, c.op, c.want)
			})
		})
	}
}

// A guest that has no capabilities yet is told so, and goes on.
func TestNoCapabilitiesBeforeConfigure(t *testing.T) {
	t.Parallel()
	if m := load(t, spec(t, "hazard/early-call")).Manifest(); m.Name != "hazard" {
		t.Errorf("manifest %+v", m)
	}
}

// A guest that spins does not keep the collector from its work.
func TestCollectorRunsWhileGuestSpins(t *testing.T) {
	s := spec(t, "hazard/call")
	s.Limits.Deadline = 500 * time.Millisecond
	p := load(t, s)
	done := make(chan error, 1)
	began := time.Now()
	go func() { done <- p.Call(context.Background(), 0x110, nil, nil, nil) }()
	collected := 0
	for {
		select {
		case err := <-done:
			if !plugin.IsKind(err, plugin.KindDeadline) {
				t.Error(err)
			}
			if collected < 2 {
				t.Errorf("%d collections in %v", collected, time.Since(began))
			}
			return
		default:
			runtime.GC()
			collected++
		}
	}
}

// The .wasm beside each .wat is what wat2wasm makes of it.
func TestBuiltGuests(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("wat2wasm")
	if err != nil {
		t.Skip("NOT CHECKED: wat2wasm is not installed, so the built guests were not compared with their sources")
	}
	sources, err := filepath.Glob("testdata/*/*.wat")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	out := filepath.Join(t.TempDir(), "out.wasm")
	for _, source := range sources {
		if text, err := exec.Command(tool, "--debug-names", source, "-o", out).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", source, err, text)
			continue
		}
		if !slices.Equal(read(t, out), read(t, strings.TrimSuffix(source, ".wat")+".wasm")) {
			t.Errorf("the .wasm beside %s is another one: run testdata/build.sh", source)
		}
	}
}
