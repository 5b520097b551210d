package host

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/plugins"
)

// Errors of ReloadPlugin.
var (
	// ErrNoPlugin is a name that is neither configured nor bundled.
	ErrNoPlugin = errors.New("there is no such plugin")
	// ErrNotLoaded is a plugin that nobody has used yet: when it is, it is loaded as it is then.
	ErrNotLoaded = errors.New("the plugin is not loaded")
	// ErrNotReloaded is a reload that was refused, or that failed: the plugin works as before.
	ErrNotReloaded = errors.New("the plugin was not reloaded")
	// ErrPluginLost is a reload that failed and whose roll-back failed too: the plugin refuses all calls
	// until another reload works.
	ErrPluginLost = errors.New("the plugin does not work any more")
)

// ReloadPlugin loads a plugin anew that the host uses: its module, pin, limits and configuration are those
// of cfg, which may have been read again since the host was opened; nil stands for the host's own. What
// it is granted stays as it is.
//
// A plugin without state is loaded beside the one that works, configured and asked for its health; then it
// takes over, and calls that run end where they began. An exclusive one is compiled, and asked what it is;
// then calls are held back until the old one has ended and was closed and the new one is there, or, when
// that fails, the old one again. A volatile one would lose what it keeps, and is never reloaded.
//
// The new one must be what the old one is: its kinds and optional operations are at least the same. ctx
// bounds the reload, not the calls.
func (h *Host) ReloadPlugin(ctx context.Context, cfg *config.Config, name string) (PluginInfo, error) {
	if cfg == nil {
		cfg = h.cfg
	}
	l := h.loadedAs(name)
	if l == nil {
		if _, configured := cfg.Plugins[name]; !configured && !slices.Contains(plugins.Names(), name) {
			return PluginInfo{}, fmt.Errorf("reloading plugin %q: %w (there are: %v)", name, ErrNoPlugin, names(ListPlugins(cfg)))
		}
		return PluginInfo{}, fmt.Errorf("reloading plugin %q: %w: nothing has used it yet, and what does will find it as it is then", name, ErrNotLoaded)
	}
	l.reloading.Lock()
	defer l.reloading.Unlock()
	if err := h.reload(ctx, cfg, l); err != nil {
		return PluginInfo{}, fmt.Errorf("reloading plugin %q: %w", name, err)
	}
	info := h.redacted(l.info())
	h.log.Info("the plugin was reloaded", "plugin", name, "version", info.Version, "sha256", info.Digest)
	return info, nil
}

// unchanged is why a plugin is as it was before.
func unchanged(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrNotReloaded, fmt.Errorf(format, args...))
}

func (h *Host) reload(ctx context.Context, cfg *config.Config, l *loaded) error {
	if l.seat.Info().State == abi.StateVolatile {
		return unchanged("it keeps its state in memory, which would be lost; stop the host instead")
	}
	spec, now, err := h.respec(cfg, l)
	if err != nil {
		return err
	}
	module, err := h.runtime.Compile(ctx, spec)
	if err != nil {
		return unchanged("%w", err)
	}
	spec.Module, spec.Wasm = module, nil
	manifest, err := h.runtime.Describe(ctx, spec)
	if err == nil {
		err = sameKind(l.seat.Manifest(), manifest)
	}
	if err != nil {
		return errors.Join(unchanged("%w", err), module.Close(context.WithoutCancel(ctx)))
	}
	if manifest.State == abi.StateNone && l.seat.Info().State == abi.StateNone {
		err = h.replace(ctx, cfg, l, spec)
	} else {
		err = h.exchange(ctx, cfg, l, spec)
	}
	if err == nil {
		l.set(now)
	}
	return err
}

// respec reads a plugin's module anew, with what it was granted before.
func (h *Host) respec(cfg *config.Config, l *loaded) (plugin.Spec, config.Plugin, error) {
	now, ok := cfg.Plugins[l.name]
	if !ok {
		now = config.DefaultPlugin(l.name)
	}
	before := l.config()
	table := "plugins." + tomlKey(l.name)
	for _, part := range [...]struct {
		name          string
		before, after any
	}{{"sql", before.SQL, now.SQL}, {"grant", before.Grant, now.Grant}} {
		if !reflect.DeepEqual(part.before, part.after) {
			return plugin.Spec{}, now, unchanged("[%s.%s] has changed, and what a plugin is granted stays as it is until the host is started anew",
				table, part.name)
		}
	}
	wasm, digest, err := module(l.name, now)
	if err != nil {
		return plugin.Spec{}, now, unchanged("%w", err)
	}
	options, err := now.ConfigJSON()
	if err != nil {
		return plugin.Spec{}, now, unchanged("configuring it: %w", err)
	}
	return plugin.Spec{
		Name: l.name, Wasm: wasm, SHA256: digest, Caps: l.caps, Config: options, HostVersion: version,
		Limits: pluginLimits(now.Limits), Files: l.files,
	}, now, nil
}

// sameKind refuses a plugin that can't do what the one before it could.
func sameKind(before, after abi.Manifest) error {
	if after.State == abi.StateVolatile {
		return errors.New("the new one keeps its state in memory, which the old one does not; start the host anew")
	}
	for _, lists := range [...]struct {
		what          string
		before, after []string
	}{{"kind", before.Kinds, after.Kinds}, {"operation", before.Optional, after.Optional}} {
		for _, word := range lists.before {
			if !slices.Contains(lists.after, word) {
				return fmt.Errorf("the new one lacks the %s %q, which the old one has and the host may be using", lists.what, word)
			}
		}
	}
	return nil
}

// healthWithin bounds what a new plugin may take to say that it is well.
const healthWithin = 10 * time.Second

// opened loads a plugin of a compiled module, and asks for its health.
func (h *Host) opened(ctx context.Context, spec plugin.Spec) (*plugin.Plugin, error) {
	p, err := h.runtime.Load(ctx, spec)
	if err != nil {
		return nil, err
	}
	asking, cancel := context.WithTimeout(ctx, healthWithin)
	defer cancel()
	err = p.Call(asking, abi.OpHealth, nil, nil, nil)
	if guest, ok := errors.AsType[*abi.Error](err); err == nil || ok && guest.Code == abi.CodeUnsupported {
		return p, nil
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthWithin)
	defer cancel()
	return nil, errors.Join(fmt.Errorf("it is not well: %w", err), p.Close(closing))
}

// replace puts a plugin in the place of another while both are there.
func (h *Host) replace(ctx context.Context, cfg *config.Config, l *loaded, spec plugin.Spec) error {
	p, err := h.opened(ctx, spec)
	if err != nil {
		return errors.Join(unchanged("%w", positions(cfg, l.name, err)), spec.Module.Close(context.WithoutCancel(ctx)))
	}
	if err := l.seat.Replace(ctx, plugin.Occupant{Plugin: p, Module: spec.Module}); err != nil {
		if plugin.IsKind(err, plugin.KindBusy) || l.seat.Closed() {
			return unchanged("%w", err)
		}
		h.log.Warn("the plugin that was replaced did not close well", "plugin", l.name, "err", err)
	}
	return nil
}

// exchange puts a plugin in the place of another that must be gone before.
func (h *Host) exchange(ctx context.Context, cfg *config.Config, l *loaded, spec plugin.Spec) error {
	restored, closing, err := l.seat.Change(ctx,
		func(ctx context.Context) (plugin.Occupant, error) {
			p, err := h.opened(ctx, spec)
			return plugin.Occupant{Plugin: p, Module: spec.Module}, err
		},
		func(ctx context.Context, module *plugin.Module) (*plugin.Plugin, error) {
			old := l.config()
			options, err := old.ConfigJSON()
			if err != nil {
				return nil, err
			}
			return h.runtime.Load(ctx, plugin.Spec{
				Name: l.name, Module: module, Caps: l.caps, Config: options, HostVersion: version, Limits: pluginLimits(old.Limits), Files: l.files,
			})
		})
	if closing != nil {
		h.log.Warn("the plugin that was replaced did not close well", "plugin", l.name, "err", closing)
	}
	switch {
	case err == nil:
		return nil
	case restored:
		err = unchanged("%w", positions(cfg, l.name, err))
	default:
		err = fmt.Errorf("%w: %w", ErrPluginLost, positions(cfg, l.name, err))
	}
	return errors.Join(err, spec.Module.Close(context.WithoutCancel(ctx)))
}
