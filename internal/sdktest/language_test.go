//go:build !race

// The modules are the same under the race detector, and compiling them takes it minutes.

package sdktest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// language is one SDK.
type language struct {
	name    string
	build   string // the script that makes a module: OUT SOURCE
	vectors string // source of the module for the golden vectors
	hazards string // source of a ledger that makes mistakes
}

func languages() []language {
	return []language{
		{
			name: "go", build: "../internal/sdktest/testdata/go.sh", hazards: "internal/sdktest/testdata/hazards/go/main.go",
		},
		{
			name: "rust", build: "sdk-rust.sh", vectors: "sdk/rust/vectors/lib.rs", hazards: "internal/sdktest/testdata/hazards/rust/lib.rs",
		},
		{
			name: "c", build: "sdk-c.sh", vectors: "sdk/c/vectors/vectors.c", hazards: "internal/sdktest/testdata/hazards/c/main.c",
		},
		{
			name: "assemblyscript", build: "sdk-as.sh", vectors: "sdk/assemblyscript/vectors/vectors.ts", hazards: "internal/sdktest/testdata/hazards/assemblyscript/plugin.ts",
		},
		{
			name: "zig", build: "sdk-zig.sh", vectors: "sdk/zig/vectors/vectors.zig", hazards: "internal/sdktest/testdata/hazards/zig/plugin.zig",
		},
	}
}

// noCompiler is how a build script ends when its compiler is missing.
const noCompiler = 3

// module builds a source below the repository's root.
func (l language) module(t testing.TB, source string) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), strings.ReplaceAll(l.name, " ", "-")+".wasm")
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "scripts", l.build), out, filepath.Join(root, filepath.FromSlash(source)))
	text, err := cmd.CombinedOutput()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok && failed.ExitCode() == noCompiler {
		why := strings.TrimSpace(string(text))
		fmt.Fprintf(os.Stderr, "\n*** LEFT OUT: %s: %s\n\n", t.Name(), why)
		t.Skip("LEFT OUT: " + why)
	}
	if err != nil {
		t.Fatalf("building %s: %v\n%s", source, err, text)
	}
	return out
}

func digest(t testing.TB, file string) string {
	t.Helper()
	wasm, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}
