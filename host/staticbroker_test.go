package host_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
)

// TestExampleBroker builds the example as its README says, and runs every rule for brokers against it.
func TestExampleBroker(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), filepath.Join("..", "examples", "broker-static-go", "build.sh"), dir)
	build.Env = append(os.Environ(), "GOOS=", "GOARCH=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cfg, err := config.Load("")
	if err != nil {
		t.Fatal(err)
	}
	report, err := host.TestPlugin(t.Context(), cfg, filepath.Join(dir, "broker-static.wasm"), host.PluginTest{
		References: map[string]string{"static:github-token": "github-token", "static:other": "other"},
		Parallel:   8, CallDeadline: time.Minute, Dir: dir,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Cases {
		if c.Status == host.PluginTestFailed || c.Status == host.PluginTestNotRun && c.Name != "resolve/undeclared" {
			t.Errorf("%s: %s: %q", c.Name, c.Status, c.Messages)
		}
	}
	if want := len(host.PluginTestBrokerCases()); report.Passed != want-1 {
		t.Errorf("%d of %d cases passed", report.Passed, want)
	}
}
