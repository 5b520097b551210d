package plugin_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/internal/span"
)

// hostFunc is a Host that grants everything.
type hostFunc func(ctx context.Context, call *capability.Call, op abi.Op, req, dst []byte) ([]byte, *abi.Error)

func (f hostFunc) Handle(ctx context.Context, call *capability.Call, op abi.Op, req, dst []byte) ([]byte, *abi.Error) {
	return f(ctx, call, op, req, dst)
}

func (hostFunc) Granted(abi.Want) error { return nil }

// index panics when there is nothing.
func index(failures []*abi.Error) *abi.Error { return failures[0] }

// rows is a table of one column.
type rows []string

func (r rows) Len() int                 { return len(r) }
func (r rows) Columns() int             { return 1 }
func (r rows) Value(i, _ int) abi.Value { return abi.Text(r[i]) }

// A capability call goes to what the plugin was granted and back, and names what the caller lent.
func TestCapabilityCall(t *testing.T) {
	t.Parallel()
	s := spec(t, "guest/echo")
	s.Caps = capability.NewSet(capability.SetOptions{Plugin: "guest"})
	p := load(t, s)
	var call capability.Call
	req := abi.BatchRead{Handle: call.Put(rows{"first", "second"})}
	var reply abi.BatchRows
	if err := p.Call(t.Context(), abi.OpBatchRead, &req, &call, &reply); err != nil {
		t.Fatal(err)
	}
	table, err := abi.ParseTable(reply.Table)
	if err != nil || table.Len() != 2 || table.Value(1, 0).String() != "second" {
		t.Errorf("table %+v, %v", table, err)
	}
	// Handles die with their call.
	err = p.Call(t.Context(), abi.OpBatchRead, &req, nil, &reply)
	var guest *abi.Error
	if !errors.As(err, &guest) || guest.Code != abi.CodeNotFound {
		t.Errorf("a handle of an earlier call: %v", err)
	}
	err = p.Call(t.Context(), abi.OpSQLExec, &abi.SQLExec{Database: "other"}, nil, nil)
	if !errors.As(err, &guest) || guest.Code != abi.CodeDenied {
		t.Errorf("a database that was not granted: %v", err)
	}
}

func TestNothingGranted(t *testing.T) {
	t.Parallel()
	err := load(t, spec(t, "guest/echo")).Call(t.Context(), abi.OpSQLExec, nil, nil, nil)
	var guest *abi.Error
	if !errors.As(err, &guest) || guest.Code != abi.CodeDenied {
		t.Errorf("error %v, want denied", err)
	}
}

// A host function that waits is given the call's context, and the call ends in time.
func TestBlockedHostFunction(t *testing.T) {
	const deadline = 100 * time.Millisecond
	s := spec(t, "guest/echo")
	s.Limits.Deadline = deadline
	s.Caps = hostFunc(func(ctx context.Context, _ *capability.Call, _ abi.Op, _, dst []byte) ([]byte, *abi.Error) {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("there is no deadline")
		}
		<-ctx.Done()
		return dst, &abi.Error{Code: abi.CodeDeadline, Message: ctx.Err().Error()}
	})
	p := load(t, s)
	inTime(t, deadline, func() {
		err := p.Call(t.Context(), abi.OpSQLExec, nil, nil, nil)
		expect(t, err, plugin.KindDeadline, abi.OpSQLExec, "the guest did not finish within 100ms")
	})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	err := p.Call(ctx, abi.OpSQLExec, nil, nil, nil)
	expect(t, err, plugin.KindCanceled, abi.OpSQLExec, "the caller gave up")
}

// A context that a capability kept does not come to life again with the next call.
func TestContextEndsWithCall(t *testing.T) {
	t.Parallel()
	var kept []context.Context
	s := spec(t, "guest/echo")
	s.Caps = hostFunc(func(ctx context.Context, _ *capability.Call, _ abi.Op, _, dst []byte) ([]byte, *abi.Error) {
		if len(kept) == 0 {
			ctx.Done()
		}
		kept = append(kept, ctx)
		return append(dst, "ok"...), nil
	})
	p := load(t, s)
	type key struct{}
	for range 2 {
		ctx := context.WithValue(t.Context(), key{}, "value")
		var reply text
		if err := p.Call(ctx, abi.OpSQLExec, nil, nil, &reply); err != nil || string(reply) != "ok" {
			t.Fatalf("%q, %v", reply, err)
		}
	}
	if kept[0] == kept[1] {
		t.Error("two calls have one context")
	}
	if kept[0].Value(key{}) != "value" {
		t.Error("the caller's values are gone")
	}
	for i, ctx := range kept {
		select {
		case <-ctx.Done():
		default:
			t.Errorf("context %d is not done", i)
		}
	}
}

// A reply that the guest may not have is an error to it, not to the caller.
func TestReplyTooLarge(t *testing.T) {
	t.Parallel()
	s := spec(t, "guest/echo")
	s.Limits.MaxRequest = 1000
	s.Caps = hostFunc(func(_ context.Context, _ *capability.Call, _ abi.Op, _, dst []byte) ([]byte, *abi.Error) {
		return append(dst, make([]byte, 1001)...), nil
	})
	p := load(t, s)
	err := p.Call(t.Context(), abi.OpSQLExec, nil, nil, nil)
	var guest *abi.Error
	if !errors.As(err, &guest) || guest.Code != abi.CodeResourceExhausted {
		t.Errorf("error %v, want resource_exhausted", err)
	}
	big := text(make([]byte, 1001))
	err = p.Call(t.Context(), abi.OpEcho, &big, nil, nil)
	expect(t, err, plugin.KindTooLarge, abi.OpEcho, "limits.max_request allows 1000")
	if info := p.Info(); info.Crashes != 0 || info.Instances != 1 {
		t.Errorf("info %+v", info)
	}
}

// A panic of a host function is this call's failure and nobody else's.
func TestHostFunctionPanics(t *testing.T) {
	t.Parallel()
	s := spec(t, "guest/echo")
	s.Caps = hostFunc(func(context.Context, *capability.Call, abi.Op, []byte, []byte) ([]byte, *abi.Error) {
		return nil, index(nil)
	})
	p := load(t, s)
	err := p.Call(t.Context(), abi.OpSQLExec, nil, nil, nil)
	expect(t, err, plugin.KindTrap, abi.OpSQLExec, "a host function failed in alineo_call: runtime error: index out of range [0] with length 0")
	if err := p.Call(t.Context(), abi.OpEcho, nil, nil, nil); err != nil {
		t.Error(err)
	}
}

func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	var log logBuffer
	rt := newRuntime(t, plugin.RuntimeOptions{Logger: log.logger()})
	s := spec(t, "hazard/call")
	s.Limits.LogPerSecond, s.Limits.Deadline = 10, 300*time.Millisecond
	p, err := rt.Load(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for _, op := range []abi.Op{0x114, 0x115} { // by log, and to standard error
		expect(t, p.Call(t.Context(), op, nil, nil, nil), plugin.KindDeadline, op, "did not finish")
	}
	if n := strings.Count(log.String(), "log line of a guest: plugin=guest\n"); n == 0 || n > 10*(2+int(time.Since(began)/time.Second)) {
		t.Errorf("%d lines:\n%s", n, log.String())
	}
	if p.Info().Dropped < 100 {
		t.Errorf("%d lines were dropped", p.Info().Dropped)
	}
}

var buildGo = sync.OnceValues(func() ([]byte, error) {
	out := filepath.Join(scratch, "goguest.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-o", out, "./testdata/goguest")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=", "GOWASM=", "GOEXPERIMENT=")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building Go guest: %w\n%s", err, text)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	return wasm, warm(wasm)
})

// warm compiles a guest once, so that tests beside each other do not do it each.
func warm(wasm []byte) error {
	ctx := context.Background()
	rt, err := plugin.NewRuntime(ctx, plugin.RuntimeOptions{CacheDir: filepath.Join(scratch, "cache")})
	if err != nil {
		return err
	}
	_, err = rt.Load(ctx, plugin.Spec{
		Name: "guest", Wasm: wasm, SHA256: digest(wasm), Config: []byte(`{"mode": ""}`),
		Limits: plugin.Limits{StartDeadline: time.Minute},
	})
	return errors.Join(err, rt.Close(ctx))
}

// goSpec pins a guest of the standard toolchain.
func goSpec(tb testing.TB, config string) plugin.Spec {
	tb.Helper()
	if testing.Short() {
		tb.Skip("building a Go guest takes seconds")
	}
	wasm, err := buildGo()
	if err != nil {
		tb.Fatal(err)
	}
	return plugin.Spec{
		Name: "guest", Wasm: wasm, SHA256: digest(wasm), Config: []byte(config), HostVersion: "1.0.0",
		Limits: plugin.Limits{StartDeadline: time.Minute},
	}
}

// What a guest of the standard toolchain sees: clocks, random, its log, and nothing of the machine.
func TestWorld(t *testing.T) {
	t.Parallel()
	var log logBuffer
	rt := newRuntime(t, plugin.RuntimeOptions{Logger: log.logger(), CacheDir: filepath.Join(scratch, "cache")})
	p, err := rt.Load(t.Context(), goSpec(t, `{"mode": "world"}`))
	if err != nil {
		t.Fatal(err)
	}
	var reply abi.HealthReply
	if err := p.Call(t.Context(), abi.OpHealth, nil, nil, &reply); err != nil {
		t.Fatal(err)
	}
	if want := "goroutines work; 0 arguments, 0 variables"; reply.Message != want {
		t.Errorf("health %q, want %q", reply.Message, want)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		"[INFO]  to standard output: plugin=guest\n", "[INFO]  in two lines: plugin=guest\n",
		"[WARN]  to standard error, without an end: plugin=guest\n",
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, log.String())
		}
	}
}

// A guest is told in which span its call is.
func TestGuestIsToldItsSpan(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	rt := newRuntime(t, plugin.RuntimeOptions{Tracer: span.New(provider), CacheDir: filepath.Join(scratch, "cache")})
	p, err := rt.Load(t.Context(), goSpec(t, `{"mode": "trace"}`))
	if err != nil {
		t.Fatal(err)
	}
	var reply abi.HealthReply
	if err := p.Call(t.Context(), abi.OpHealth, nil, nil, &reply); err != nil {
		t.Fatal(err)
	}
	ended := recorder.Ended()
	last := ended[len(ended)-1]
	if want := span.Traceparent(trace.ContextWithSpanContext(t.Context(), last.SpanContext())); reply.Message != want || last.Name() != "plugin.call" {
		t.Errorf("the guest was told %q, the span %s is %q", reply.Message, last.Name(), want)
	}
	if list := last.Attributes(); len(list) != 2 || list[0].Value.AsString() != "guest" || list[1].Value.AsString() != "health" {
		t.Errorf("attributes %v", list)
	}
}

// What the Go runtime does when it is at its end.
func TestGoGuestEnds(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]struct {
		kind plugin.Kind
		text string
	}{
		"exit":     {plugin.KindTrap, "the guest exited with code 3"},
		"eat":      {plugin.KindMemory, "it was refused memory beyond limits.memory, which is 1024 pages"},
		"deadlock": {plugin.KindTrap, "the guest "},
		"sleep":    {plugin.KindDeadline, "did not finish within 500ms"},
		"recurse":  {plugin.KindMemory, "it was refused memory beyond limits.memory"}, // a stack is memory like any other
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := goSpec(t, `{"mode": "`+mode+`"}`)
			s.Limits.Deadline = 30 * time.Second
			if want.kind == plugin.KindDeadline {
				s.Limits.Deadline = 500 * time.Millisecond
			}
			rt := newRuntime(t, plugin.RuntimeOptions{CacheDir: filepath.Join(scratch, "cache")})
			p, err := rt.Load(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			err = p.Call(t.Context(), abi.OpHealth, nil, nil, nil)
			expect(t, err, want.kind, abi.OpHealth, want.text)
			var e *plugin.Error
			if errors.As(err, &e) && mode != "exit" && (!strings.Contains(e.Trace, "runtime.") || strings.Contains(e.Trace, "\t")) {
				t.Errorf("the trace names no function, or is indented:\n%s", e.Trace)
			}
		})
	}
}

// answerNothing answers every capability call with the empty message.
func answerNothing(_ context.Context, _ *capability.Call, _ abi.Op, _, dst []byte) ([]byte, *abi.Error) {
	return dst, nil
}
