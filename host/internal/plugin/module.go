package plugin

import (
	"context"
	"fmt"

	"github.com/alineo-labs/alineo-host/host/internal/plugin/meter"
)

// Module is machine code that is made once for several plugins: see Spec.Module. Each of them has
// instances, capabilities and a configuration of its own.
type Module struct {
	engine *engine
	stats  meter.Stats
	digest string
	size   int
	pages  uint32
}

// Compile verifies, meters and compiles the module of spec. It must be closed, after the last plugin
// that is made of it. The error is an *Error.
func (r *Runtime) Compile(ctx context.Context, spec Spec) (*Module, error) {
	p := newPlugin(r, spec)
	defer p.abort()
	if failure := p.build(ctx, spec); failure != nil {
		return nil, failure
	}
	return &Module{engine: p.engine, stats: p.stats, digest: p.digest, size: p.size, pages: p.limits.pages()}, nil
}

// Close gives the machine code back. No plugin of it may be open.
func (m *Module) Close(ctx context.Context) error {
	if err := m.engine.close(ctx); err != nil {
		return fmt.Errorf("closing a compiled module: %w", err)
	}
	return nil
}

// share takes a module's machine code, which belongs to the module.
func (p *Plugin) share(m *Module) *Error {
	if pages := p.limits.pages(); pages != m.pages {
		return p.fault(0, faultf(KindLoad, "the module was compiled for %d pages of memory, and limits.memory is %d", m.pages, pages))
	}
	p.engine, p.stats, p.digest, p.size, p.shared = m.engine, m.stats, m.digest, m.size, true
	return nil
}

// closeEngine gives the machine code back, unless it is a Module's.
func (p *Plugin) closeEngine(ctx context.Context) error {
	if p.shared {
		return nil
	}
	return p.engine.close(ctx)
}
