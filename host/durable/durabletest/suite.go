package durabletest

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/host/store/storetest"
)

// Site is where durable runs are tested.
type Site struct {
	// Open returns another handle on the stores, as another host would have it. They are new for each
	// case.
	Open func(ctx context.Context) (durable.Stores, error)
	// Machines makes the sandboxes. The suite destroys what it makes.
	Machines durable.Machines
}

// Need is something that not every store has.
type Need string

// What cases need.
const (
	NeedFenced   Need = "fenced"    // store.RunFeatures.Fenced
	NeedReclaim  Need = "reclaim"   // ListReclaimable
	NeedCount    Need = "count"     // CountBySandbox
	NeedList     Need = "list"      // List of runs and of instances
	NeedSecret   Need = "secret"    // Secret
	NeedRetain   Need = "retention" // Delete
	NeedLocks    Need = "locks"
	NeedSharing  Need = "sharing" // several handles see each other's writes
	NeedByThread Need = "by thread"
)

// Case is one rule.
type Case struct {
	Name  string // "TK-1"
	Rule  string // one sentence
	Needs []Need
	run   func(*env)
}

// Cases returns every rule, in the order in which they run.
func Cases() []Case {
	var cases []Case
	for _, group := range [...][]Case{journalCases(), beginCases(), runCases(), takeOverCases(), reapCases(), troubleCases(), holeCases(), keepCases()} {
		cases = append(cases, group...)
	}
	return cases
}

// Run runs every case as a part of t. fresh makes a site whose stores have nothing in them.
func Run[R storetest.Runner[R]](t R, fresh func(storetest.T) Site) {
	t.Helper()
	for _, c := range Cases() {
		t.Run(c.Name, func(t R) { c.Run(t, fresh) })
	}
}

// Run runs one case, beside others when t can do that.
func (c Case) Run(t storetest.T, fresh func(storetest.T) Site) {
	t.Helper()
	if parallel, ok := t.(interface{ Parallel() }); ok {
		parallel.Parallel()
	}
	e := &env{T: t, ctx: t.Context(), site: fresh(t)}
	if len(c.Needs) > 0 {
		has := e.has()
		for _, need := range c.Needs {
			if !has[need] {
				t.Skipf("not run: the stores don't have %q", string(need))
			}
		}
	}
	c.run(e)
}

// has is what the stores have.
func (e *env) has() map[Need]bool {
	stores := e.stores()
	runs, instances := stores.Runs.Features(), stores.Instances.Features()
	return map[Need]bool{
		NeedFenced: runs.Fenced, NeedReclaim: runs.ListReclaimable, NeedCount: runs.CountBySandbox,
		NeedList: runs.List && instances.List, NeedSecret: runs.Secret, NeedRetain: runs.Delete,
		NeedLocks: stores.Locks != nil, NeedByThread: runs.ListByThread, NeedSharing: true,
	}
}

// env is what a case has.
type env struct {
	storetest.T
	ctx  context.Context //nolint:containedctx // of the case
	site Site

	once sync.Once
	own  durable.Stores
}

func (e *env) fatalf(format string, args ...any) {
	e.Helper()
	e.Errorf(format, args...)
	e.FailNow()
}

func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.fatalf("%v", err)
	}
}

// stores is the case's own handle.
func (e *env) stores() durable.Stores {
	e.Helper()
	e.once.Do(func() { e.own = e.open() })
	return e.own
}

func (e *env) open() durable.Stores {
	e.Helper()
	stores, err := e.site.Open(e.ctx)
	e.must(err)
	return stores
}

// host is another host on the same stores, with short times.
func (e *env) host(adjust ...func(*durable.Options)) *durable.Runs {
	e.Helper()
	opts := durable.Options{
		Stores: e.open(), Machines: e.site.Machines, AttachWait: attachWait,
		ViewPoll: viewPoll, CancelPoll: cancelPoll, AllowUnfenced: true, Quiet: quiet,
	}
	for _, a := range adjust {
		a(&opts)
	}
	runs, err := durable.New(opts)
	e.must(err)
	e.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := runs.Close(ctx); err != nil {
			e.Errorf("%v", err)
		}
	})
	return runs
}

// spec is a sandbox that is destroyed at the case's end; spec.ID tells it from those of other cases.
func (e *env) spec() durable.Spec {
	spec := durable.Spec{ID: e.Name()}
	return spec
}

// start starts a run in a thread's sandbox, which the case destroys.
func (e *env) start(r *durable.Runs, id, thread, command string) store.Run {
	e.Helper()
	run, err := r.Start(e.ctx, durable.StartOptions{RunID: id, ThreadID: thread, Command: command, Spec: e.spec()})
	e.must(err)
	e.destroyLater(*run.SandboxKey)
	return run
}

func (e *env) destroyLater(key string) {
	e.stores()
	e.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		record, found, err := e.own.Instances.Get(ctx, key)
		if err == nil && found {
			err = e.site.Machines.Destroy(ctx, record.ProviderSandboxID)
		}
		if err != nil {
			e.Errorf("destroying a sandbox: %v", err)
		}
	})
}

// machine is a sandbox of the case's own.
func (e *env) machine() durable.Machine {
	e.Helper()
	id, err := e.site.Machines.Create(e.ctx, e.spec(), "0123456789abcdef0123456789abcdef")
	e.must(err)
	e.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := e.site.Machines.Destroy(ctx, id); err != nil {
			e.Errorf("destroying sandbox %s: %v", id, err)
		}
	})
	m, err := e.site.Machines.Open(e.ctx, id)
	e.must(err)
	return m
}

// sh runs a command in a sandbox that must succeed, and returns what it printed.
func (e *env) sh(m durable.Machine, format string, args ...any) string {
	e.Helper()
	command := fmt.Sprintf(format, args...)
	out, code, err := m.Exec(e.ctx, command)
	if err != nil || code != 0 {
		e.fatalf("%s: exit code %d: %v", command, code, err)
	}
	return string(out)
}

// missing says whether a file is not there.
func (e *env) missing(m durable.Machine, path string) bool {
	e.Helper()
	return strings.TrimSpace(e.sh(m, "[ -e '%s' ] && echo there || echo missing", path)) == "missing"
}
