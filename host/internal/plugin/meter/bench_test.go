package meter_test

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/alineo-labs/alineo-host/host/internal/plugin/meter"
)

// BenchmarkGuest runs the same exports in the three forms: as they are, metered, and with the
// engine's own check, which metering replaces.
func BenchmarkGuest(b *testing.B) {
	guests := corpus(b)
	guests["go"] = goGuest(b)
	for _, c := range []struct {
		guest, export string
		arg           uint64
	}{
		{"control", "count", 1000},
		{"control", "nested", 63},
		{"control", "fib", 15},
		{"memory", "fill", 0xf},
		{"memory", "copy", 31},
		{"go", "spin", 1000},
		{"go", "sort", 1000},
		{"go", "words", 500},
		{"go", "goroutines", 50},
	} {
		wasm := guests[c.guest]
		metered, _, err := meter.Rewrite(wasm, meter.Options{MaxMemoryPages: 1024})
		if err != nil {
			b.Fatal(err)
		}
		for _, form := range []struct {
			name   string
			wasm   []byte
			config wazero.RuntimeConfig
		}{
			{"plain", wasm, plainConfig()},
			{"metered", metered, plainConfig()},
			{"checked", wasm, plainConfig().WithCloseOnContextDone(true)},
		} {
			b.Run(c.guest+"."+c.export+"/"+form.name, func(b *testing.B) {
				ctx, cancel := context.WithCancel(b.Context())
				defer cancel()
				w := newWorld(b, form.config)
				w.onTick = func(ctx context.Context, _ int32) {
					if ctx.Err() != nil {
						panic(errStop)
					}
				}
				module, err := w.instantiate(form.wasm)
				if err != nil {
					b.Fatal(err)
				}
				f := module.ExportedFunction(c.export)
				stack := make([]uint64, 1)
				for b.Loop() {
					stack[0] = c.arg
					if err := f.CallWithStack(ctx, stack); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkRewrite is the cost of metering a module when it is loaded.
func BenchmarkRewrite(b *testing.B) {
	wasm := goGuest(b)
	b.SetBytes(int64(len(wasm)))
	for b.Loop() {
		if _, _, err := meter.Rewrite(wasm, meter.Options{MaxMemoryPages: 1024}); err != nil {
			b.Fatal(err)
		}
	}
}
