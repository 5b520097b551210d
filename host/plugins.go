package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/postgres"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/internal/span"
	"github.com/alineo-labs/alineo-host/plugins"
)

// loaded is a plugin with what it was granted.
type loaded struct {
	name  string
	seat  *plugin.Seat
	caps  *capability.Set
	files []plugin.Files

	reloading sync.Mutex

	mu  sync.Mutex
	cfg config.Plugin // that it was loaded with last
}

// config is what the plugin was loaded with last.
func (l *loaded) config() config.Plugin {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cfg
}

func (l *loaded) set(cfg config.Plugin) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cfg = cfg
}

func (l *loaded) info() PluginInfo {
	return PluginInfo{Name: l.name, Manifest: l.seat.Manifest(), Info: l.seat.Info(), Lost: l.seat.Vacant()}
}

func (l *loaded) close(ctx context.Context) error {
	err := l.seat.Close(ctx)
	if capErr := l.caps.Close(); capErr != nil {
		err = errors.Join(err, capErr)
	}
	return err
}

// needKind refuses a plugin that is not of a kind.
func (l *loaded) needKind(kind string) error {
	kinds := l.seat.Manifest().Kinds
	if slices.Contains(kinds, kind) {
		return nil
	}
	return fmt.Errorf("plugin %q is not a %s (it says that it is: %v)", l.name, kind, kinds)
}

// inUse are the plugins that are loaded now.
func (h *Host) inUse() []*loaded {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.loaded)
}

// loadedAs returns the loaded plugin of a name, nil when there is none.
func (h *Host) loadedAs(name string) *loaded {
	for _, p := range h.inUse() {
		if p.name == name {
			return p
		}
	}
	return nil
}

// load loads a configured or bundled plugin, unless it is loaded, and keeps it for Close.
func (h *Host) load(ctx context.Context, name string) (*loaded, error) {
	h.loading.Lock()
	defer h.loading.Unlock()
	if l := h.loadedAs(name); l != nil {
		return l, nil
	}
	if h.runtime == nil {
		rt, err := plugin.NewRuntime(ctx, plugin.RuntimeOptions{CacheDir: cacheDir(), Logger: h.log.Named("plugin"), Tracer: span.New(h.tracers)})
		if err != nil {
			return nil, err
		}
		h.runtime = rt
	}
	cfg, ok := h.cfg.Plugins[name]
	if !ok {
		cfg = config.DefaultPlugin(name)
	}
	spec, err := h.spec(name, cfg)
	if err != nil {
		return nil, err
	}
	occupant, err := h.start(ctx, spec.Spec)
	if err != nil {
		return nil, errors.Join(positions(h.cfg, name, err), spec.caps.Close())
	}
	l := &loaded{name: name, seat: plugin.NewSeat(occupant), caps: spec.caps, files: spec.Files, cfg: cfg}
	l.caps.OnDue(func() { h.keepFresh(l) })
	h.mu.Lock()
	closed := h.closed
	if !closed {
		h.loaded = append(h.loaded, l)
	}
	h.mu.Unlock()
	if closed {
		return nil, errors.Join(ErrClosed, l.close(ctx))
	}
	return l, nil
}

// freshWithin bounds what a plugin does for what it keeps.
const freshWithin = time.Minute

// keepFresh lets a plugin renew what it keeps, when that ends soon and nobody may ask for anything until then.
func (h *Host) keepFresh(l *loaded) {
	ctx, cancel := context.WithTimeout(context.Background(), freshWithin)
	defer cancel()
	if err := l.seat.Call(ctx, abi.OpHealth, nil, nil, nil); err != nil {
		h.log.Warn("a plugin could not be asked to renew what it keeps", "plugin", l.name, "err", err)
	}
}

// start compiles a plugin's module and starts it.
func (h *Host) start(ctx context.Context, spec plugin.Spec) (plugin.Occupant, error) {
	module, err := h.runtime.Compile(ctx, spec)
	if err != nil {
		return plugin.Occupant{}, err
	}
	spec.Module, spec.Wasm = module, nil
	p, err := h.runtime.Load(ctx, spec)
	if err != nil {
		return plugin.Occupant{}, errors.Join(err, module.Close(context.WithoutCancel(ctx)))
	}
	return plugin.Occupant{Plugin: p, Module: module}, nil
}

type pluginSpec struct {
	plugin.Spec
	caps *capability.Set
}

// spec reads a plugin's module and opens what it is granted.
func (h *Host) spec(name string, cfg config.Plugin) (pluginSpec, error) {
	wasm, digest, err := module(name, cfg)
	if err != nil {
		return pluginSpec{}, err
	}
	options, err := cfg.ConfigJSON()
	if err != nil {
		return pluginSpec{}, fmt.Errorf("configuring plugin %q: %w", name, err)
	}
	databases := make(map[string]capability.Database, len(cfg.SQL))
	for _, db := range slices.Sorted(maps.Keys(cfg.SQL)) {
		opened, err := h.database(cfg.SQL[db])
		if err != nil {
			return pluginSpec{}, fmt.Errorf("%sgranting database %q to plugin %q: %w", h.whereDatabase(name, db), db, name, err)
		}
		databases[db] = opened
	}
	web, err := h.web(name, cfg.Grant)
	if err != nil {
		return pluginSpec{}, err
	}
	files, closers, err := h.files(name, cfg.Grant.Files)
	if err != nil {
		return pluginSpec{}, err
	}
	caps := capability.NewSet(capability.SetOptions{
		Plugin: name, Databases: databases, Secrets: h.secrets(cfg.Grant), Web: web, Files: closers,
		Logger: h.log.Named("guest").With("plugin", name),
	})
	limits := pluginLimits(cfg.Limits)
	if cfg.Source == "" && cfg.Limits.Deadline == config.DefaultLimits().Deadline {
		limits.FirstDeadline = firstUse
	}
	return pluginSpec{caps: caps, Spec: plugin.Spec{
		Name: name, Wasm: wasm, SHA256: digest, Caps: caps, Config: options, HostVersion: version,
		Limits: limits, Files: files,
	}}, nil
}

// firstUse is how long the first use of a bundled plugin may take, unless the configuration says how long a
// call may: a ledger of the reference's is given its names and indexes then.
const firstUse = 2 * time.Minute

// database opens a database that a plugin is granted. Nothing is connected to before it is used.
func (h *Host) database(grant config.SQL) (capability.Database, error) {
	if grant.Driver == config.Postgres {
		return postgres.Open(postgres.Options{
			DSN: grant.DSN.Reveal(), PoolSize: grant.PoolSize, StatementTimeout: time.Duration(grant.StatementTimeout),
			AllowSuperuser: grant.AllowSuperuser, Logger: h.log.Named("sql"),
		})
	}
	return sqlite.Open(sqlite.Options{
		Path: grant.Path, Synchronous: grant.Synchronous, BusyTimeout: time.Duration(grant.BusyTimeout),
		Logger: h.log.Named("sql"),
	})
}

// whereDatabase is where the file says which database a plugin is granted, as the beginning of a message.
func (h *Host) whereDatabase(name, db string) string {
	key := "plugins." + name + ".sql." + db
	for _, at := range [...]string{key + ".dsn", key} {
		if origin := h.cfg.Origin(at); origin.Kind != config.FromDefault {
			return origin.String() + ": "
		}
	}
	return ""
}

// module returns a plugin's bytes and the digest that they must have.
func module(name string, cfg config.Plugin) (wasm []byte, digest string, err error) {
	if cfg.Source == "" {
		bundle, err := plugins.Find(name)
		return bundle.Wasm, bundle.SHA256, err
	}
	info, err := os.Stat(cfg.Source)
	if err != nil {
		return nil, "", fmt.Errorf("reading plugin %q: %w", name, err)
	}
	if most := plugin.DefaultLimits().MaxModule; info.Size() > most {
		return nil, "", fmt.Errorf("reading plugin %q: %s has %d bytes; a module has at most %d", name, cfg.Source, info.Size(), most)
	}
	wasm, err = os.ReadFile(cfg.Source)
	if err != nil {
		return nil, "", fmt.Errorf("reading plugin %q: %w", name, err)
	}
	return wasm, cfg.SHA256, nil
}

// positions prints a guest's complaints about its configuration against the lines of the file.
func positions(cfg *config.Config, name string, err error) error {
	var refused *plugin.ConfigError
	if !errors.As(err, &refused) {
		return err
	}
	errs := make([]error, 0, len(refused.Diagnostics))
	for _, d := range refused.Diagnostics {
		key := "plugins." + name + ".config"
		if d.Key != "" {
			key += "." + d.Key
		}
		at := cfg.Position(key).String()
		if at != "" {
			at += ": "
		}
		errs = append(errs, fmt.Errorf("%s%s: %s", at, key, d.Message))
	}
	return errors.Join(errs...)
}

// PluginInfo describes a plugin that was loaded.
type PluginInfo struct {
	Name     string       `json:"name"`
	Manifest abi.Manifest `json:"manifest"`
	plugin.Info

	// Lost is why the plugin is not there since a reload whose roll-back failed; nil: it is.
	Lost error `json:"-"`
}

// Plugins describes the plugins that the host has loaded.
func (h *Host) Plugins() []PluginInfo {
	all := h.inUse()
	infos := make([]PluginInfo, 0, len(all))
	for _, l := range all {
		infos = append(infos, h.redacted(l.info()))
	}
	return infos
}

// redacted takes known secrets out of what a guest said last.
func (h *Host) redacted(info PluginInfo) PluginInfo {
	if h.redactor != nil && info.LastError != nil {
		info.LastError = h.redactor.Error(info.LastError)
	}
	return info
}

// LedgerText says in a few words where the ledger is, for people.
func (h *Host) LedgerText() string {
	if !h.writer.Keeps() {
		return "none, which keeps nothing"
	}
	name := h.cfg.Ledger.Plugin
	if !slices.ContainsFunc(h.inUse(), func(l *loaded) bool { return l.name == name }) {
		return "the program's own store"
	}
	granted := h.cfg.Plugins[name].SQL
	if len(granted) == 0 {
		return "plugin " + name
	}
	grant := granted[slices.Min(slices.Collect(maps.Keys(granted)))]
	place := grant.Path
	if grant.Driver == config.Postgres {
		place = postgres.Where(grant.DSN.Reveal())
	}
	return fmt.Sprintf("%s (plugin %s)", place, name)
}
