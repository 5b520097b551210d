package plugin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/plugin/meter"
)

// Host is what the guest's capability calls are handed to. *capability.Set is one.
type Host interface {
	// Handle answers a capability call: it appends the reply to dst, and uses req only until it returns.
	Handle(ctx context.Context, call *capability.Call, op abi.Op, req, dst []byte) ([]byte, *abi.Error)
	// Granted says what to add to alineo.toml for something that the guest wants.
	Granted(want abi.Want) error
}

var _ Host = (*capability.Set)(nil)

// Spec is a plugin to load.
type Spec struct {
	Name        string // in alineo.toml
	Wasm        []byte
	SHA256      string // of Wasm, in hex: required
	Limits      Limits
	Caps        Host            // what it was granted; nil: nothing
	Config      json.RawMessage // its configuration, a JSON object; empty: {}
	HostVersion string
	Features    []string // abilities of the host, for configure
	Files       []Files  // directories that it was granted; they are the caller's to close, after the plugin
	Module      *Module  // made by Compile, in the place of Wasm and SHA256; nil: none
}

// Load verifies, meters, compiles, starts and configures a plugin. What it returns is ready, and must
// be closed. The error is an *Error.
func (r *Runtime) Load(ctx context.Context, spec Spec) (*Plugin, error) {
	p := newPlugin(r, spec)
	if failure := p.load(ctx, spec); failure != nil {
		p.abort()
		return nil, failure
	}
	if !r.add(p) {
		failure := p.fail(0, KindClosed, false, errors.New("the plugin runtime is closed"))
		return nil, errors.Join(failure, p.Close(ctx))
	}
	return p, nil
}

func (p *Plugin) load(ctx context.Context, spec Spec) *Error {
	failure := p.build(ctx, spec)
	if failure != nil {
		return failure
	}
	if failure = p.begin(ctx); failure != nil {
		if err := p.closeEngine(context.WithoutCancel(ctx)); err != nil {
			p.logger.Warn("closing a plugin that did not load", "plugin", p.name, "err", err)
		}
	}
	return failure
}

// build makes the plugin's engine, or takes that of a Module.
func (p *Plugin) build(ctx context.Context, spec Spec) *Error {
	if f := p.prepare(spec); f != nil {
		return p.fault(0, f)
	}
	if spec.Module != nil {
		return p.share(spec.Module)
	}
	if f := p.verify(spec); f != nil {
		return p.fault(0, f)
	}
	metered, stats, err := meter.Rewrite(spec.Wasm, meter.Options{MaxMemoryPages: p.limits.pages()})
	if err != nil {
		return p.fault(0, refused(err, p.limits))
	}
	p.stats = stats
	engine, err := p.runtime.compile(ctx, metered, p.limits.pages())
	if err != nil {
		f, ok := errors.AsType[*fault](err)
		if !ok {
			f = &fault{kind: KindLoad, err: err}
			if ctx.Err() != nil {
				f.kind, _ = gaveUp(ctx.Err())
			}
		}
		return p.fault(0, f)
	}
	p.engine = engine
	return nil
}

// prepare checks everything but the module.
func (p *Plugin) prepare(spec Spec) *fault {
	if spec.Name == "" {
		return faultf(KindLoad, "a plugin needs a name")
	}
	limits, err := spec.Limits.orDefault()
	if err != nil {
		return &fault{kind: KindLoad, err: err}
	}
	p.limits = limits
	if len(spec.Config) > 0 && (!json.Valid(spec.Config) || !bytes.HasPrefix(bytes.TrimSpace(spec.Config), []byte{'{'})) {
		return faultf(KindConfig, "its configuration is not a JSON object")
	}
	return nil
}

// verify checks what can be checked without looking into the module.
func (p *Plugin) verify(spec Spec) *fault {
	if size := int64(len(spec.Wasm)); size > p.limits.MaxModule {
		return faultf(KindTooLarge, "the module has %d bytes, limits.max_module allows %d", size, p.limits.MaxModule)
	}
	if !meter.IsModule(spec.Wasm) {
		return faultf(KindLoad, "%s", notAModule(spec.Wasm))
	}
	sum := sha256.Sum256(spec.Wasm)
	p.digest = hex.EncodeToString(sum[:])
	switch pinned := strings.ToLower(strings.TrimSpace(spec.SHA256)); {
	case pinned == "":
		return faultf(KindDigest, "the module is not pinned; when it is the one you mean, add this line below [plugins.%s]:\n"+
			"sha256 = %q", spec.Name, p.digest)
	case pinned != p.digest:
		return faultf(KindDigest, "the module is not the one that was pinned:\npinned %s\nfound  %s\n"+
			"when the new one is the one you mean, put this line below [plugins.%s]:\nsha256 = %q",
			pinned, p.digest, spec.Name, p.digest)
	}
	return nil
}

// notAModule says what a file is that is not a module.
func notAModule(b []byte) string {
	head := b[:min(len(b), 512)]
	switch {
	case len(b) == 0:
		return "the file is empty, not a WebAssembly module"
	case bytes.HasPrefix(b, []byte("\x00asm\x0d\x00\x01\x00")):
		return "the file is a WebAssembly component; this host runs core modules: build it without the component model"
	case bytes.HasPrefix(b, []byte("\x00asm")):
		return "the file is not a WebAssembly module of version 1"
	case !bytes.ContainsRune(head, 0) && utf8.Valid(head[:max(len(head)-utf8.UTFMax, 0)]):
		return "the file is not a WebAssembly module: it looks like text"
	default:
		return "the file is not a WebAssembly module"
	}
}

// refused explains why a module could not be metered.
func refused(err error, limits Limits) *fault {
	if memory, ok := errors.AsType[*meter.MemoryError](err); ok {
		return faultf(KindMemory, "the guest needs %d pages of memory (%d bytes) to start, limits.memory allows %d (%d bytes)",
			memory.Pages, int64(memory.Pages)*meter.PageSize, memory.Allowed, limits.MemoryBytes)
	}
	return &fault{kind: KindLoad, err: fmt.Errorf("this host refuses the module: %w", err)}
}

// begin makes the first instance, learns what the guest is, and puts it into the pool.
func (p *Plugin) begin(ctx context.Context) *Error {
	if f := checkSymbols(p.engine.compiled, p.engine.offered); f != nil {
		return p.fault(0, f)
	}
	began := p.runtime.clock.now()
	inst, failure := p.start(ctx, began)
	if failure != nil {
		return failure
	}
	failure = inst.do(ctx, abi.OpDescribe, nil, nil, &p.manifest, began, p.limits.StartDeadline)
	if failure == nil {
		failure = p.accept()
	}
	if failure == nil {
		failure = p.checkConfig(p.configure(ctx, inst, began))
	}
	if failure != nil {
		inst.destroy()
		return failure
	}
	p.pool.limit, p.pool.maxQueue = p.limits.Instances, p.limits.MaxQueue
	if p.manifest.State != abi.StateNone {
		p.pool.limit = 1
	}
	p.pool.idle = append(p.pool.idle, inst)
	return nil
}

// sensible refuses a manifest that no plugin can have.
func (p *Plugin) sensible() *Error {
	switch m := &p.manifest; {
	case m.Name == "" || m.Version == "":
		return p.fail(abi.OpDescribe, KindProtocol, false, errors.New("the manifest has no name or no version"))
	case m.State > abi.StateExclusive:
		return p.fail(abi.OpDescribe, KindLoad, false,
			fmt.Errorf("the manifest's state %d is unknown: the plugin needs a newer host", m.State))
	}
	return nil
}

// accept checks what the guest says about itself, and that it has what it wants.
func (p *Plugin) accept() *Error {
	if failure := p.sensible(); failure != nil {
		return failure
	}
	var missing []error
	for _, want := range p.manifest.Capabilities {
		if want.Optional {
			continue
		}
		if p.caps == nil {
			missing = append(missing, fmt.Errorf("the guest wants %q of %q (%s), and was granted nothing",
				want.Name, want.Resource, want.Reason))
		} else if err := p.caps.Granted(want); err != nil {
			missing = append(missing, err)
		}
	}
	if len(missing) > 0 {
		return p.fail(abi.OpDescribe, KindGrant, false, errors.Join(missing...))
	}
	return nil
}

// configure hands the configuration to an instance. From then on it has its capabilities.
func (p *Plugin) configure(ctx context.Context, inst *instance, began time.Duration) *Error {
	req := abi.ConfigureRequest{Config: p.config, HostVersion: p.hostVersion, Features: p.features}
	var reply abi.ConfigureReply
	if failure := inst.do(ctx, abi.OpConfigure, &req, nil, &reply, began, p.limits.StartDeadline); failure != nil {
		return failure
	}
	if len(reply.Diagnostics) > 0 {
		for i, d := range reply.Diagnostics {
			reply.Diagnostics[i] = abi.Diagnostic{Key: tidyText(d.Key), Message: tidyText(d.Message)}
		}
		return p.fail(abi.OpConfigure, KindConfig, false, &ConfigError{Diagnostics: reply.Diagnostics})
	}
	return nil
}
