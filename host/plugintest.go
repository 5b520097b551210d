package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/internal/plugintest"
	"github.com/alineo-labs/alineo-host/host/store/storetest"
	"github.com/alineo-labs/alineo-host/plugins"
)

// What TestPlugin tells.
type (
	// PluginTestPlan is what is known before the first case runs.
	PluginTestPlan = plugintest.Plan
	// PluginTestCase is one rule and how it ended.
	PluginTestCase = plugintest.Case
	// PluginTestReport is what came of all cases.
	PluginTestReport = plugintest.Report
)

// Endings of a PluginTestCase.
const (
	PluginTestPassed = plugintest.Passed
	PluginTestFailed = plugintest.Failed
	PluginTestNotRun = plugintest.NotRun
)

// ErrPluginNotRunnable is wrapped by errors of TestPlugin: no case could run, because the plugin could not
// be loaded or is of no kind that there are cases for.
var ErrPluginNotRunnable = plugintest.ErrNotRunnable

// PluginTest says how TestPlugin tries a plugin. The zero value runs every case once, one after another,
// with the plugin's own configuration and limits.
type PluginTest struct {
	Config map[string]any // put over the plugin's own configuration, key by key
	// Grants are databases by the name that the plugin uses, put over those of the configuration. One that
	// it asks for and that nobody granted is a temporary SQLite file.
	Grants map[string]config.SQL
	// HTTP are addresses that the plugin may send requests to, with all below them. Those of the configuration
	// don't count.
	HTTP []string
	// References are what a broker finds values by, and the name of the secret that each leads to. The
	// secrets are made up.
	References    map[string]string
	With, Without []string // features of the suite that are tried, or left out, whatever the plugin says

	Match        func(name string) bool // nil: all cases
	Parallel     int                    // cases at once
	Rounds       int                    // how often each case runs, from the second time on in an order of chance
	Seed         uint64                 // of that order
	CallDeadline time.Duration          // of one call; 0: limits.deadline
	CaseDeadline time.Duration          // 0: a minute
	Dir          string                 // for temporary files; empty: where the system keeps such
	// Template is a SQLite file that each case's temporary one begins as a copy of, such as one whose tables
	// are there; empty: it begins as none, which is what a plugin finds that is new.
	Template string
	Log      bool // what the host and the guest log is shown, as [log] says

	Begun func(PluginTestPlan) // once, before the first case; may be nil
	Ended func(PluginTestCase) // after each case, in their order; may be nil
}

// PluginTestBrokerCases returns every case of a credential broker, without an ending.
func PluginTestBrokerCases() []PluginTestCase { return plugintest.BrokerList() }

// PluginTestCases returns every case of a ledger, without an ending.
func PluginTestCases() []PluginTestCase { return plugintest.List() }

// PluginTestFeatures returns the names of the suite's features.
func PluginTestFeatures() []string {
	var names []string
	for _, f := range append(storetest.AllFeatures(), append(storetest.StoreFeatures(), storetest.FeatureStoresOnly)...) {
		names = append(names, string(f))
	}
	return names
}

// TestPlugin runs the shared suite against a plugin that the configuration names or the binary brings
// along, or against a module from a file, which need not be pinned. Nothing that the configuration grants
// is written to: each case has storage of its own, a temporary SQLite file in the place of a granted one,
// and a database that is made for it on a granted server.
//
// The report holds what failed. The error is about what kept cases from running: it wraps
// ErrPluginNotRunnable when none could, and the context's error when that ended.
func TestPlugin(ctx context.Context, cfg *config.Config, nameOrFile string, opts PluginTest) (PluginTestReport, error) {
	tried, err := pluginTried(cfg, nameOrFile, opts)
	if err != nil {
		return PluginTestReport{}, err
	}
	report, err := plugintest.Run(ctx, tried)
	return report, triedError(cfg, nameOrFile, opts, err)
}

// triedError shows a guest's complaints about a configuration of the file's where they stand in it.
func triedError(cfg *config.Config, nameOrFile string, opts PluginTest, err error) error {
	_, configured := cfg.Plugins[nameOrFile]
	var refused *plugin.ConfigError
	if configured && len(opts.Config) == 0 && errors.As(err, &refused) {
		return fmt.Errorf("%w: %w", ErrPluginNotRunnable, positions(cfg, nameOrFile, err))
	}
	return err
}

// pluginTried finds a plugin that is to be tried, and what is to be done with it.
func pluginTried(cfg *config.Config, nameOrFile string, opts PluginTest) (plugintest.Options, error) {
	h := &Host{log: hclog.NewNullLogger()}
	if opts.Log {
		h.log = newLogger(cfg.Log)
	}
	p, configured := cfg.Plugins[nameOrFile]
	bundled := slices.Contains(plugins.Names(), nameOrFile)
	if !configured {
		p = config.Plugin{Limits: config.DefaultLimits()}
		if !bundled {
			if _, err := os.Stat(nameOrFile); err != nil {
				return plugintest.Options{}, fmt.Errorf("%w: %q is neither in the configuration (%v) nor a file",
					ErrPluginNotRunnable, nameOrFile, names(ListPlugins(cfg)))
			}
			p.Source = nameOrFile
		}
		if nameOrFile == config.Postgres && bundled {
			db := config.DefaultSQL()
			db.Driver = config.Postgres // at the server that the PG* variables name
			p.SQL = map[string]config.SQL{config.LedgerDB: db}
		}
	}
	wasm, digest, err := module(nameOrFile, p)
	if err != nil {
		return plugintest.Options{}, fmt.Errorf("%w: %w", ErrPluginNotRunnable, err)
	}
	if !configured && !bundled {
		sum := sha256.Sum256(wasm)
		digest = hex.EncodeToString(sum[:])
	}
	settings, err := json.Marshal(over(p.Config, opts.Config))
	if err != nil {
		return plugintest.Options{}, fmt.Errorf("configuring plugin %q: %w", nameOrFile, err)
	}
	grants := maps.Clone(p.SQL)
	if grants == nil {
		grants = map[string]config.SQL{}
	}
	maps.Copy(grants, opts.Grants)
	limits := pluginLimits(p.Limits)
	if opts.CallDeadline > 0 {
		limits.Deadline = opts.CallDeadline
	}
	name := nameOrFile
	if !configured && !bundled {
		name = strings.TrimSuffix(filepath.Base(nameOrFile), ".wasm")
	}
	web, err := webOf(opts.HTTP)
	if err != nil {
		return plugintest.Options{}, fmt.Errorf("%w: %w", ErrPluginNotRunnable, err)
	}
	return plugintest.Options{
		Name: name, Wasm: wasm, SHA256: digest, Config: settings, Limits: limits, HostVersion: version,
		CacheDir: cacheDir(), Logger: h.log.Named("plugin"), Grants: grants, Web: web, References: opts.References,
		With: features(opts.With), Without: features(opts.Without),
		Match: opts.Match, Parallel: opts.Parallel, Rounds: opts.Rounds, Seed: opts.Seed, Deadline: opts.CaseDeadline,
		Dir: opts.Dir, Template: opts.Template, Begun: opts.Begun, Ended: opts.Ended,
	}, nil
}

// webOf is where a plugin may send requests that is tried; nil: nowhere. What the configuration grants is
// left alone: a service keeps what is sent to it.
func webOf(addresses []string) (capability.Web, error) {
	if len(addresses) == 0 {
		return nil, nil //nolint:nilnil // nowhere
	}
	grant := config.Grant{HTTP: addresses}
	for _, address := range addresses {
		if u, err := url.Parse(address); err == nil { // that of whoever tries it, who knows where it leads
			grant.Private = append(grant.Private, u.Hostname())
		}
	}
	return new(Host).web("", grant)
}

func features(names []string) []storetest.Feature {
	var list []storetest.Feature
	for _, name := range names {
		list = append(list, storetest.Feature(name))
	}
	return list
}

// over puts a table over another, tables within them too.
func over(below, above map[string]any) map[string]any {
	merged := make(map[string]any, len(below)+len(above))
	maps.Copy(merged, below)
	for key, value := range above {
		inner, isTable := value.(map[string]any)
		if under, ok := merged[key].(map[string]any); ok && isTable {
			value = over(under, inner)
		}
		merged[key] = value
	}
	return merged
}

// pluginLimits are the limits of a plugin as its runtime has them.
func pluginLimits(l config.Limits) plugin.Limits {
	return plugin.Limits{
		MemoryBytes: int64(l.Memory), Deadline: time.Duration(l.Deadline), StartDeadline: time.Duration(l.StartDeadline),
		Instances: l.Instances, MaxRequest: int64(l.MaxRequest), MaxResponse: int64(l.MaxResponse), LogPerSecond: l.LogLines,
	}
}
