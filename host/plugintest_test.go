package host_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
)

// wrongLedger is the bundled SQLite ledger with a fault that its configuration names.
var wrongLedger = filepath.Join("..", "plugins", "internal", "wrongledger", "wrongledger.wasm")

// cannotFail are cases that no guest can fail, and why.
var cannotFail = map[string]string{
	"append/empty":     "the host does not ask a plugin to append nothing",
	"handle/context":   "the host does not ask a plugin when the context has ended",
	"read/last-cursor": "the host does not ask a plugin for the last entries behind a cursor",
	"plugin/schema":    "the host does not load a plugin whose schema is none",

	"plugin/manifest": "the manifest comes before the configuration that says which fault it is; TestChecks has it",
	"plugin/echo":     "the SDK answers echo; TestSloppyGuest has it",
	"plugin/unknown":  "the SDK answers what there is not; TestSloppyGuest has it",
	"plugin/garbage":  "the SDK reads requests; TestSloppyGuest has it",
	"plugin/optional": "the SDK answers what is not listed; TestSloppyGuest has it",

	"runs/invalid":  "the host does not ask a plugin for what is none",
	"locks/invalid": "the same",
}

// lacking are the cases about what a store does not have: what the guest then lacks.
var lacking = map[string]string{
	"undeclared/environments": "environments", "undeclared/read-all": "read all", "undeclared/maintenance": "maintenance",

	"undeclared/instances-if": "instances: conditional", "undeclared/instances-list": "instances: list", "undeclared/fenced": "runs: fenced",
	"undeclared/runs-thread": "runs: list by thread", "undeclared/runs-list": "runs: list", "undeclared/reclaimable": "runs: list reclaimable",
	"undeclared/runs-count": "runs: count by sandbox", "undeclared/runs-secret": "runs: secret", "undeclared/runs-delete": "runs: delete",
	"undeclared/log-truncate": "log: truncate",
}

// level is what the names of the cases begin with that are tried with a fault: each store of durable runs
// alone, and all of a ledger.
func level(name string) string {
	level, _, _ := strings.Cut(name, "/")
	switch level {
	case "instances", "runs", "fenced", "log", "locks":
		return level
	case "undeclared":
		if strings.Contains(lacking[name], ": ") {
			return level
		}
	}
	return ""
}

// slow are cases that take as long as all others together: of 20,000 calls, and of 20,000 entries. They are
// tried with the faults that they are about, and with a right ledger.
var slow = []string{"plugin/memory", "sandbox/delete-large"}

// emptyLedger is a file with the tables of a ledger. Making them takes longer than most cases.
func emptyLedger(t *testing.T, dir string) string {
	t.Helper()
	cfg := config.Default()
	file := filepath.Join(dir, "empty.db")
	db := config.DefaultSQL()
	db.Driver, db.Path = config.SQLite, file
	cfg.Plugins = map[string]config.Plugin{"sqlite": {SQL: map[string]config.SQL{config.LedgerDB: db}, Limits: config.DefaultLimits()}}
	h, err := host.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Store().ListEnvironments(t.Context())
	if err = errors.Join(err, h.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(file + "-*"); err != nil || len(left) > 0 {
		t.Fatalf("closing left %q, %v", left, err) // what a copy would lack
	}
	return file
}

// memoryDir is a directory without a disk, where there is one: a case's files live for milliseconds.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "plugin-test-") //nolint:usetesting // not where it makes them
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func fileDigest(t *testing.T, path string) string {
	t.Helper()
	wasm, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}

// tryWrong tries the wrong ledger and returns what failed and what was not run.
func tryWrong(t *testing.T, opts host.PluginTest) (failed, notRun []string, report host.PluginTestReport) {
	t.Helper()
	cfg := config.Default()
	sum := fileDigest(t, wrongLedger)
	limits := config.DefaultLimits()
	limits.Instances = 1 // which handle an instance belongs to then says what it saw
	limits.Deadline, limits.StartDeadline = config.Duration(time.Minute), config.Duration(time.Minute)
	cfg.Plugins = map[string]config.Plugin{"wrong": {Source: wrongLedger, SHA256: sum, Limits: limits}}
	opts.CaseDeadline = 5 * time.Minute
	report, err := host.TestPlugin(t.Context(), cfg, "wrong", opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Cases {
		switch c.Status {
		case host.PluginTestFailed:
			failed = append(failed, c.Name)
		case host.PluginTestNotRun:
			notRun = append(notRun, c.Name)
		case host.PluginTestPassed:
		}
	}
	return failed, notRun, report
}

// TestEachFaultFailsItsRule tries a ledger with each fault: exactly the rule that it breaks fails.
func TestEachFaultFailsItsRule(t *testing.T) {
	t.Parallel()
	dir := memoryDir(t)
	template := emptyLedger(t, dir)
	for i, c := range host.PluginTestCases() {
		if cannotFail[c.Name] != "" {
			continue
		}
		if raceEnabled && i%90 != 0 {
			continue // a fault is about what the suite sees, not about goroutines: a few are enough
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			opts := host.PluginTest{Config: map[string]any{"fault": c.Name}, Dir: dir, Template: template, Parallel: 2}
			opts.Match = func(name string) bool {
				return name == c.Name || level(name) == level(c.Name) && !slices.Contains(slow, name)
			}
			if lacks, ok := lacking[c.Name]; ok {
				opts.Config, opts.Without = nil, []string{lacks} // which it has
			}
			if c.Name == "handle/close" {
				opts.Template = "" // the fault shows where there is nothing
			}
			failed, _, report := tryWrong(t, opts)
			for tries := 1; (c.Name == "handle/several" || c.Name == "locks/LK-8" || c.Name == "log/race") && len(failed) == 0 && tries < 5; tries++ {
				failed, _, report = tryWrong(t, opts) // its writers may happen to take turns
			}
			if !slices.Equal(failed, []string{c.Name}) {
				t.Errorf("failed: %q", failed)
				for _, r := range report.Cases {
					if r.Status == host.PluginTestFailed && r.Name != c.Name {
						t.Logf("%s: %.2000s", r.Name, strings.Join(r.Messages, "\n"))
					}
				}
			}
		})
	}
}

// TestRightLedger tries the same guest without a fault, whatever it lacks.
func TestRightLedger(t *testing.T) {
	t.Parallel()
	dir := memoryDir(t)
	for _, lacks := range []string{"", "environments", "read all", "maintenance"} {
		if raceEnabled && lacks != "" {
			continue // the same code, without some of it
		}
		t.Run(lacks, func(t *testing.T) {
			t.Parallel()
			opts := host.PluginTest{Dir: dir, Parallel: 2, Config: map[string]any{"lacks": lacks}}
			if lacks != "" {
				opts.Without = []string{lacks}
			}
			failed, notRun, report := tryWrong(t, opts)
			if len(failed) > 0 {
				t.Errorf("failed: %q in %+v", failed, report.Cases)
			}
			for name, lack := range lacking {
				if slices.Contains(notRun, name) != (lack != lacks) {
					t.Errorf("%s was not run: %v", name, slices.Contains(notRun, name))
				}
			}
		})
	}
}

// TestUnknownFault: a fault that there is none of is a mistake, not a right ledger.
func TestUnknownFault(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	_, err := host.TestPlugin(t.Context(), cfg, wrongLedger, host.PluginTest{Config: map[string]any{"fault": "no/such"}})
	if !errors.Is(err, host.ErrPluginNotRunnable) || !strings.Contains(err.Error(), "there is no such fault") {
		t.Errorf("error %v", err)
	}
	// What the guest lets pass is still held against its schema.
	_, err = host.TestPlugin(t.Context(), cfg, wrongLedger, host.PluginTest{Config: map[string]any{"lacks": "wings", "more": 1}})
	for _, want := range []string{`lacks: must be "" or "environments"`, "more: unknown key (known: fault, lacks)"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
