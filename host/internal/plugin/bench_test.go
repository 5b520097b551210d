package plugin_test

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/internal/plugin/meter"
)

// echoSize is the size of the body that is sent and comes back.
const echoSize = 256

func echoGuest(b *testing.B) plugin.Spec {
	b.Helper()
	return spec(b, "guest/echo")
}

func goGuest(b *testing.B) plugin.Spec {
	b.Helper()
	return goSpec(b, `{"mode": ""}`)
}

// BenchmarkEcho is a call with its deadline on: envelope, two trips into the guest, frame.
func BenchmarkEcho(b *testing.B) {
	for _, c := range []struct {
		name string
		spec func(b *testing.B) plugin.Spec
	}{{"wat", echoGuest}, {"go", goGuest}} {
		b.Run(c.name, func(b *testing.B) {
			p := load(b, c.spec(b))
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			req := text(bytes.Repeat([]byte("x"), echoSize))
			var reply text
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Call(ctx, abi.OpEcho, &req, nil, &reply); err != nil {
					b.Fatal(err)
				}
			}
			if len(reply) != echoSize {
				b.Fatalf("%d bytes came back", len(reply))
			}
		})
	}
}

// BenchmarkEchoParallel is the same from several goroutines, each with an instance.
func BenchmarkEchoParallel(b *testing.B) {
	p := load(b, spec(b, "guest/echo"))
	b.RunParallel(func(pb *testing.PB) {
		req := text(bytes.Repeat([]byte("x"), echoSize))
		var reply text
		for pb.Next() {
			if err := p.Call(b.Context(), abi.OpEcho, &req, nil, &reply); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkCapabilityCall is a call that makes a capability call of its own.
func BenchmarkCapabilityCall(b *testing.B) {
	s := spec(b, "guest/echo")
	s.Caps = hostFunc(answerNothing)
	p := load(b, s)
	req := text(bytes.Repeat([]byte("x"), echoSize))
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Call(b.Context(), abi.OpSQLExec, &req, nil, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBare is what the engine alone takes for the same two trips into the same guest and the same
// two copies: as the module is, metered, and with the engine's own check.
func BenchmarkBare(b *testing.B) {
	plain := guest(b, "guest/echo")
	metered, _, err := meter.Rewrite(plain, meter.Options{MaxMemoryPages: 1024})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		wasm  []byte
		check bool
	}{{"plain", plain, false}, {"metered", metered, false}, {"checked", plain, true}} {
		b.Run(c.name, func(b *testing.B) { benchmarkBare(b, c.wasm, c.check) })
	}
}

func benchmarkBare(b *testing.B, wasm []byte, check bool) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCloseOnContextDone(check))
	defer r.Close(ctx)
	host := r.NewHostModuleBuilder(abi.HostModule)
	i32, i64 := api.ValueTypeI32, api.ValueTypeI64
	nothing := api.GoFunc(func(context.Context, []uint64) {})
	host.NewFunctionBuilder().WithGoFunction(nothing, []api.ValueType{i32, i32, i32}, []api.ValueType{i64}).Export(abi.ImportCall)
	host.NewFunctionBuilder().WithGoFunction(nothing, []api.ValueType{i32}, nil).Export(abi.ImportTake)
	host.NewFunctionBuilder().WithGoFunction(nothing, []api.ValueType{i32, i32, i32}, nil).Export(abi.ImportLog)
	if _, err := host.Instantiate(ctx); err != nil {
		b.Fatal(err)
	}
	tick := r.NewHostModuleBuilder(meter.ModuleName)
	tick.NewFunctionBuilder().WithGoFunction(nothing, []api.ValueType{i32}, nil).Export(meter.TickName)
	if _, err := tick.Instantiate(ctx); err != nil {
		b.Fatal(err)
	}
	module, err := r.Instantiate(ctx, wasm)
	if err != nil {
		b.Fatal(err)
	}
	buffer, call := module.ExportedFunction(abi.ExportBuffer), module.ExportedFunction(abi.ExportCall)
	frame := (&abi.Request{CallID: 1, DeadlineMS: 5000, Body: bytes.Repeat([]byte("x"), echoSize)}).AppendTo(nil)
	stack, out := make([]uint64, 2), make([]byte, 2*echoSize)
	for b.Loop() {
		stack[0] = uint64(len(frame))
		if err := buffer.CallWithStack(ctx, stack[:1]); err != nil {
			b.Fatal(err)
		}
		module.Memory().Write(uint32(stack[0]), frame)
		stack[0], stack[1] = uint64(abi.OpEcho), uint64(len(frame))
		if err := call.CallWithStack(ctx, stack); err != nil {
			b.Fatal(err)
		}
		view, ok := module.Memory().Read(uint32(stack[0]>>32), uint32(stack[0]))
		if !ok || copy(out, view) != echoSize+1 {
			b.Fatal("no reply")
		}
	}
}

// BenchmarkLoad is a start: verified, metered, compiled, instantiated, described, configured.
func BenchmarkLoad(b *testing.B) {
	for _, c := range []struct {
		name, cache string
		spec        func(b *testing.B) plugin.Spec
	}{
		{"wat", "", echoGuest},
		{"go cold", "", goGuest},
		{"go cached", filepath.Join(scratch, "cache"), goGuest},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := c.spec(b)
			for b.Loop() {
				rt, err := plugin.NewRuntime(b.Context(), plugin.RuntimeOptions{CacheDir: c.cache})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := rt.Load(b.Context(), s); err != nil {
					b.Fatal(err)
				}
				rt.Close(b.Context())
			}
		})
	}
}
