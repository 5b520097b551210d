package host_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/plugins"
)

// reloadable is a host and the file that it was opened from, with modules that can be exchanged.
type reloadable struct {
	*host.Host

	t   *testing.T
	dir string
}

// write writes a file of the place.
func (r *reloadable) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// module writes a module, which is another one for each mark, and returns its digest.
func (r *reloadable) module(name string, wasm []byte, mark string) string {
	r.t.Helper()
	wasm = append([]byte(nil), wasm...)
	if mark != "" { // a custom section, which does nothing
		wasm = append(wasm, 0, byte(1+len(mark)), byte(len(mark)))
		wasm = append(wasm, mark...)
	}
	r.write(name, string(wasm))
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}

// open opens the host of alineo.toml.
func (r *reloadable) open() {
	r.t.Helper()
	cfg, err := host.LoadConfig(filepath.Join(r.dir, "alineo.toml"))
	if err != nil {
		r.t.Fatal(err)
	}
	if r.Host, err = host.Open(r.t.Context(), cfg, host.WithLogger(hclog.NewNullLogger())); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := r.Close(context.WithoutCancel(r.t.Context())); err != nil {
			r.t.Error(err)
		}
	})
}

// reload reads the file again and reloads a plugin.
func (r *reloadable) reload(name string) (host.PluginInfo, error) {
	r.t.Helper()
	cfg, err := host.LoadConfig(filepath.Join(r.dir, "alineo.toml"))
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	return r.ReloadPlugin(ctx, cfg, name)
}

// withoutDetector leaves out what compiles one module after another.
func withoutDetector(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("LEFT OUT: under the race detector it compiles for a minute; TestSeat of host/internal/plugin is about who changes places")
	}
}

const reloadedLedger = `[ledger]
plugin = "mine"
[plugins.mine]
source = "./mine.wasm"
sha256 = "%s"
[plugins.mine.limits]
deadline = "1m"
start_deadline = "1m"
[plugins.mine.sql.ledger]
driver = "sqlite"
path = "ledger.db"
`

func bundledSQLite(t *testing.T) []byte {
	t.Helper()
	bundle, err := plugins.Find("sqlite")
	if err != nil {
		t.Fatal(err)
	}
	return bundle.Wasm
}

// TestReloadUnderLoad reloads the ledger's plugin while sandboxes are written to and read: no call fails,
// nothing is lost, and the module is each time the one that was pinned last.
func TestReloadUnderLoad(t *testing.T) {
	t.Parallel()
	withoutDetector(t)
	r := &reloadable{t: t, dir: t.TempDir()}
	wasm := bundledSQLite(t)
	r.write("alineo.toml", fmt.Sprintf(reloadedLedger, r.module("mine.wasm", wasm, "")))
	r.open()
	var done atomic.Bool
	var load sync.WaitGroup
	var written [3]int
	for i := range written {
		load.Go(func() {
			stream, err := r.Writer().Open(t.Context(), sandboxKey(i))
			if err != nil {
				t.Error(err)
				return
			}
			for !done.Load() {
				if err := stream.Append(t.Context(), chaosMark(mark{Writer: i, N: written[i]})); err != nil {
					t.Errorf("writing while it is reloaded: %v", err)
					return
				}
				written[i]++
				if _, err := r.Store().Read(t.Context(), sandboxKey(i), store.ReadOptions{Last: 3}); err != nil {
					t.Errorf("reading while it is reloaded: %v", err)
					return
				}
			}
		})
	}
	before := r.Plugins()[0].Digest
	for i := range 2 {
		digest := r.module("mine.wasm", wasm, fmt.Sprintf("version %d", i))
		if _, err := r.reload("mine"); !errors.Is(err, host.ErrNotReloaded) || !strings.Contains(err.Error(), "not the one that was pinned") {
			t.Errorf("a module that is not pinned: %v", err)
		}
		if now := r.Plugins()[0].Digest; now != before {
			t.Errorf("after a reload that was refused the module is %s", now)
		}
		r.write("alineo.toml", fmt.Sprintf(reloadedLedger, digest))
		info, err := r.reload("mine")
		if err != nil || info.Digest != digest || r.Plugins()[0].Digest != digest {
			t.Errorf("reload %d: %v, it is %s, not %s", i, err, info.Digest, digest)
		}
		before = digest
	}
	done.Store(true)
	load.Wait()
	for i, want := range written {
		n := 0
		for _, err := range ledger.ReadSandbox(t.Context(), r.Store(), sandboxKey(i)) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != want || want == 0 {
			t.Errorf("sandbox %d has %d entries, %d were acknowledged", i, n, want)
		}
	}
}

// buildExclusive builds the guest of testdata/exclusive.
func buildExclusive(t *testing.T) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "exclusive.wasm")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-o", out, "./testdata/exclusive")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=", "GOWASM=", "GOEXPERIMENT=")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the guest: %v\n%s", err, text)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

const reloadedStore = `[plugins.sqlite.config]
path = ":memory:"
[runs]
store = "alone"
[plugins.alone]
source = "./alone.wasm"
sha256 = "%s"
[plugins.alone.limits]
deadline = "1m"
start_deadline = "1m"
[plugins.alone.grant]
files = [{ host = "./data", guest = "/data", mode = "rw" }]
[plugins.alone.config]
%s
`

// TestReloadExclusive reloads a guest that owns a file and would not start beside itself: calls wait and none
// fails; and a new one that does not start leaves the old one where it was.
func TestReloadExclusive(t *testing.T) {
	t.Parallel()
	withoutDetector(t)
	if testing.Short() {
		t.Skip("building a Go guest takes seconds")
	}
	r := &reloadable{t: t, dir: t.TempDir()}
	if err := os.Mkdir(filepath.Join(r.dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	wasm := buildExclusive(t)
	r.write("alineo.toml", fmt.Sprintf(reloadedStore, r.module("alone.wasm", wasm, ""), ""))
	r.open()
	if _, err := r.reload("alone"); !errors.Is(err, host.ErrNotLoaded) {
		t.Errorf("before it is used: %v", err)
	}
	stores, err := r.RunStores(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var done atomic.Bool
	var load sync.WaitGroup
	var written [3]int
	for i := range written {
		load.Go(func() {
			key := fmt.Sprintf("key-%d", i)
			for !done.Load() {
				want := fmt.Sprintf("thread-%d", written[i])
				err := stores.Instances.Put(t.Context(), store.Instance{Key: key, Provider: "test", ProviderSandboxID: "box", ThreadID: want, UpdatedAt: 1})
				if err != nil {
					t.Errorf("writing while it is reloaded: %v", err)
					return
				}
				got, ok, err := stores.Instances.Get(t.Context(), key)
				if err != nil || !ok || got.ThreadID != want {
					t.Errorf("reading while it is reloaded: %+v, %v, %v, want %s", got, ok, err, want)
					return
				}
				written[i]++
			}
		})
	}
	for i := range 2 {
		digest := r.module("alone.wasm", wasm, fmt.Sprintf("version %d", i))
		r.write("alineo.toml", fmt.Sprintf(reloadedStore, digest, "refuse = true"))
		if _, err := r.reload("alone"); !errors.Is(err, host.ErrNotReloaded) || !strings.Contains(err.Error(), "plugins.alone.config.refuse: as you wish") {
			t.Errorf("a new one that does not start: %v", err)
		}
		r.write("alineo.toml", fmt.Sprintf(reloadedStore, digest, ""))
		if info, err := r.reload("alone"); err != nil || info.Digest != digest {
			t.Errorf("reload %d: %v, it is %s, not %s", i, err, info.Digest, digest)
		}
	}
	done.Store(true)
	load.Wait()
	if _, err := os.Stat(filepath.Join(r.dir, "data", "lock")); err != nil {
		t.Errorf("the one that is there does not own its file: %v", err)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "data", "lock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after closing the file is still there: %v", err)
	}
}

// TestReloadRefused: what can't take a plugin's place does not, and says why; the plugin works as before.
func TestReloadRefused(t *testing.T) {
	t.Parallel()
	withoutDetector(t)
	volatile, err := os.ReadFile("internal/plugin/testdata/hazard/volatile.wasm")
	if err != nil {
		t.Fatal(err)
	}
	broker, err := os.ReadFile("../plugins/broker-vault.wasm")
	if err != nil {
		t.Fatal(err)
	}
	r := &reloadable{t: t, dir: t.TempDir()}
	wasm := bundledSQLite(t)
	good := fmt.Sprintf(reloadedLedger, r.module("mine.wasm", wasm, ""))
	mem := "[credentials]\nbroker = \"mem\"\n[plugins.mem]\nsource = \"./mem.wasm\"\nsha256 = \"" + r.module("mem.wasm", volatile, "") + "\"\n"
	r.write("alineo.toml", good+mem)
	r.open()
	if _, err := r.Broker(t.Context()); err == nil || !strings.Contains(err.Error(), "is not a broker") {
		t.Fatal(err) // but it is loaded now
	}
	for name, c := range map[string]struct {
		plugin, config string
		is             error
		want           string
	}{
		"unknown":  {"nobody", good, host.ErrNoPlugin, "there are: [broker-vault"},
		"unused":   {"broker-vault", good, host.ErrNotLoaded, "nothing has used it yet"},
		"volatile": {"mem", good + mem, host.ErrNotReloaded, "keeps its state in memory"},
		"grants": {
			"mine", strings.Replace(good, "ledger.db", "another.db", 1) + mem, host.ErrNotReloaded,
			"[plugins.mine.sql] has changed",
		},
		"config": {"mine", good + mem + "[plugins.mine.config]\nbogus = 1\n", host.ErrNotReloaded, "alineo.toml:18:1: plugins.mine.config.bogus: unknown key"},
		"kind": {
			"mine", strings.Replace(fmt.Sprintf(reloadedLedger, r.module("other.wasm", broker, ""))+mem, "mine.wasm", "other.wasm", 1), host.ErrNotReloaded,
			`the new one lacks the kind "ledger"`,
		},
		"memory": {"mine", strings.Replace(good, "deadline = \"1m\"\n", "deadline = \"1m\"\nmemory = \"64KiB\"\n", 1) + mem, host.ErrNotReloaded, "limits.memory allows 1"},
	} {
		r.write("alineo.toml", c.config)
		if _, err := r.reload(c.plugin); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := r.Store().ListSandboxes(t.Context(), store.ListOptions{}); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
	r.write("alineo.toml", good+mem)
	if _, err := r.ReloadPlugin(t.Context(), nil, "mine"); err != nil {
		t.Errorf("with the host's own configuration: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.ReloadPlugin(ended, nil, "mine"); !errors.Is(err, host.ErrNotReloaded) || !errors.Is(err, context.Canceled) {
		t.Errorf("when the caller has gone: %v", err)
	}
}
