package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Memory of instances that never came to life is given back, like that of others.
func TestMemoryIsGivenBack(t *testing.T) {
	rt, err := NewRuntime(t.Context(), RuntimeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wasm, err := os.ReadFile("testdata/hazard/trap-start.wasm")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(wasm)
	spec := Spec{
		Name: "guest", Wasm: wasm, SHA256: hex.EncodeToString(sum[:]),
		Limits: Limits{MemoryBytes: 1 << 30},
	}
	before := reserved(t)
	for range 20 {
		if _, err := rt.Load(t.Context(), spec); !IsKind(err, KindStart) {
			t.Fatal(err)
		}
	}
	if grown := reserved(t) - before; grown > 5<<30 {
		t.Errorf("%d bytes of addresses are still taken", grown)
	}
	if err := rt.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// reserved is the size of the address space of this process, in bytes.
func reserved(t *testing.T) int64 {
	t.Helper()
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc: ", err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(statm))[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
