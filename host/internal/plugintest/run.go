package plugintest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/store/storetest"
)

// Options say what to try and how.
type Options struct {
	Name        string
	Wasm        []byte
	SHA256      string          // of Wasm, in hex
	Config      json.RawMessage // of the plugin, a JSON object
	Limits      plugin.Limits
	HostVersion string
	CacheDir    string // of compiled code
	Logger      hclog.Logger

	// Grants are databases by the name that the plugin uses. One that it asks for and that is not here is
	// a temporary SQLite file. Of a granted SQLite file everything counts but its path.
	Grants map[string]config.SQL
	// Web is where it may send HTTP requests; nil: nowhere.
	Web capability.Web
	// References are what a broker finds values by, and the name of the secret that each leads to. The
	// secrets are made up.
	References    map[string]string
	With, Without []storetest.Feature // that are run, or left out, whatever the plugin says

	Match    func(name string) bool // nil: all cases
	Parallel int
	Rounds   int // how often each case runs
	Seed     uint64
	Deadline time.Duration // of a case; 0: a minute
	Dir      string        // where temporary files are made; empty: where the system keeps such
	Template string        // a SQLite file that each case's begins as a copy of; empty: it begins as none

	Begun func(Plan) // once, before the first case; may be nil
	Ended func(Case) // after each case, in their order; may be nil
}

// ErrNotRunnable is wrapped by errors of Run: the plugin could not be loaded, or there is nothing in it
// that could be tried.
var ErrNotRunnable = errors.New("the plugin can't be tried")

// caseDeadline is Options.Deadline unless given.
const caseDeadline = time.Minute

// Run tries a plugin. The report is complete up to where ctx ended. The error wraps ErrNotRunnable when
// no case could run.
func Run(ctx context.Context, opts Options) (report Report, err error) {
	began := time.Now()
	if opts.Deadline == 0 {
		opts.Deadline = caseDeadline
	}
	if opts.Logger == nil {
		opts.Logger = hclog.NewNullLogger()
	}
	dir, err := os.MkdirTemp(opts.Dir, "alineo-plugin-test-")
	if err != nil {
		return report, fmt.Errorf("making a temporary directory: %w", err)
	}
	opts.Dir = dir
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := load(ctx, opts)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, s.close(context.WithoutCancel(ctx))) }()
	if !slices.ContainsFunc(s.manifest.Kinds, func(kind string) bool { return slices.Contains(kinds(), kind) }) {
		return report, fmt.Errorf("%w: plugin %q is of kind %q; there are cases for %q", ErrNotRunnable, opts.Name, s.manifest.Kinds, kinds())
	}
	if !s.isBroker() {
		s.features = s.declared(ctx)
	}
	report.Plan = s.plan()
	if opts.Begun != nil {
		opts.Begun(report.Plan)
	}
	ended := func(c Case) {
		report.add(c)
		if opts.Ended != nil {
			opts.Ended(c)
		}
	}
	s.runChecks(ctx, ended)
	if s.isBroker() {
		s.runBroker(ctx, ended)
		report.Took = time.Since(began)
		return report, ctx.Err()
	}
	storetest.Check(ctx, s.fresh, storetest.CheckOptions{
		Features: s.features, Match: func(c storetest.Case) bool { return s.matches(c.Name) },
		Parallel: opts.Parallel, Rounds: opts.Rounds, Seed: opts.Seed, Deadline: opts.Deadline, Dir: dir,
		Ended:  func(r storetest.Result) { ended(s.result(r)) },
		GiveUp: s.giveUp,
	})
	report.Took = time.Since(began)
	return report, ctx.Err()
}

// load compiles the module, asks it what it is, and decides what it gets.
func load(ctx context.Context, opts Options) (_ *subject, err error) {
	rt, err := plugin.NewRuntime(ctx, plugin.RuntimeOptions{CacheDir: opts.CacheDir, Logger: opts.Logger})
	if err != nil {
		return nil, err
	}
	s := &subject{opts: opts, runtime: rt, ends: map[string]*ends{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(context.WithoutCancel(ctx)))
		}
	}()
	s.module, err = rt.Compile(ctx, plugin.Spec{Name: opts.Name, Wasm: opts.Wasm, SHA256: opts.SHA256, Limits: opts.Limits})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRunnable, err)
	}
	p, err := rt.Load(ctx, s.spec(anything{opts.Logger}))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRunnable, err)
	}
	s.manifest = p.Manifest()
	closing, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	if err := p.Close(closing); err != nil {
		s.opts.Logger.Warn("closing the plugin after it described itself", "err", err)
	}
	if err := s.grant(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRunnable, err)
	}
	return s, nil
}

func (s *subject) isBroker() bool { return slices.Contains(s.manifest.Kinds, kindBroker) }

// declared are the suite's features that the plugin has.
func (s *subject) declared(ctx context.Context) []storetest.Feature {
	list := s.stores()
	if slices.Contains(s.manifest.Kinds, "ledger") {
		// The ABI wants both of a ledger.
		list = append(list, storetest.FeatureEnvironments, storetest.FeatureReadAll)
	} else {
		list = append(list, storetest.FeatureStoresOnly)
	}
	switch s.manifest.State {
	case abi.StateNone: // it is in the granted storage, which instances share
		list = append(list, storetest.FeatureHandles, storetest.FeaturePersistent)
	case abi.StateExclusive:
		list = append(list, storetest.FeaturePersistent)
	case abi.StateVolatile:
	}
	if len(s.grants) > 0 && !slices.ContainsFunc(s.grants, func(g grant) bool { return g.sql.Driver != config.SQLite }) {
		list = append(list, storetest.FeatureVerbatim) // texts; JSONB is none
	}
	if s.hasMaintenance() {
		list = append(list, storetest.FeatureMaintenance)
	}
	if s.foreign(ctx) {
		list = append(list, storetest.FeatureForeignRows)
	}
	for _, f := range s.opts.With {
		if !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	return slices.DeleteFunc(list, func(f storetest.Feature) bool { return slices.Contains(s.opts.Without, f) })
}

// hasMaintenance tells whether the manifest lists every operation for those who operate a ledger.
func (s *subject) hasMaintenance() bool {
	return s.lists(abi.OpLedgerListHeads, abi.OpLedgerListSegments, abi.OpLedgerListTombstones, abi.OpLedgerUsage, abi.OpLedgerStats)
}

// lists tells whether the manifest lists all of these optional operations.
func (s *subject) lists(ops ...abi.Op) bool {
	for _, op := range ops {
		if !slices.Contains(s.manifest.Optional, op.String()) {
			return false
		}
	}
	return true
}

// kinds are those that there are cases for.
func kinds() []string { return []string{"ledger", "instances", "runs", "log", "locks", kindBroker} }

// stores are the features about durable runs that the manifest declares: the kinds, and of each of them
// the optional operations.
func (s *subject) stores() []storetest.Feature {
	var list []storetest.Feature
	for _, f := range [...]struct {
		feature storetest.Feature
		kind    string
		ops     []abi.Op
	}{
		{storetest.FeatureInstances, "instances", nil},
		{storetest.FeatureInstancesIf, "instances", []abi.Op{abi.OpInstancesPutIf, abi.OpInstancesDeleteIf}},
		{storetest.FeatureInstancesList, "instances", []abi.Op{abi.OpInstancesList}},
		{storetest.FeatureRuns, "runs", nil},
		{storetest.FeatureFenced, "runs", []abi.Op{abi.OpRunsClaim, abi.OpRunsPatchIf}},
		{storetest.FeatureRunsThread, "runs", []abi.Op{abi.OpRunsListByThread}},
		{storetest.FeatureRunsList, "runs", []abi.Op{abi.OpRunsList}},
		{storetest.FeatureReclaimable, "runs", []abi.Op{abi.OpRunsListReclaimable}},
		{storetest.FeatureRunsCount, "runs", []abi.Op{abi.OpRunsCountBySandbox}},
		{storetest.FeatureRunsSecret, "runs", []abi.Op{abi.OpRunsSecret}},
		{storetest.FeatureRunsDelete, "runs", []abi.Op{abi.OpRunsDelete}},
		{storetest.FeatureLog, "log", nil},
		{storetest.FeatureLogTruncate, "log", []abi.Op{abi.OpLogTruncate}},
		{storetest.FeatureLocks, "locks", nil},
	} {
		if slices.Contains(s.manifest.Kinds, f.kind) && s.lists(f.ops...) {
			list = append(list, f.feature)
		}
	}
	return list
}

// plan says what is going to happen.
func (s *subject) plan() Plan {
	p := Plan{
		Name: s.opts.Name, SHA256: s.opts.SHA256, Manifest: s.manifest,
		Rounds: max(s.opts.Rounds, 1), Seed: s.opts.Seed, Grants: []Granted{}, Features: []string{},
	}
	for _, g := range s.grants {
		p.Grants = append(p.Grants, Granted{Capability: "sql", Resource: g.want.Resource, Reason: g.want.Reason, As: g.text()})
	}
	for _, want := range s.directories {
		p.Grants = append(p.Grants, Granted{
			Capability: "files", Resource: want.Resource, Reason: want.Reason, As: "a temporary directory for each case",
		})
	}
	for _, f := range s.features {
		p.Features = append(p.Features, string(f))
	}
	list := List()
	if s.isBroker() {
		list, p.Grants = BrokerList(), append(p.Grants, s.grantsOfBroker()...)
	}
	for _, c := range list {
		if s.matches(c.Name) {
			p.Cases++
		}
	}
	return p
}

func (s *subject) matches(name string) bool { return s.opts.Match == nil || s.opts.Match(name) }
