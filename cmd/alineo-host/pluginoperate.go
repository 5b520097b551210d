package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/serve"
)

func newPluginList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List plugins, and how those of the daemon are",
		Long: `list names the plugins of the configuration and those that are bundled. When "alineo-host serve" runs with
this configuration, it is asked on its control socket, and of each plugin that it has loaded there is what
it did since: its calls, how many ended in an error, the time that half and 99 of 100 of them took at most,
how often it crashed, and the memory of its instances.`,
		Example: "  alineo-host plugin list\n  alineo-host plugin list --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			status, err := a.daemon(cmd.Context(), cfg)
			switch {
			case errors.Is(err, serve.ErrNoDaemon):
				a.out.notef("no daemon runs here (%s serve); this is what the configuration says", a.self())
			case errors.Is(err, errOtherConfig):
				a.out.notef("%v; this is what the configuration says", err)
			case err != nil:
				return err
			}
			return a.listPlugins(host.ListPlugins(cfg), status)
		},
	}
}

// errOtherConfig is a daemon that was started with another configuration.
var errOtherConfig = errors.New("the daemon has another configuration")

// daemon asks the daemon of a configuration how its plugins are.
func (a *app) daemon(ctx context.Context, cfg *config.Config) (serve.ControlStatus, error) {
	asking, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	status, err := serve.NewControl(cfg.Engine.Data).Status(asking)
	if err != nil {
		return serve.ControlStatus{}, err
	}
	if ours := configPath(cfg); status.Daemon.Config != ours {
		return serve.ControlStatus{}, fmt.Errorf("%w: process %d was started with %s, not with %s (name it with --config)", errOtherConfig,
			status.Daemon.PID, fileOrNone(status.Daemon.Config), fileOrNone(ours))
	}
	return status, nil
}

// configPath is where a configuration's file is; empty: it has none.
func configPath(cfg *config.Config) string {
	if cfg.File() == "" {
		return ""
	}
	return filepath.Join(cfg.Dir(), filepath.Base(cfg.File()))
}

func fileOrNone(path string) string {
	if path == "" {
		return "no file"
	}
	return path
}

// pluginLine is what --json prints of a plugin.
type pluginLine struct {
	host.PluginEntry

	Running *serve.Plugin `json:"running,omitempty"` // absent: no daemon has loaded it
}

func (a *app) listPlugins(entries []host.PluginEntry, status serve.ControlStatus) error {
	running := map[string]*serve.Plugin{}
	for i := range status.Plugins {
		running[status.Plugins[i].Name] = &status.Plugins[i]
	}
	var rows [][]string
	for _, e := range entries {
		p := running[e.Name]
		switch {
		case a.out.json:
			if err := a.out.data(pluginLine{e, p}); err != nil {
				return err
			}
		case status.Daemon.PID == 0:
			rows = append(rows, []string{e.Name, orDash(e.Used), e.Source, fmt.Sprintf("%.12s", e.SHA256)})
		case p == nil:
			rows = append(rows, []string{e.Name, orDash(e.Used), "not loaded", "-", fmt.Sprintf("%.12s", e.SHA256), "-", "-", "-", "-", "-", "-", e.Source})
		default:
			rows = append(rows, []string{
				e.Name, orDash(e.Used), pluginStatus(p), p.Version, fmt.Sprintf("%.12s", p.SHA256), strconv.FormatUint(p.Calls, 10), strconv.FormatUint(p.Errors, 10),
				short(p.P50), short(p.P99), strconv.FormatUint(p.Crashes, 10), bytesText(p.MemoryBytes), e.Source,
			})
		}
	}
	switch {
	case a.out.json:
		return nil
	case status.Daemon.PID == 0:
		return a.out.table([]string{"NAME", "USED AS", "SOURCE", "SHA256"}, rows)
	}
	d := status.Daemon
	a.out.notef("process %d, %s, serves on %s since %s", d.PID, d.Version, d.Address, d.Since.Local().Format(time.DateTime))
	return a.out.table([]string{
		"NAME", "USED AS", "STATUS", "VERSION", "SHA256", "CALLS", "ERRORS", "P50", "P99", "CRASHES", "MEMORY", "SOURCE",
	}, rows)
}

// pluginStatus says in a few words how a plugin is.
func pluginStatus(p *serve.Plugin) string {
	switch {
	case p.Status == serve.PluginFailed && p.Retry > 0:
		return "failed, tried again in " + p.Retry.Round(time.Second).String()
	case p.Status == serve.PluginFailed:
		return "failed for good"
	}
	return p.Status
}

// short writes a time with three digits or so.
func short(d time.Duration) string {
	if d == 0 {
		return "-" // there were no calls
	}
	unit := time.Duration(1)
	for d >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit).String()
}

func newPluginReload(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "reload NAME",
		Short: "Have the daemon load a plugin anew, without an end to what runs",
		Long: `reload asks the "alineo-host serve" that runs with this configuration to read alineo.toml again and to load
one of its plugins anew: its module, which must be the one that is pinned now, its limits and its
configuration. What it is granted stays as it is until the daemon is started anew.

A plugin without state takes over at once, when it was configured and is well; calls that run end in the
old one. An exclusive one is opened after the old one was closed, while calls wait; when it does not start,
the old one is opened again. One that keeps its state in memory is not reloaded. Whatever fails, the
exit code is 1 and it says whether the plugin works as before.`,
		ValidArgsFunction: a.completePlugin,
		Example:           `  alineo-host plugin pin my-ledger && alineo-host plugin reload my-ledger`,
		Args:              usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			_, err = a.daemon(cmd.Context(), cfg)
			if errors.Is(err, serve.ErrNoDaemon) {
				return fmt.Errorf("%w; there is nothing to reload: every other command loads its plugins as they are then", err)
			}
			if err != nil {
				return err
			}
			p, err := serve.NewControl(cfg.Engine.Data).Reload(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.out.json {
				return a.out.data(p)
			}
			return a.out.printf("%s was reloaded: version %s, sha256 %s\n", p.Name, p.Version, p.SHA256)
		},
	}
}

func newPluginVerify(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Check that all plugins are what they are pinned to",
		Long: `verify reads the modules of all plugins, those of the configuration and those that are bundled, and holds
their digests against their pins. None of them is run. When "alineo-host serve" runs with this
configuration, it also says which of its plugins is not the one that is pinned now.

It exits with 1 when a module is not the one that was pinned, or can't be read.`,
		Example: "  alineo-host plugin verify\n  alineo-host plugin verify --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			// What is on disk is told whether or not a daemon can be asked.
			status, err := a.daemon(cmd.Context(), cfg)
			if err != nil && !errors.Is(err, serve.ErrNoDaemon) {
				a.out.notef("%v", err)
			}
			return a.verifyPlugins(host.VerifyPlugins(cfg), status)
		},
	}
}

// verifiedLine is what --json prints of a plugin.
type verifiedLine struct {
	host.PluginCheck

	Running string `json:"running,omitempty"` // the digest of the one that the daemon has loaded
}

func (a *app) verifyPlugins(checks []host.PluginCheck, status serve.ControlStatus) error {
	running := map[string]string{}
	for _, p := range status.Plugins {
		running[p.Name] = p.SHA256
	}
	bad := 0
	var rows [][]string
	for _, c := range checks {
		if !c.OK {
			bad++
		}
		if a.out.json {
			if err := a.out.data(verifiedLine{c, running[c.Name]}); err != nil {
				return err
			}
			continue
		}
		verdict := "as pinned"
		if !c.OK {
			verdict = c.Problem
		}
		if now := running[c.Name]; now != "" && now != c.Pinned {
			verdict += fmt.Sprintf("; the daemon runs %.12s still (%s plugin reload %s)", now, a.self(), c.Name)
		}
		rows = append(rows, []string{c.Name, fmt.Sprintf("%.12s", c.Pinned), orDash(fmt.Sprintf("%.12s", c.Found)), c.Source, verdict})
	}
	if !a.out.json {
		if err := a.out.table([]string{"NAME", "PINNED", "FOUND", "SOURCE", "RESULT"}, rows); err != nil {
			return err
		}
	}
	if bad > 0 {
		return &exitError{code: exitFailed, err: fmt.Errorf("%s: not what was pinned", count(bad, "plugin"))}
	}
	return nil
}
