package meter_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/alineo-labs/alineo-host/host/internal/plugin/meter"
)

// corpus returns the small guests by name.
func corpus(tb testing.TB) map[string][]byte {
	tb.Helper()
	paths, err := filepath.Glob("testdata/*.wasm")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no guests in testdata: %v", err)
	}
	guests := map[string][]byte{}
	for _, path := range paths {
		wasm, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		guests[strings.TrimSuffix(filepath.Base(path), ".wasm")] = wasm
	}
	return guests
}

var buildGo = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "meter-guest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "guest.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-o", out, "./testdata/goguest")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=", "GOWASM=", "GOEXPERIMENT=")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building Go guest: %w\n%s", err, text)
	}
	return os.ReadFile(out)
})

// goGuest returns the guest of the standard toolchain.
func goGuest(tb testing.TB) []byte {
	tb.Helper()
	if testing.Short() {
		tb.Skip("building a Go guest takes seconds")
	}
	wasm, err := buildGo()
	if err != nil {
		tb.Fatal(err)
	}
	return wasm
}

// world is a runtime with what guests import.
type world struct {
	wazero.Runtime
	onTick func(ctx context.Context, fuel int32)
}

func newWorld(tb testing.TB, config wazero.RuntimeConfig) *world {
	tb.Helper()
	ctx := context.Background()
	w := &world{Runtime: wazero.NewRuntimeWithConfig(ctx, config), onTick: func(context.Context, int32) {}}
	tb.Cleanup(func() { w.Close(ctx) })
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, w); err != nil {
		tb.Fatal(err)
	}
	_, err := w.NewHostModuleBuilder("env").NewFunctionBuilder().
		WithFunc(func(a, b int32) int32 { return a + b }).Export("add").Instantiate(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	tick := func(ctx context.Context, stack []uint64) { w.onTick(ctx, int32(uint32(stack[0]))) }
	_, err = w.NewHostModuleBuilder(meter.ModuleName).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(tick), []api.ValueType{api.ValueTypeI32}, nil).Export(meter.TickName).Instantiate(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

// plainConfig is the engine as the plugin runtime uses it.
func plainConfig() wazero.RuntimeConfig {
	return wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2)
}

func (w *world) instantiate(wasm []byte) (api.Module, error) {
	ctx := context.Background()
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize").
		WithRandSource(rand.Reader).WithSysWalltime().WithSysNanotime()
	return w.InstantiateWithConfig(ctx, wasm, config)
}

// observe calls every export of the form (i32) -> i64 and returns one line for each thing that can
// be seen of the module.
func (w *world) observe(tb testing.TB, wasm []byte, args []uint32) []string {
	tb.Helper()
	ctx := context.Background()
	module, err := w.instantiate(wasm)
	if err != nil {
		tb.Fatalf("instantiating: %v", err)
	}
	defer module.Close(ctx)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(module.ExportedFunctionDefinitions())) {
		f := module.ExportedFunction(name)
		if len(f.Definition().ParamTypes()) != 1 || len(f.Definition().ResultTypes()) != 1 {
			continue
		}
		for _, arg := range args {
			stack := []uint64{uint64(arg)}
			if err := f.CallWithStack(ctx, stack); err != nil {
				first, _, _ := strings.Cut(err.Error(), "\n")
				lines = append(lines, fmt.Sprintf("%s(%d): %s", name, arg, first))
				continue
			}
			lines = append(lines, fmt.Sprintf("%s(%d) = %d", name, arg, int64(stack[0])))
		}
	}
	if memory := module.ExportedMemory("memory"); memory != nil {
		lines = append(lines, fmt.Sprint("memory ", memory.Size()))
	}
	if calls := module.ExportedGlobal("calls"); calls != nil {
		lines = append(lines, fmt.Sprint("calls ", calls.Get()))
	}
	return lines
}

func mustRead(tb testing.TB, path string) []byte {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}
