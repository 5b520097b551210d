package brokertest

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"time"

	"github.com/alineo-labs/alineo-host/host/credential"
)

// Case is one rule.
type Case struct {
	Name string // "set/binds"
	Rule string // one sentence
	run  func(*env)
}

// Cases returns every rule, in the order in which they run.
func Cases() []Case {
	var cases []Case
	for _, group := range [...][]Case{setCases(), matchCases(), patchCases(), removeCases(), listCases(), faultCases(), resolveCases()} {
		cases = append(cases, group...)
	}
	return cases
}

// Run runs every case as a part of t, each on a bench of its own.
func Run[R Runner[R]](t R, fresh func(T) Bench) {
	t.Helper()
	for _, c := range Cases() {
		t.Run(c.Name, func(t R) { c.runWith(t, fresh) })
	}
}

func (c Case) runWith(t T, fresh func(T) Bench) {
	t.Helper()
	e := &env{T: t, ctx: t.Context(), bench: fresh(t)}
	e.Broker = e.open()
	c.run(e)
}

// env is what a case works with: a bench and one broker.
type env struct {
	T
	credential.Broker
	ctx   context.Context //nolint:containedctx // a case is one call
	bench Bench
}

// open returns another broker.
func (e *env) open() credential.Broker {
	e.Helper()
	b, err := e.bench.Open(e.ctx)
	e.must("opening a broker", err)
	return b
}

// sidecar makes a sandbox.
func (e *env) sidecar(opts SidecarOptions) Sidecar {
	e.Helper()
	s, err := e.bench.Sidecar(opts)
	e.must("making a sandbox's sidecar", err)
	e.Cleanup(func() {
		if err := s.Close(); err != nil {
			e.Errorf("closing a sidecar: %v", err)
		}
	})
	return s
}

// must ends the case when err is not nil.
func (e *env) must(doing string, err error) {
	e.Helper()
	if err != nil {
		e.Errorf("%s: %v", doing, err)
		e.FailNow()
	}
}

// wantErr checks which sentinels an error wraps: one of them.
func (e *env) wantErr(doing string, err error, wants ...error) {
	e.Helper()
	for _, want := range wants {
		if errors.Is(err, want) {
			return
		}
	}
	e.Errorf("%s: error is %v, want one that wraps %v", doing, err, wants)
}

// equal compares two values of any kind and prints both.
func (e *env) equal(what string, got, want any) {
	e.Helper()
	if !reflect.DeepEqual(got, want) {
		e.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

// set binds and ends the case when that fails.
func (e *env) set(s Sidecar, name, value string, b credential.Binding) {
	e.Helper()
	e.must("setting "+name, e.Set(e.ctx, s.Sandbox(), name, credential.NewSecret(value), b))
}

// header checks which value a request to a host gets in a header; "" is none.
func (e *env) header(s Sidecar, q Request, name, want string) {
	e.Helper()
	given, err := s.Request(q)
	e.must("asking what a request gets", err)
	if got := given.Headers[name]; got != want {
		e.Errorf("a request to %s%s gets %d bytes in %s, want %d (%q and %q)", q.Host, q.Path, len(got), name, len(want), clip(got), clip(want))
	}
}

// clip shows the beginning of a value, which is a test's.
func clip(text string) string {
	const most = 60
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// list returns the bindings by name.
func (e *env) list(s Sidecar) map[string]credential.Binding {
	e.Helper()
	list, err := e.ListBindings(e.ctx, s.Sandbox())
	e.must("listing", err)
	byName := make(map[string]credential.Binding, len(list))
	for _, b := range list {
		byName[b.Name] = b.Binding
	}
	if len(byName) != len(list) {
		e.Errorf("a name is listed twice: %v", list)
	}
	return byName
}

// names are the keys of a list, as a set.
func names(list map[string]credential.Binding) map[string]bool {
	set := make(map[string]bool, len(list))
	for name := range maps.Keys(list) {
		set[name] = true
	}
	return set
}

// lag is as long as sidecars of OpenSandbox take to see a change.
const lag = 500 * time.Millisecond

// keyed is the plainest binding.
func keyed(host string) credential.Binding { return credential.Header(host, "", "X-Api-Key") }
