package plugintest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/internal/plugintest"
)

// try runs the cases of a guest whose names begin with a prefix.
func try(t *testing.T, file, prefix string, limits plugin.Limits) plugintest.Report {
	t.Helper()
	wasm, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(wasm)
	report, err := plugintest.Run(t.Context(), plugintest.Options{
		Name: "guest", Wasm: wasm, SHA256: hex.EncodeToString(sum[:]), Limits: limits, Dir: t.TempDir(), Parallel: 2,
		Match: func(name string) bool { return strings.HasPrefix(name, prefix) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func byName(report plugintest.Report, name string) plugintest.Case {
	i := slices.IndexFunc(report.Cases, func(c plugintest.Case) bool { return c.Name == name })
	if i < 0 {
		return plugintest.Case{}
	}
	return report.Cases[i]
}

// TestSloppyGuest: a guest that answers everything with nothing is caught by what is asked of any plugin.
func TestSloppyGuest(t *testing.T) {
	t.Parallel()
	report := try(t, filepath.Join("testdata", "guests", "sloppy", "sloppy.wasm"), "plugin/", plugin.Limits{})
	for name, want := range map[string]string{
		"plugin/manifest": `it wants log "" and gives no reason`,
		"plugin/echo":     "echo of 1 bytes answers with 0 other bytes",
		"plugin/unknown":  `operation 0xfff: the answer is a reply, want the guest's error "unsupported"`,
		"plugin/garbage":  `ledger.append with`,
		"plugin/optional": `runs.claim, which is not listed: the answer is a reply`,
		"plugin/describe": "", "plugin/schema": "", "plugin/memory": "",
	} {
		c := byName(report, name)
		text := strings.Join(c.Messages, "\n")
		switch {
		case want == "" && c.Status != plugintest.Passed:
			t.Errorf("%s %s: %s", name, c.Status, text)
		case want != "" && (c.Status != plugintest.Failed || !strings.Contains(text, want)):
			t.Errorf("%s %s: %s\nwant %q", name, c.Status, text, want)
		}
	}
}

// TestHostileGuests: whatever a guest does, its cases fail with the host's error, and the rest goes on.
func TestHostileGuests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ guest, failure, prefix string }{
		{"trap", "trap", ""},
		{"spin", "deadline", ""},
		{"hungry", "too_large", "append/n"}, // each of its calls takes 64 MiB
	} {
		t.Run(c.guest, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join("..", "adapter", "testdata", "guests", c.guest, c.guest+".wasm")
			limits := plugin.Limits{Deadline: time.Minute}
			if c.guest == "spin" { // the others end by themselves
				limits.Deadline = 200 * time.Millisecond
			}
			report := try(t, file, c.prefix, limits)
			if null := byName(report, "append/null"); null.Status != plugintest.Failed || null.Failure != c.failure {
				t.Errorf("append/null is %+v, want it to fail by %s", null, c.failure)
			}
			if c.prefix != "" {
				return
			}
			if manifest := byName(report, "plugin/manifest"); manifest.Status != plugintest.Passed {
				t.Errorf("plugin/manifest is %+v", manifest)
			}
			if len(report.Cases) != len(plugintest.List()) || report.Failed == 0 {
				t.Errorf("%d cases, %d failed, %d not run", len(report.Cases), report.Failed, report.NotRun)
			}
			if c.guest == "spin" && report.NotRun < 50 {
				t.Errorf("after some cases without an answer %d were still run", len(report.Cases)-report.NotRun)
			}
		})
	}
}
