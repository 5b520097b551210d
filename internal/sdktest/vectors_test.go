//go:build !race

// The modules are the same under the race detector, and compiling them takes it minutes.

package sdktest_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// Answers of a module's recode.
const (
	answerEncoded = 0
	answerRefused = 1
	answerUnknown = 2
)

// TestVectors has each SDK decode and encode what abi/testdata/vectors holds.
func TestVectors(t *testing.T) {
	t.Parallel()
	for _, l := range languages() {
		if l.vectors == "" {
			continue // package abi tries them itself
		}
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			m := instantiate(t, l.module(t, l.vectors))
			for _, v := range vectors(t, "messages.json") {
				m.expect(t, v.Name, v.Message, v.Hex, v.Hex)
			}
			for _, v := range vectors(t, "lenient.json") {
				m.expect(t, v.Name, v.Message, v.Hex, v.Canonical)
			}
			for _, v := range vectors(t, "tables.json") {
				m.expect(t, v.Name, "table", v.Hex, v.Hex)
			}
			refused := 0
			for _, v := range vectors(t, "malformed.json") {
				if v.Message == "frame" {
					continue // a guest writes frames and reads none
				}
				if status, _ := m.recode(t, v.Message, v.Hex); status != answerRefused {
					t.Errorf("%s %q: answer %d, want it refused", v.Message, v.Name, status)
				}
				refused++
			}
			if refused == 0 {
				t.Error("there was nothing to refuse")
			}
		})
	}
}

type vector struct {
	Name      string `json:"name"`
	Message   string `json:"message"`
	Hex       string `json:"hex"`
	Canonical string `json:"canonical"`
}

func vectors(t *testing.T, file string) []vector {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "abi", "testdata", "vectors", file))
	if err != nil {
		t.Fatal(err)
	}
	var list []vector
	if err := json.Unmarshal(text, &list); err != nil || len(list) == 0 {
		t.Fatalf("%s has %d vectors: %v", file, len(list), err)
	}
	return list
}

// recoder is an instance of a module for the vectors.
type recoder struct{ api.Module }

func instantiate(t *testing.T, file string) recoder {
	t.Helper()
	wasm, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	rt := wazero.NewRuntime(ctx)
	t.Cleanup(func() {
		if err := rt.Close(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	wasi_snapshot_preview1.MustInstantiate(ctx, rt)
	host := rt.NewHostModuleBuilder("alineo_v1")
	host.NewFunctionBuilder().WithFunc(func(context.Context, uint32, uint32, uint32) uint64 { return 0 }).Export("call")
	host.NewFunctionBuilder().WithFunc(func(context.Context, uint32) {}).Export("take")
	host.NewFunctionBuilder().WithFunc(func(context.Context, uint32, uint32, uint32) {}).Export("log")
	if _, err := host.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	m, err := rt.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithStartFunctions("_initialize"))
	if err != nil {
		t.Fatal(err)
	}
	return recoder{m}
}

// recode has the module decode bytes as a message, and encode them again.
func (m recoder) recode(t *testing.T, message, hexBytes string) (status byte, encoded []byte) {
	t.Helper()
	wire, err := hex.DecodeString(hexBytes)
	if err != nil {
		t.Fatal(err)
	}
	request := append(append([]byte(message), 0), wire...)
	at, err := m.ExportedFunction("alineo_buffer").Call(t.Context(), uint64(len(request)))
	if err != nil || !m.Memory().Write(uint32(at[0]), request) {
		t.Fatalf("writing a request of %d bytes: %v", len(request), err)
	}
	packed, err := m.ExportedFunction("recode").Call(t.Context(), uint64(len(request)))
	if err != nil {
		t.Fatalf("%s: %v", message, err)
	}
	answer, ok := m.Memory().Read(uint32(packed[0]>>32), uint32(packed[0]))
	if !ok || len(answer) == 0 {
		t.Fatalf("%s: the answer is out of memory, or empty", message)
	}
	return answer[0], bytes.Clone(answer[1:])
}

func (m recoder) expect(t *testing.T, name, message, wire, want string) {
	t.Helper()
	switch status, got := m.recode(t, message, wire); {
	case status == answerUnknown:
		t.Errorf("%s is unknown", message)
	case status != answerEncoded:
		t.Errorf("%s %q was refused", message, name)
	case hex.EncodeToString(got) != want:
		t.Errorf("%s %q: encoded as %x, want %s", message, name, got, want)
	}
}
