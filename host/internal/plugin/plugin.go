package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/plugin/meter"
	"github.com/alineo-labs/alineo-host/host/internal/span"
)

// Plugin is a loaded guest. It is safe for concurrent use.
type Plugin struct {
	runtime     *Runtime
	logger      hclog.Logger
	name        string
	digest      string
	size        int
	limits      Limits
	caps        Host // nil: nothing is granted
	config      string
	hostVersion string
	features    []string
	files       []Files
	stats       meter.Stats
	engine      *engine
	shared      *Module // that the engine is of; nil: its own
	manifest    abi.Manifest
	guestLog    guestLog
	pool        pool
	breaker     breaker

	life    context.Context //nolint:containedctx // the plugin's own life: it ends when Close loses patience
	abort   context.CancelFunc
	aborted atomic.Bool
	proven  atomic.Bool // a call of what the guest is for has ended well

	calls, failures, crashes atomic.Uint64
	fuel                     atomic.Uint64
	pages                    atomic.Int64 // of all instances
	highPages                atomic.Uint32
	took                     latency
	loadedAt                 time.Time

	mu      sync.Mutex
	last    error // the last failure
	lastAt  time.Time
	closing bool
	done    chan struct{} // closed when Close has given everything back
	err     error         // of closing
}

func newPlugin(r *Runtime, spec Spec) *Plugin {
	p := &Plugin{
		runtime: r, logger: r.logger, name: spec.Name, size: len(spec.Wasm), caps: spec.Caps,
		config: string(spec.Config), hostVersion: spec.HostVersion, features: slices.Clone(spec.Features),
		files: slices.Clone(spec.Files),
		done:  make(chan struct{}), loadedAt: time.Now(),
	}
	if p.config == "" {
		p.config = "{}"
	}
	limits, err := spec.Limits.orDefault()
	if err != nil {
		limits = DefaultLimits() // verify reports it
	}
	p.guestLog = guestLog{logger: r.logger, plugin: spec.Name, clock: r.clock, rate: limits.LogPerSecond}
	p.breaker.clock = r.clock.now
	p.life, p.abort = context.WithCancel(context.Background())
	return p
}

// Name is the plugin's name in alineo.toml.
func (p *Plugin) Name() string { return p.name }

// Manifest is what the guest says about itself. It must not be changed.
func (p *Plugin) Manifest() abi.Manifest { return p.manifest }

// Call hands req to the guest and reads its reply. A nil req is the empty message, and of a nil reply
// nothing is read. call holds what the guest may name by handle; it may be nil. Strings and bytes of
// the reply stay valid. The error is an *Error; the guest's own is an *abi.Error inside it.
//
// A guest whose state is volatile would lose it if a call were cut short, so there only its own
// deadline ends a call that has begun, not ctx.
func (p *Plugin) Call(ctx context.Context, op abi.Op, req abi.Message, call *capability.Call, reply abi.Message) error {
	p.calls.Add(1)
	ctx, s := p.runtime.tracer.Start(ctx, "plugin.call")
	s.Text(span.Plugin, p.name)
	if s != nil {
		s.Text(span.Op, op.String())
	}
	if failure := p.callOnce(ctx, op, req, call, reply); failure != nil {
		s.End(failure.word())
		p.note(failure)
		return failure
	}
	s.End("")
	return nil
}

func (p *Plugin) callOnce(ctx context.Context, op abi.Op, req abi.Message, call *capability.Call, reply abi.Message) *Error {
	if err := ctx.Err(); err != nil {
		kind, err := gaveUp(err)
		return p.fail(op, kind, false, err)
	}
	trial, f := p.breaker.allow()
	if f != nil {
		return p.fault(op, f)
	}
	inst, f := p.pool.get(ctx, p.limits.QueueDeadline)
	if f != nil {
		if trial {
			p.breaker.settle(false)
		}
		return p.fault(op, f)
	}
	if p.manifest.State == abi.StateVolatile {
		ctx = context.WithoutCancel(ctx)
	}
	began := p.runtime.clock.now()
	if inst == nil {
		var failure *Error
		if inst, failure = p.grow(ctx, began); failure != nil {
			failure.Sent = false // the caller's request was not
			if failure.Op == 0 {
				failure.Op = op
			}
			p.finish(nil, trial, failure)
			return failure
		}
		began = p.runtime.clock.now()
	}
	failure := inst.do(ctx, op, req, call, reply, began, p.deadline())
	if failure == nil && op > abi.OpEcho && !p.proven.Load() {
		p.proven.Store(true)
	}
	p.took.add(p.runtime.clock.now() - began)
	p.finish(inst, trial, failure)
	return failure
}

// grow makes one more instance.
func (p *Plugin) grow(ctx context.Context, began time.Duration) (*instance, *Error) {
	inst, failure := p.start(ctx, began)
	if failure != nil {
		return nil, failure
	}
	if failure = p.configure(ctx, inst, began); failure != nil {
		inst.destroy()
		return nil, failure
	}
	return inst, nil
}

// finish gives an instance back to the pool, or destroys it when nothing is known of it any more.
// A nil instance could not be made.
func (p *Plugin) finish(inst *instance, trial bool, failure *Error) {
	if inst != nil && !failure.broken() {
		p.pool.put(inst)
		if trial {
			p.breaker.settle(true)
			p.logger.Info("the plugin works again", "plugin", p.name)
		}
		return
	}
	lost := inst != nil && p.manifest.State == abi.StateVolatile
	if inst != nil {
		inst.destroy()
	}
	switch {
	case lost:
		if p.breaker.lose(failure.Err.Error()) {
			p.logger.Error("the plugin has failed: its state was lost", "plugin", p.name, "op", failure.Op.String(), "err", failure.Err)
		}
	case failure.blameless:
		if trial {
			p.breaker.settle(false)
		}
	default:
		p.crashes.Add(1)
		if failed, pause := p.breaker.crash(trial, failure.Err.Error()); failed {
			p.logger.Error("the plugin has failed: its guest crashes or does not start again and again",
				"plugin", p.name, "op", failure.Op.String(), "retry_in", pause.String(), "err", failure.Err)
		}
	}
	p.pool.put(nil)
}

// fail makes an error of this plugin.
func (p *Plugin) fail(op abi.Op, kind Kind, sent bool, err error) *Error {
	return &Error{Plugin: p.name, Op: op, Kind: kind, Sent: sent, Err: err}
}

// fault is fail for what was found before the guest had the request.
func (p *Plugin) fault(op abi.Op, f *fault) *Error {
	e := p.fail(op, f.kind, false, f.err)
	e.blameless = f.blameless
	return e
}

// note keeps a failure for Info.
func (p *Plugin) note(failure *Error) {
	p.failures.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.lastAt = failure, time.Now()
}

// Close takes no more calls, waits for those that run, tells the guest, and gives everything back.
// When ctx ends first, running calls are ended; what then remains is given back when the last one is
// over. It is idempotent.
func (p *Plugin) Close(ctx context.Context) error {
	p.mu.Lock()
	first := !p.closing
	p.closing = true
	p.mu.Unlock()
	if first {
		empty := p.pool.close()
		// When ctx ends this must go on: the engine's code may only be freed when nothing runs in it.
		go p.release(context.WithoutCancel(ctx), empty)
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.aborted.Store(true)
		p.abort()
		select {
		case <-p.done:
		case <-time.After(closeGrace):
			return p.fail(0, KindClosed, false, fmt.Errorf("calls were still running: %w", ctx.Err()))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// closeGrace is how long Close waits for calls that it has ended.
const closeGrace = 100 * time.Millisecond

// release waits for the last call and gives back what the plugin has.
func (p *Plugin) release(ctx context.Context, empty <-chan struct{}) {
	<-empty
	var errs []error
	for _, inst := range p.pool.drain() {
		if !p.aborted.Load() {
			failure := inst.do(ctx, abi.OpClose, nil, nil, nil, p.runtime.clock.now(), p.limits.Deadline)
			if failure != nil && !failure.unsupported() {
				errs = append(errs, failure)
			}
		}
		inst.destroy()
	}
	if err := p.closeEngine(ctx); err != nil {
		errs = append(errs, p.fail(0, KindClosed, false, err))
	}
	p.abort()
	p.runtime.remove(p)
	p.mu.Lock()
	p.err = errors.Join(errs...)
	p.mu.Unlock()
	close(p.done)
}
