package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/internal/adapter"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/plugins"
)

// PluginEntry is a plugin that the configuration names or the binary brings along; it need not be
// loaded.
type PluginEntry struct {
	Name   string `json:"name"`
	Source string `json:"source"` // "bundled" or a path
	SHA256 string `json:"sha256"` // that it is pinned to
	Used   string `json:"used"`   // what for, or empty
}

// ListPlugins lists configured and bundled plugins by name, without loading any.
func ListPlugins(cfg *config.Config) []PluginEntry {
	names := slices.Collect(maps.Keys(cfg.Plugins))
	names = append(names, plugins.Names()...)
	slices.Sort(names)
	names = slices.Compact(names)
	list := make([]PluginEntry, 0, len(names))
	for _, name := range names {
		p := cfg.Plugins[name]
		entry := PluginEntry{Name: name, Source: p.Source, SHA256: p.SHA256}
		if p.Source == "" {
			entry.Source = "bundled"
			// A bundle without a digest is reported when it is loaded.
			bundle, _ := plugins.Find(name)
			entry.SHA256 = bundle.SHA256
		}
		switch name {
		case cfg.Ledger.Plugin:
			entry.Used = "ledger"
		case cfg.RunsPlugin():
			entry.Used = "runs"
		case cfg.Credentials.Broker:
			entry.Used = "credentials"
		}
		list = append(list, entry)
	}
	return list
}

// Inspection is what is to be known of one plugin.
type Inspection struct {
	PluginInfo

	Source   string // that alineo.toml has to name; empty: bundled, or configured already
	Unstated error  // why the guest could not be configured; nil: it was
	Load     time.Duration
	Echo     time.Duration // one call with 256 bytes there and back, the median; 0: it was not measured
}

// Inspect loads a plugin that the configuration names or the binary brings along, or a module from a
// file, and describes it. A file need not be pinned and is granted nothing: it runs, within the
// default limits, only far enough to describe itself.
func Inspect(ctx context.Context, cfg *config.Config, nameOrFile string) (info Inspection, err error) {
	h := &Host{cfg: cfg, log: newLogger(cfg.Log), redactor: credential.NewRedactor()}
	defer func() { err = errors.Join(err, h.closePlugins(context.WithoutCancel(ctx))) }()
	began := time.Now()
	if _, configured := cfg.Plugins[nameOrFile]; configured {
		l, err := h.load(ctx, nameOrFile)
		if err != nil {
			return info, err
		}
		info.Load = time.Since(began)
		info.Echo, err = measureEcho(ctx, l.seat)
		info.PluginInfo = PluginInfo{Name: nameOrFile, Manifest: l.seat.Manifest(), Info: l.seat.Info()}
		return info, err
	}
	source := config.Plugin{}
	if !slices.Contains(plugins.Names(), nameOrFile) {
		if _, err := os.Stat(nameOrFile); err != nil {
			return info, fmt.Errorf("inspecting plugin %q: it is neither in the configuration (%v) nor a file", nameOrFile, names(ListPlugins(cfg)))
		}
		source.Source = nameOrFile
	}
	wasm, _, err := module(nameOrFile, source)
	if err != nil {
		return info, err
	}
	info, err = h.inspectModule(ctx, nameOrFile, wasm)
	info.Source = source.Source
	return info, err
}

// inspectModule describes a module that nobody configured.
func (h *Host) inspectModule(ctx context.Context, name string, wasm []byte) (info Inspection, err error) {
	if h.runtime, err = plugin.NewRuntime(ctx, plugin.RuntimeOptions{CacheDir: cacheDir(), Logger: h.log.Named("plugin")}); err != nil {
		return info, err
	}
	began := time.Now()
	digest := sha256.Sum256(wasm)
	spec := plugin.Spec{
		Name: name, Wasm: wasm, SHA256: hex.EncodeToString(digest[:]), Caps: nothing{h.log}, HostVersion: version,
	}
	module, err := h.runtime.Compile(ctx, spec)
	if err != nil {
		return info, err
	}
	defer func() { err = errors.Join(err, module.Close(context.WithoutCancel(ctx))) }()
	spec.Module = module
	p, err := h.runtime.Load(ctx, spec)
	if plugin.IsKind(err, plugin.KindConfig, plugin.KindGuest, plugin.KindTrap) {
		// It is a plugin, but not without its configuration.
		info.Unstated = err
		info.Info = module.Info()
		info.Manifest, err = h.runtime.Describe(ctx, spec)
		info.GuestName, info.Version, info.State = info.Manifest.Name, info.Manifest.Version, info.Manifest.State
		info.Name, info.Load = name, time.Since(began)
		return info, err
	}
	if err != nil {
		return info, err
	}
	info.Load = time.Since(began)
	info.Echo, err = measureEcho(ctx, p)
	info.PluginInfo = PluginInfo{Name: name, Manifest: p.Manifest(), Info: p.Info()}
	return info, err
}

func names(entries []PluginEntry) []string {
	list := make([]string, len(entries))
	for i, e := range entries {
		list[i] = e.Name
	}
	return list
}

// nothing lets a guest start and grants it nothing.
type nothing struct{ log hclog.Logger }

func (nothing) Granted(abi.Want) error { return nil }

func (n nothing) Logger() hclog.Logger { return n.log }

func (nothing) Handle(_ context.Context, _ *capability.Call, op abi.Op, _, dst []byte) ([]byte, *abi.Error) {
	return dst, &abi.Error{Code: abi.CodeDenied, Message: op.String() + " is not granted while a plugin is inspected"}
}

// raw is a message that is its own wire form.
type raw []byte

func (r raw) AppendTo(dst []byte) []byte { return append(dst, r...) }
func (r raw) Unmarshal([]byte) error     { return nil }

// measureEcho is the median of some calls that do nothing.
func measureEcho(ctx context.Context, p adapter.Guest) (time.Duration, error) {
	body := make(raw, 256)
	took := make([]time.Duration, 0, 1000)
	for range cap(took) {
		began := time.Now()
		if err := p.Call(ctx, abi.OpEcho, body, nil, body); err != nil {
			var guest *abi.Error
			if errors.As(err, &guest) && guest.Code == abi.CodeUnsupported {
				return 0, nil
			}
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}
