package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/plugin/meter"
)

// Module is machine code that is made once for several plugins: see Spec.Module. Each of them has
// instances, capabilities and a configuration of its own.
type Module struct {
	engine *engine
	stats  meter.Stats
	digest string
	size   int
	limits Limits
	users  atomic.Int32 // who must let go of it: its maker, and each plugin of it
	closed atomic.Bool  // by its maker
}

// Compile verifies, meters and compiles the module of spec. It must be closed, after the last plugin
// that is made of it begins. The error is an *Error.
func (r *Runtime) Compile(ctx context.Context, spec Spec) (*Module, error) {
	p := newPlugin(r, spec)
	defer p.abort()
	if failure := p.build(ctx, spec); failure != nil {
		return nil, failure
	}
	m := &Module{engine: p.engine, stats: p.stats, digest: p.digest, size: p.size, limits: p.limits}
	m.users.Store(1)
	return m, nil
}

// Info describes the module as far as that is possible before it runs, with the limits that it was compiled for.
func (m *Module) Info() Info {
	i := Info{
		Digest: m.digest, ModuleBytes: m.size, Loops: m.stats.Loops, Functions: m.stats.Entries, Bulk: m.stats.Bulk, Limits: m.limits,
	}
	i.Imports, i.Exports = m.engine.symbols()
	return i
}

// Close lets go of the machine code, which is given back when the last plugin of it is closed too. No
// plugin may be made of it any more. It is idempotent.
func (m *Module) Close(ctx context.Context) error {
	if m.closed.Swap(true) {
		return nil
	}
	return m.release(ctx)
}

func (m *Module) release(ctx context.Context) error {
	if m.users.Add(-1) > 0 {
		return nil
	}
	if err := m.engine.close(ctx); err != nil {
		return fmt.Errorf("closing a compiled module: %w", err)
	}
	return nil
}

// Describe asks what the guest of spec is, without its configuration, files or capabilities: nothing that
// it owns outside is touched. Spec has a Module. The error is an *Error.
func (r *Runtime) Describe(ctx context.Context, spec Spec) (abi.Manifest, error) {
	spec.Caps, spec.Files = nil, nil
	p := newPlugin(r, spec)
	defer p.abort()
	if failure := p.build(ctx, spec); failure != nil {
		return abi.Manifest{}, failure
	}
	failure := p.describe(ctx)
	err := p.closeEngine(context.WithoutCancel(ctx))
	if failure != nil {
		err = errors.Join(failure, err)
	}
	return p.manifest, err
}

func (p *Plugin) describe(ctx context.Context) *Error {
	if f := checkSymbols(p.engine.compiled, p.engine.offered); f != nil {
		return p.fault(0, f)
	}
	began := p.runtime.clock.now()
	inst, failure := p.start(ctx, began)
	if failure != nil {
		return failure
	}
	defer inst.destroy()
	if failure := inst.do(ctx, abi.OpDescribe, nil, nil, &p.manifest, began, p.limits.StartDeadline); failure != nil {
		return failure
	}
	return p.sensible()
}

// share takes a module's machine code, which belongs to the module.
func (p *Plugin) share(m *Module) *Error {
	if pages := p.limits.pages(); pages != m.limits.pages() {
		return p.fault(0, faultf(KindLoad, "the module was compiled for %d pages of memory, and limits.memory is %d", m.limits.pages(), pages))
	}
	m.users.Add(1)
	p.engine, p.stats, p.digest, p.size, p.shared = m.engine, m.stats, m.digest, m.size, m
	return nil
}

// closeEngine gives the machine code back, or lets go of a Module's.
func (p *Plugin) closeEngine(ctx context.Context) error {
	if p.shared != nil {
		return p.shared.release(ctx)
	}
	return p.engine.close(ctx)
}
