package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/engine"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Finding is one thing that Doctor looked at.
type Finding struct {
	Area   string `json:"area"`   // "engine", "plugin", "ledger", "cache", "server", "secret"
	Name   string `json:"name"`   // of what was looked at
	OK     bool   `json:"ok"`     // it works
	Fatal  bool   `json:"fatal"`  // nothing runs until it is fixed
	Detail string `json:"detail"` // what was found
	Fix    string `json:"fix,omitempty"`
}

// Doctor tries what a configuration needs on this machine: isolation, plugins and their digests, the
// ledger, the cache. It starts no sandbox beyond a trial and writes nothing to the ledger.
func Doctor(ctx context.Context, cfg *config.Config) []Finding {
	var found []Finding
	found = append(found, checkServer(ctx, cfg)...)
	found = append(found, checkCache(ctx))
	if problems, ok := errors.AsType[config.Problems](cfg.CheckSecrets()); ok {
		for _, p := range problems {
			found = append(found, Finding{Area: "secret", Name: p.Key, Detail: p.Error(), Fix: "plugins that are granted it can't use it: put it there"})
		}
	}
	h, err := Open(ctx, cfg)
	if err != nil {
		return append(found, Finding{
			Area: "plugin", Name: cfg.Ledger.Plugin, Fatal: true, Detail: err.Error(),
			Fix: "correct [plugins." + cfg.Ledger.Plugin + "] in alineo.toml",
		})
	}
	for _, l := range h.inUse() {
		i := l.seat.Info()
		found = append(found, Finding{
			Area: "plugin", Name: l.name, OK: true,
			Detail: fmt.Sprintf("%s %s, sha256 %s as pinned, %d pages of memory used", i.GuestName, i.Version, i.Digest, i.HighPages),
		})
		found = append(found, l.databases(ctx)...)
	}
	found = append(found, checkLedger(ctx, h))
	if err := h.Close(ctx); err != nil {
		found = append(found, Finding{Area: "ledger", Name: "closing", Detail: err.Error()})
	}
	return found
}

func checkServer(ctx context.Context, cfg *config.Config) []Finding {
	h := &Host{cfg: cfg, log: newLogger(cfg.Log)}
	if cfg.Sandbox.URL != config.Embedded {
		return []Finding{h.checkRemote(ctx)}
	}
	// Said first: a folder that can't be written to makes every kind of isolation fail.
	if fix := unwritable(filepath.Join(cfg.Engine.Data, "x")); fix != "" {
		return []Finding{{
			Area: "engine", Name: "data directory", Fatal: true, Detail: cfg.Engine.Data + " can't be written to",
			Fix: fix + ", or name another folder with [engine] data",
		}}
	}
	report, err := engine.Probe(ctx, EngineOptions(h.cfg, h.log))
	if err != nil {
		return []Finding{{Area: "engine", Name: "probe", Fatal: true, Detail: err.Error()}}
	}
	level := Finding{Area: "engine", Name: "isolation", OK: true, Detail: report.Level}
	if report.Level != engine.IsolationNamespaces && !cfg.Engine.AllowReduced {
		level.OK, level.Fatal = false, true
		level.Fix = "fix what is missing below, or accept less with [engine] allow_reduced = true"
	}
	found := []Finding{level}
	for _, f := range report.Findings {
		found = append(found, Finding{Area: "engine", Name: f.Feature, OK: f.OK, Detail: f.Reason, Fix: f.Fix})
	}
	return found
}

// answerWithin bounds the question to a remote server.
const answerWithin = 5 * time.Second

// checkRemote asks a remote server for one sandbox.
func (h *Host) checkRemote(ctx context.Context) Finding {
	f := Finding{Area: "server", Name: h.cfg.Sandbox.URL}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	began := time.Now()
	wire, _, err := h.connect(ctx)
	if err == nil {
		defer wire.Close()
		for _, err = range wire.ListSandboxes(ctx, opensandbox.SandboxFilter{}) {
			break //nolint:staticcheck // the first answer is enough
		}
	}
	if err != nil {
		f.Fatal, f.Detail, f.Fix = true, err.Error(), "correct [sandbox] url and api_key, or start the server"
		return f
	}
	f.OK, f.Detail = true, fmt.Sprintf("answered in %s; the embedded engine is not used", time.Since(began).Round(time.Microsecond))
	return f
}

func checkCache(ctx context.Context) Finding {
	f := Finding{Area: "cache", Name: "compiled plugins", Detail: cacheDir()}
	if f.Detail == "" {
		f.Detail, f.Fix = "this user has no cache directory: plugins are compiled at each start", "set $HOME or $XDG_CACHE_HOME"
		return f
	}
	rt, err := plugin.NewRuntime(ctx, plugin.RuntimeOptions{CacheDir: f.Detail})
	if err == nil {
		err = errors.Join(rt.CacheError(), rt.Close(ctx))
	}
	if err != nil {
		f.Detail, f.Fix = err.Error(), "make the cache directory writable"
		return f
	}
	f.OK = true
	return f
}

// databases looks at what a plugin was granted.
func (l *loaded) databases(ctx context.Context) []Finding {
	var found []Finding
	for _, name := range l.caps.Databases() {
		db, _ := l.caps.Database(name)
		f := Finding{Area: "ledger", Name: "database " + name}
		info, err := db.Info(ctx)
		switch {
		case err != nil:
			f.Detail, f.Fatal = err.Error(), true
		case info.Driver == config.Postgres:
			f.OK, f.Detail = true, fmt.Sprintf("%s as %s, %s (PostgreSQL %s, synchronous_commit %s)", info.Path, info.Role, info.Transport, info.Version, info.Synchronous)
			if info.Pooled {
				f.Detail += ", through a pooler"
			}
		case info.Exists:
			f.OK, f.Detail = true, fmt.Sprintf("%s (SQLite %s, journal %s, synchronous %s)", info.Path, info.Version, info.JournalMode, info.Synchronous)
		default:
			f.OK, f.Detail = true, fmt.Sprintf("%s is made at first use (SQLite %s, synchronous %s)", info.Path, info.Version, info.Synchronous)
			if fix := unwritable(info.Path); fix != "" {
				f.OK, f.Fatal, f.Fix = false, true, fix
				f.Detail = info.Path + " is not there and can't be made"
			}
		}
		found = append(found, f)
	}
	return found
}

// unwritable says what to do when a file can't be made; empty when it can, as far as is to be seen.
func unwritable(path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case err == nil && !info.IsDir():
			return dir + " is not a folder"
		case err == nil:
			probe, err := os.CreateTemp(dir, ".alineo-doctor-*")
			if err != nil {
				return "make " + dir + " writable"
			}
			_ = probe.Close()
			_ = os.Remove(probe.Name())
			return ""
		case dir == filepath.Dir(dir):
			return err.Error()
		}
	}
}

// checkLedger asks the store for one sandbox, when its database is there already.
func checkLedger(ctx context.Context, h *Host) Finding {
	f := Finding{Area: "ledger", Name: "reading"}
	for _, l := range h.inUse() {
		for _, name := range l.caps.Databases() {
			db, _ := l.caps.Database(name)
			if info, err := db.Info(ctx); err == nil && !info.Exists {
				f.OK, f.Detail = true, "nothing to read yet"
				return f
			}
		}
	}
	began := time.Now()
	one := uint64(1)
	page, err := h.store.ListSandboxes(ctx, store.ListOptions{Limit: &one})
	switch {
	case err != nil:
		f.Fatal, f.Detail = true, err.Error()
	case len(page.Sandboxes) == 0:
		f.OK, f.Detail = true, "no sandboxes yet"
	default:
		f.OK = true
		f.Detail = fmt.Sprintf("the newest sandbox is %s, found in %s", page.Sandboxes[0].SandboxID, time.Since(began).Round(time.Microsecond))
	}
	return f
}
