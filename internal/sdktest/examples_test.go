//go:build !race

// The modules are the same under the race detector, and compiling them takes it minutes.

package sdktest_test

import (
	"runtime"
	"testing"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
)

// TestExamples runs the suite against the example plugin of each language, as `plugin test` does.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, l := range languages() {
		if l.example == "" {
			continue // it is tried in a test of its own
		}
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			file := l.module(t, l.example)
			report, err := host.TestPlugin(t.Context(), config.Default(), file, host.PluginTest{
				Rounds: 1, Parallel: runtime.GOMAXPROCS(0), Dir: t.TempDir(),
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range report.Cases {
				if c.Status == host.PluginTestFailed {
					t.Errorf("%s: %v %s", c.Name, c.Messages, c.Failure)
				}
			}
			const fewest = 80
			if report.Passed < fewest {
				t.Errorf("only %d cases ran", report.Passed)
			}
		})
	}
}
