//go:build !race

package sdktest_test

import (
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
)

// TestBrokers runs every rule for brokers against one in each language.
func TestBrokers(t *testing.T) {
	t.Parallel()
	for _, l := range languages() {
		if l.broker == "" {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			report, err := host.TestPlugin(t.Context(), config.Default(), l.module(t, l.broker), host.PluginTest{
				References: map[string]string{"static:github-token": "github-token", "static:other": "other"},
				Rounds:     1, Parallel: 8, CallDeadline: time.Minute, Dir: t.TempDir(),
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
		})
	}
}
