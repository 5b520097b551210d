package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/internal/testcache"
)

// TestProgram builds the program and runs it in an empty folder, as its README says.
func TestProgram(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "embed") //nolint:usetesting // its sockets need a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "embed-go")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	const token = "token-of-the-example"
	run := exec.CommandContext(t.Context(), program)
	run.Dir = dir
	run.Env = append(os.Environ(), "API_TOKEN="+token, "XDG_DATA_HOME="+dir, "XDG_CACHE_HOME="+testcache.Home())
	text, err := run.CombinedOutput()
	out := string(text)
	if err != nil && strings.Contains(out, "embed-go: opening the engine: ") {
		t.Skipf("SKIPPED: this machine can run no sandbox: %s", out)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	wanted := []string{"hello from ", "sandbox.created", "exec.completed", "example.greeted"}
	if !strings.Contains(out, "no credentials: ") {
		wanted = append(wanted, "credential api is bound for [api.example.com], in the sidecar: true, in the ledger: true", "credential.bound")
	}
	for _, want := range wanted {
		if !strings.Contains(out, want) {
			t.Errorf("the program does not say %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, token) {
		t.Errorf("the program shows the token:\n%s", out)
	}
}
