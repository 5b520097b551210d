//go:build !wasip1 && !tinygo.wasm

package alineo_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/alineo-labs/alineo-host/abi"
)

// buildGuest compiles a guest under testdata with the command of the package comment.
func buildGuest(t testing.TB, name string) []byte {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles a guest")
	}
	out := filepath.Join(t.TempDir(), name+".wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", out, "./testdata/"+name)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building guest: %v\n%s", err, text)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s.wasm: %d bytes", name, len(wasm))
	return wasm
}

// wasmHost runs a guest with the three host functions of the ABI.
type wasmHost struct {
	mod    api.Module
	buffer api.Function
	call   api.Function
	asked  []abi.SQLExec
	answer []byte // response that take will copy
	logs   []string
}

func startGuest(t testing.TB, wasm []byte) *wasmHost {
	t.Helper()
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithMemoryLimitPages(1024))
	t.Cleanup(func() {
		if err := runtime.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	wasi_snapshot_preview1.MustInstantiate(ctx, runtime)
	h := new(wasmHost)
	_, err := runtime.NewHostModuleBuilder(abi.HostModule).
		NewFunctionBuilder().WithFunc(h.hostCall).Export(abi.ImportCall).
		NewFunctionBuilder().WithFunc(func(_ context.Context, m api.Module, ptr uint32) {
		m.Memory().Write(ptr, h.answer)
		h.answer = nil
	}).Export(abi.ImportTake).
		NewFunctionBuilder().WithFunc(func(_ context.Context, m api.Module, level, ptr, size uint32) {
		line, _ := m.Memory().Read(ptr, size)
		h.logs = append(h.logs, string('0'+rune(level))+" "+string(line))
	}).Export(abi.ImportLog).
		Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	h.mod, err = runtime.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithStartFunctions(abi.ExportInitialize))
	if err != nil {
		t.Fatal(err)
	}
	h.buffer, h.call = h.mod.ExportedFunction(abi.ExportBuffer), h.mod.ExportedFunction(abi.ExportCall)
	return h
}

// hostCall answers every sql.exec with one inline row: its first parameter.
func (h *wasmHost) hostCall(_ context.Context, m api.Module, op, ptr, size uint32) uint64 {
	view, _ := m.Memory().Read(ptr, size)
	var program abi.SQLExec
	if err := program.Unmarshal([]byte(string(view))); err != nil || abi.Op(op) != abi.OpSQLExec {
		h.answer = (&abi.Error{Code: abi.CodeInvalid}).AppendTo(nil)
		return uint64(abi.CodeInvalid)<<32 | uint64(len(h.answer))
	}
	h.asked = append(h.asked, program)
	if !program.ReadOnly {
		h.answer = (&abi.Error{Code: abi.CodeDenied, Message: "read only", Details: map[string]string{abi.DetailStep: "0"}}).AppendTo(nil)
		return uint64(abi.CodeDenied)<<32 | uint64(len(h.answer))
	}
	row := abi.NewTableWriter(nil, 1)
	row.Value(program.Steps[0].Params[0].Value)
	h.answer = (&abi.SQLExecReply{Steps: []abi.SQLStepResult{{RowCount: 1, Rows: row.Bytes()}}}).AppendTo(nil)
	return uint64(len(h.answer))
}

// do calls the guest as the host does.
func (h *wasmHost) do(t testing.TB, op abi.Op, body []byte) ([]byte, error) {
	t.Helper()
	ctx := context.Background()
	req := (&abi.Request{CallID: 1, Body: body}).AppendTo(nil)
	ptr, err := h.buffer.Call(ctx, uint64(len(req)))
	if err != nil {
		t.Fatal(err)
	}
	if !h.mod.Memory().Write(uint32(ptr[0]), req) {
		t.Fatal("the guest's buffer lies outside of its memory")
	}
	packed, err := h.call.Call(ctx, uint64(op), uint64(len(req)))
	if err != nil {
		t.Fatalf("%s: %v", op, err)
	}
	frame, ok := h.mod.Memory().Read(uint32(packed[0]>>32), uint32(packed[0]))
	if !ok {
		t.Fatal("the guest's frame lies outside of its memory")
	}
	return abi.ParseFrame([]byte(string(frame)))
}

func TestGuestInWebAssembly(t *testing.T) {
	t.Parallel()
	h := startGuest(t, buildGuest(t, "echo"))

	exports := map[string]string{}
	for name, f := range h.mod.ExportedFunctionDefinitions() {
		exports[name] = signature(f)
	}
	want := map[string]string{
		abi.ExportMarker: "()->()", abi.ExportBuffer: "(i32)->i32", abi.ExportCall: "(i32,i32)->i64", abi.ExportInitialize: "()->()",
	}
	for name, sig := range want {
		if exports[name] != sig {
			t.Errorf("export %s is %q, want %q", name, exports[name], sig)
		}
		delete(exports, name)
	}
	for name, sig := range exports {
		t.Errorf("unwanted export %s %s", name, sig)
	}
	if h.mod.ExportedMemory(abi.ExportMemory) == nil {
		t.Errorf("%s is not exported", abi.ExportMemory)
	}

	body, err := h.do(t, abi.OpDescribe, nil)
	var manifest abi.Manifest
	if err == nil {
		err = manifest.Unmarshal(body)
	}
	if err != nil || manifest.Name != "echo" || manifest.Version != "1.0.0" || len(manifest.Kinds) != 0 {
		t.Errorf("describe: %+v, %v", manifest, err)
	}
	for _, size := range []int{0, 1, 256, 5 << 20, 3} {
		text := strings.Repeat("e", size)
		if body, err := h.do(t, abi.OpEcho, []byte(text)); err != nil || string(body) != text {
			t.Errorf("echo of %d bytes: %d bytes, %v", size, len(body), err)
		}
	}
	if _, err := h.do(t, abi.OpConfigure, (&abi.ConfigureRequest{Config: "{}"}).AppendTo(nil)); err != nil {
		t.Errorf("configure: %v", err)
	}
	if got := strings.Join(h.logs, "|"); got != "3 configured with {}" {
		t.Errorf("log lines %q", got)
	}

	var e *abi.Error
	if _, err := h.do(t, abi.OpHealth, nil); !errors.As(err, &e) || e.Code != abi.CodeInternal || !strings.Contains(e.Message, "not feeling well") {
		t.Errorf("health of a plugin that panics: %v", err)
	}
	if _, err := h.do(t, abi.OpClose, nil); !errors.As(err, &e) || e.Code != abi.CodeDenied || e.Details[abi.DetailStep] != "0" {
		t.Errorf("close: %v, want the host's own error", err)
	}
	if len(h.asked) != 3 || h.asked[0].Database != "notes" || h.asked[1].Steps[0].SQL != "SELECT 2" {
		t.Errorf("the host was asked %+v", h.asked)
	}
	for _, op := range []abi.Op{abi.OpLedgerOpen, 0x7fff, 0} {
		if _, err := h.do(t, op, nil); !errors.As(err, &e) || e.Code != abi.CodeUnsupported {
			t.Errorf("%s: %v, want unsupported", op, err)
		}
	}
}

func signature(f api.FunctionDefinition) string {
	names := func(types []api.ValueType) string {
		var s []string
		for _, v := range types {
			s = append(s, api.ValueTypeName(v))
		}
		return strings.Join(s, ",")
	}
	results := names(f.ResultTypes())
	if results == "" {
		results = "()"
	}
	return "(" + names(f.ParamTypes()) + ")->" + results
}

// BenchmarkEchoInWebAssembly is a whole call: request into the guest, echo, frame out.
func BenchmarkEchoInWebAssembly(b *testing.B) {
	h := startGuest(b, buildGuest(b, "echo"))
	ctx := context.Background()
	req := (&abi.Request{CallID: 1, DeadlineMS: 5000, Body: make([]byte, 256)}).AppendTo(nil)
	var stack [2]uint64
	for b.Loop() {
		stack[0] = uint64(len(req))
		if err := h.buffer.CallWithStack(ctx, stack[:]); err != nil {
			b.Fatal(err)
		}
		h.mod.Memory().Write(uint32(stack[0]), req)
		stack[0], stack[1] = uint64(abi.OpEcho), uint64(len(req))
		if err := h.call.CallWithStack(ctx, stack[:]); err != nil {
			b.Fatal(err)
		}
		frame, _ := h.mod.Memory().Read(uint32(stack[0]>>32), uint32(stack[0]))
		if _, err := abi.ParseFrame(frame); err != nil {
			b.Fatal(err)
		}
	}
}

// TestGuestsStaySmall keeps what weighs most in a guest out of the SDK.
func TestGuestsStaySmall(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("go", "list", "-deps", ".")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.FieldsSeq(string(out)) {
		switch dep {
		case "fmt", "reflect", "encoding/json", "encoding/binary", "time", "os", "regexp":
			t.Errorf("the SDK imports %s", dep)
		}
	}
}
