package meter_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/alineo-labs/alineo-host/host/internal/plugin/meter"
)

// FuzzRewrite feeds modules that are almost right. Rewrite must never panic, and what it accepts must
// be valid to the engine exactly when the original is, and then do the same.
func FuzzRewrite(f *testing.F) {
	for _, wasm := range corpus(f) {
		f.Add(wasm)
	}
	f.Add(code(0x0b))
	f.Add(exported(0, 1))
	f.Add(elements(5, 0x70, 1, 0xd2, 0, 0x0b))
	f.Fuzz(func(t *testing.T, wasm []byte) { check(t, wasm) })
}

// The same with mutations that are the same in every run, so that each run of the tests has some.
func TestMutations(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	guests := corpus(t)
	for _, name := range slices.Sorted(maps.Keys(guests)) {
		for range 500 {
			wasm := slices.Clone(guests[name])
			for range 1 + rng.IntN(3) {
				at := 8 + rng.IntN(len(wasm)-8)
				switch rng.IntN(4) {
				case 0:
					wasm[at] = byte(rng.Uint32())
				case 1:
					wasm[at] ^= 1 << rng.IntN(8)
				case 2:
					wasm[at]++
				case 3:
					wasm[at] = wasm[8+rng.IntN(len(wasm)-8)]
				}
			}
			check(t, wasm)
		}
	}
}

func check(t *testing.T, wasm []byte) {
	t.Helper()
	const pages = 16
	metered, _, err := meter.Rewrite(wasm, meter.Options{MaxMemoryPages: pages, MaxTableEntries: 1000, Interval: 50})
	if err != nil {
		return
	}
	wasm = withoutCustom(wasm)
	plainErr, meteredErr := compile(wasm), compile(metered)
	if (plainErr == nil) != (meteredErr == nil) {
		t.Fatalf("plain module: %v\nmetered module: %v\n%x", plainErr, meteredErr, wasm)
	}
	if plainErr != nil {
		return
	}
	// The metered one first: when it comes to its end by itself, the plain one will.
	budget := 200
	got, ended := behaviour(t, metered, &budget)
	if !ended {
		return
	}
	if plain, _ := behaviour(t, wasm, nil); got != plain {
		t.Fatalf("metered:\n%s\nplain:\n%s\n%x", got, plain, wasm)
	}
}

// withoutCustom drops custom sections, whose faults a rewritten module does not share.
func withoutCustom(wasm []byte) []byte {
	out := slices.Clone(wasm[:8])
	for rest := wasm[8:]; len(rest) > 0; {
		size, n := binary.Uvarint(rest[1:])
		end := 1 + n + int(size)
		if rest[0] != 0 {
			out = append(out, rest[:end]...)
		}
		rest = rest[end:]
	}
	return out
}

// compile validates a module as the engine does, without the cost of making code of it.
func compile(wasm []byte) error {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithMemoryLimitPages(16))
	defer r.Close(ctx)
	_, err := r.CompileModule(ctx, wasm)
	return err
}

var errBudget = errors.New("out of budget")

// behaviour runs a module's exports. Growth is bounded differently in the two forms, so that a module
// that may grow counts as one that did not end.
func behaviour(t *testing.T, wasm []byte, budget *int) (seen string, ended bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().
		WithMemoryLimitPages(16).WithCloseOnContextDone(budget == nil))
	defer r.Close(ctx)
	tick := func(context.Context, []uint64) {
		if *budget--; *budget <= 0 {
			panic(errBudget)
		}
	}
	_, err := r.NewHostModuleBuilder(meter.ModuleName).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(tick), []api.ValueType{api.ValueTypeI32}, nil).Export(meter.TickName).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.NewHostModuleBuilder("env").NewFunctionBuilder().
		WithFunc(func(a, b int32) int32 { return a + b }).Export("add").Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	note := func(what string, results []uint64, err error) bool {
		if errors.Is(err, errBudget) {
			return false
		}
		text := ""
		if err != nil {
			text, _, _ = strings.Cut(err.Error(), "\n")
		}
		fmt.Fprintln(&lines, what, results, text)
		return true
	}
	module, err := r.Instantiate(ctx, wasm)
	if !note("instantiate", nil, err) {
		return "", false
	}
	if err != nil {
		return lines.String(), true
	}
	for _, name := range slices.Sorted(maps.Keys(module.ExportedFunctionDefinitions())) {
		f := module.ExportedFunction(name)
		if len(f.Definition().ParamTypes()) > 2 || name == "grow" {
			continue
		}
		results, err := f.Call(ctx, []uint64{3, 5}[:len(f.Definition().ParamTypes())]...)
		if !note(name, results, err) {
			return "", false
		}
	}
	return lines.String(), true
}
