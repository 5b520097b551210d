package tanstackstores_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/serve"
)

const token = "t0ken-of-the-example"

func TestMain(m *testing.M) {
	host.Init() // this binary is also its sandboxes' shims and inits
	os.Exit(m.Run())
}

// leftOut leaves the test out, and says so where nobody misses it.
func leftOut(t *testing.T, why string) {
	t.Helper()
	fmt.Fprintf(os.Stderr, "\n*** LEFT OUT: %s: %s\n\n", t.Name(), why)
	t.Skip("LEFT OUT: " + why)
}

// installed is where scripts/tanstack-stores.sh put the packages, if they are what the lock file says.
func installed(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "bin", "tanstack-stores"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "package-lock.json")); err != nil || !bytes.Equal(got, want) {
		leftOut(t, "the packages that package-lock.json names are not installed: run scripts/tanstack-stores.sh")
	}
	if _, err := exec.LookPath("node"); err != nil {
		leftOut(t, "there is no node")
	}
	return dir
}

// build compiles the example against the packages' own types, and returns where the programs are.
func build(t *testing.T, packages string) string {
	t.Helper()
	at := t.TempDir()
	for _, name := range []string{"stores.ts", "check.ts", "tsconfig.json", "package.json"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(packages, "node_modules"), filepath.Join(at, "node_modules")); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "node", filepath.Join(packages, "node_modules", "typescript", "bin", "tsc"), "-p", at).CombinedOutput()
	if err != nil {
		t.Fatalf("the types don't fit: %v\n%s", err, out)
	}
	return at
}

// daemon serves a SQLite file of its own and returns where.
func daemon(t *testing.T) string {
	t.Helper()
	data, err := os.MkdirTemp("", "alineo-stores-*") //nolint:usetesting // below the test's own, sockets' paths are too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(data) })
	cfg, err := host.LoadConfig(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Engine.Data = data
	db := cfg.Plugins["sqlite"]
	ledger := db.SQL["ledger"]
	ledger.Path = filepath.Join(t.TempDir(), "ledger.db")
	db.SQL["ledger"] = ledger
	for _, f := range host.Doctor(t.Context(), cfg) {
		if f.Area == "engine" && f.Fatal {
			leftOut(t, "this machine can run no sandbox: "+f.Name+": "+f.Detail)
		}
	}
	h, err := host.Open(t.Context(), cfg, host.WithLogger(hclog.New(&hclog.LoggerOptions{Output: t.Output(), Level: hclog.Info})))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	address, ended := make(chan net.Addr, 1), make(chan error, 1)
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serving: %v", err)
		}
		closing, done := context.WithTimeout(context.Background(), time.Minute)
		defer done()
		if err := h.Close(closing); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	runs, err := h.Runs(t.Context())
	if err == nil {
		var s *serve.Server
		if s, err = serve.New(serve.Options{Runs: runs, Address: "127.0.0.1:0", Token: token}); err == nil {
			go func() { ended <- s.Listen(ctx, func(a net.Addr) { address <- a }) }()
			select {
			case a := <-address:
				return "http://" + a.String()
			case err = <-ended:
			}
		}
	}
	ended <- nil
	t.Fatal(err)
	return ""
}

// TestStores does the same to TanStack's stores in memory and to the daemon's.
func TestStores(t *testing.T) {
	t.Parallel()
	at := build(t, installed(t))
	check := exec.CommandContext(t.Context(), "node", filepath.Join(at, "check.js"), daemon(t), token)
	var stderr bytes.Buffer
	check.Stderr = &stderr
	out, err := check.Output()
	if err != nil {
		t.Errorf("the check ended with %v\n%s", err, stderr.String())
	}
	steps := 0
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); steps++ {
		var step struct{ Step, Error string }
		if err := json.Unmarshal(lines.Bytes(), &step); err != nil {
			t.Errorf("the check printed %q", lines.Text())
			continue
		}
		if step.Error != "" {
			t.Errorf("%s: %s", step.Step, strings.TrimSpace(step.Error))
		}
	}
	const least = 19
	if steps < least {
		t.Errorf("the check has %d steps, and had at least %d\n%s", steps, least, stderr.String())
	}
}
