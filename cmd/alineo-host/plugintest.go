package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
)

type pluginTestFlags struct {
	pluginFlags

	with, without []string
	run           string
	list          bool
	count         int
	seed          uint64
	parallel      int
	timeout       time.Duration
	measure       bool
	junit         string
}

func newPluginTest(a *app) *cobra.Command {
	f := &pluginTestFlags{}
	cmd := &cobra.Command{
		Use:   "test NAME|FILE",
		Short: "Try a plugin: every rule of the shared suite as a case, each on storage of its own",
		Long: `test runs the shared suite against a ledger or a credential broker: one that the configuration names, a
bundled one, or a module in a file, which need not be pinned. Each rule is a case. Which of
them run follows from the plugin's manifest; the others are listed with the reason.

The plugin is granted what it asks for and nothing else, and what it gets is printed. Each
case has storage of its own: a temporary SQLite file, or, on a PostgreSQL server that is
granted, a database that is made for the case and dropped after it. Nothing that the
configuration names is ever written to.

A broker gets sandboxes' sidecars whose vault is the embedded engine's, and secrets that are made
up. --reference says by what it finds the value of a secret.

A guest that crashes, never ends or eats memory fails its case, with the host's error, and
the others go on. Every case runs twice by default, the second time in an order of chance:
what fails in one of its runs depends on chance, or on what ran before.

When no case failed it measures briefly what "plugin bench" measures at length.

It exits with 0 when no case failed, 1 when one did, 3 when none could run because the
plugin could not be loaded, and 2 for wrong usage.`,
		Example: `  alineo-host plugin test ./my-ledger.wasm
  alineo-host plugin test ./my-ledger.wasm --set region=eu --run '^append/' --json
  alineo-host plugin test ./my-pg-ledger.wasm --grant ledger=env:DATABASE_URL
  alineo-host plugin test sqlite --junit report.xml
  alineo-host plugin test broker-vault --reference secret:github=github
  alineo-host plugin test --list`,
		ValidArgsFunction: a.completePlugin,
		Args: usage(func(cmd *cobra.Command, args []string) error {
			if f.list {
				return cobra.MaximumNArgs(0)(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.list {
				return a.listPluginTests(f.run)
			}
			return a.testPlugin(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	f.add(flags, grantHelp)
	flags.StringArrayVar(&f.with, "with", nil, "try a `feature` that the manifest does not tell: "+strings.Join(host.PluginTestFeatures(), ", ")+" (repeatable)")
	flags.StringArrayVar(&f.without, "without", nil, "leave a `feature` out (repeatable)")
	flags.StringVar(&f.run, "run", "", "only cases whose name matches the `regexp`")
	flags.BoolVar(&f.list, "list", false, "list the cases and their rules, without a plugin")
	flags.IntVar(&f.count, "count", 2, "how `often` each case runs")
	flags.Uint64Var(&f.seed, "seed", 0, "the `number` that makes the order of later runs (default: of chance; it is printed)")
	flags.IntVar(&f.parallel, "parallel", 2*runtime.GOMAXPROCS(0), "how `many` cases run at once")
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "the longest `time` of one case")
	flags.BoolVar(&f.measure, "measure", true, "measure, too, when all cases ran and none failed (not with --run)")
	flags.StringVar(&f.junit, "junit", "", "also write a JUnit `file`")
	return cmd
}

// listPluginTests prints the cases that match.
func (a *app) listPluginTests(pattern string) error {
	match, err := matching(pattern)
	if err != nil {
		return err
	}
	var rows [][]string
	seen := map[string]bool{}
	for _, c := range slices.Concat(host.PluginTestCases(), host.PluginTestBrokerCases()) {
		again := seen[c.Name] // rules for plugins of any kind
		seen[c.Name] = true
		if again || !match(c.Name) {
			continue
		}
		if a.out.json {
			if err := a.out.data(caseLine{Type: "case", PluginTestCase: c}); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, []string{c.Name, c.Rule})
	}
	if a.out.json {
		return nil
	}
	return a.out.table([]string{"CASE", "RULE"}, rows)
}

func matching(pattern string) (func(string) bool, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, &exitError{code: exitUsage, err: fmt.Errorf("--run: %w", err)}
	}
	return re.MatchString, nil
}

// measureBriefly is how long each thing is measured at the end of a test.
const measureBriefly = 200 * time.Millisecond

// testPlugin tries a plugin and tells what came of it.
func (a *app) testPlugin(ctx context.Context, nameOrFile string, f *pluginTestFlags) error {
	opts, err := f.options()
	if err != nil {
		return &exitError{code: exitUsage, err: err}
	}
	cfg, err := a.config()
	if err != nil {
		return err
	}
	shown := &pluginTestView{out: a.out}
	opts.Begun, opts.Ended = shown.begun, shown.ended
	opts.Log = a.logLevel != ""
	report, err := host.TestPlugin(ctx, cfg, nameOrFile, opts)
	if errors.Is(err, host.ErrPluginNotRunnable) {
		return &exitError{code: exitNotLoaded, err: err}
	}
	if err == nil && report.Plan.Cases == 0 {
		return &exitError{code: exitUsage, err: fmt.Errorf("no case's name matches --run %q (see %s plugin test --list)", f.run, a.self())}
	}
	if err == nil && f.measure && f.run == "" && report.Failed == 0 {
		shown.clear()
		a.out.progressf("measuring …")
		var m host.PluginMeasures
		if m, err = host.BenchPlugin(ctx, cfg, nameOrFile, opts, measureBriefly); err == nil {
			shown.measured(m)
		}
	}
	if f.junit != "" {
		err = errors.Join(err, writeJUnit(f.junit, report))
	}
	if err := errors.Join(err, shown.summary(report, a.pinLines(cfg, nameOrFile, report))); err != nil {
		return err
	}
	if report.Failed > 0 {
		return &exitError{code: exitFailed, err: fmt.Errorf("%d of %d cases failed", report.Failed, len(report.Cases))}
	}
	return nil
}

// options are the flags as TestPlugin takes them.
func (f *pluginTestFlags) options() (host.PluginTest, error) {
	opts, directories, err := f.pluginFlags.options()
	if err == nil {
		err = temporary(opts, directories)
	}
	if err != nil {
		return opts, err
	}
	opts.With, opts.Without, opts.Parallel, opts.Rounds, opts.Seed = f.with, f.without, f.parallel, f.count, f.seed
	opts.CaseDeadline = f.timeout
	if opts.Match, err = matching(f.run); err != nil {
		return opts, err
	}
	for _, name := range slices.Concat(f.with, f.without) {
		if !slices.Contains(host.PluginTestFeatures(), name) {
			return opts, fmt.Errorf("%q is no feature of the suite (they are: %s)", name, strings.Join(host.PluginTestFeatures(), ", "))
		}
	}
	switch {
	case f.count < 1:
		return opts, fmt.Errorf("--count %d: each case runs at least once", f.count)
	case f.parallel < 1:
		return opts, fmt.Errorf("--parallel %d: at least one case runs at a time", f.parallel)
	case f.timeout <= 0:
		return opts, errors.New("--timeout is a time after now")
	}
	if opts.Seed == 0 {
		opts.Seed = rand.Uint64N(1e6) + 1 //nolint:gosec // an order, not a secret
	}
	return opts, nil
}

// pinLines are what to paste into alineo.toml to use the module that was tried, for one that is nobody's
// yet.
func (a *app) pinLines(cfg *config.Config, nameOrFile string, report host.PluginTestReport) string {
	if _, err := os.Stat(nameOrFile); err != nil || filepath.Ext(nameOrFile) != ".wasm" {
		return ""
	}
	paste := host.PluginPaste{File: nameOrFile, SHA256: report.Plan.SHA256, Manifest: report.Plan.Manifest}
	for _, g := range report.Plan.Grants {
		if g.Capability == "sql" && strings.HasPrefix(g.As, "PostgreSQL") {
			paste.Postgres = append(paste.Postgres, g.Resource)
		}
	}
	return host.PasteLines(cfg, paste)
}
