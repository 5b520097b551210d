package main

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/serve"
)

func newServe(a *app) *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve durable runs and their stores over HTTP, as a daemon",
		Long: `serve lets applications in any language start, view and cancel durable runs, and keep their own records
of instances and runs in the host's store (docs/serve.md has the endpoints). It looks after runs that
nobody looks after, every [runs] sweep_every, and has /metrics for Prometheus and /healthz. On a control
socket in [engine] data, which only its own user can open, "plugin list" asks it how its plugins are, and
"plugin reload" has it load one anew.

Without [serve] token it listens on loopback addresses only, and refuses what browsers send for pages of
other sites. With it, clients send "Authorization: Bearer TOKEN".

SIGTERM or Ctrl-C ends it: it takes no new run, commits what is under way and lets go of its runs. They go
on, and the next host takes them over.`,
		Example: `  alineo-host serve
  curl -s -d '{"runId":"job-1","threadId":"chat-7","command":"make test"}' http://127.0.0.1:7777/v1/runs
  curl -sN http://127.0.0.1:7777/v1/runs/job-1/events`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			if a.logLevel == "" && cfg.Origin("log.level").Kind == config.FromDefault {
				cfg.Log.Level = "info" // it is a server: what it does is told in its log
			}
			if cmd.Flags().Changed("listen") {
				cfg.Serve.Listen = listen
			}
			return a.serve(cmd.Context(), cfg)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "serve on this `host:port`; port 0 takes a free one (default: [serve] listen)")
	return cmd
}

func (a *app) serve(ctx context.Context, cfg *config.Config) error {
	return openHost(ctx, cfg, func(ctx context.Context, h *host.Host) error {
		if _, err := a.sandboxes(ctx, h); err != nil {
			return err
		}
		runs, err := h.Runs(ctx)
		if err != nil {
			return err
		}
		s, err := serve.New(serve.Options{
			Runs: runs, Address: cfg.Serve.Listen, Token: cfg.Serve.Token.Reveal(),
			SweepEvery: time.Duration(cfg.Runs.SweepEvery), Logger: h.Logger().Named("serve"), Control: a.control(h),
		})
		if err != nil {
			return &exitError{code: exitUsage, err: err}
		}
		return s.Listen(ctx, func(addr net.Addr) { a.out.notef("serving durable runs on http://%s", addr) })
	})
}

// control is what the daemon tells and does for those who operate it.
func (a *app) control(h *host.Host) *serve.ControlOptions {
	cfg := h.Config()
	return &serve.ControlOptions{
		Dir: cfg.Engine.Data, Version: host.Version().Host, Config: configPath(cfg),
		Plugins: func() []serve.Plugin {
			plugins := []serve.Plugin{}
			for _, p := range h.Plugins() {
				plugins = append(plugins, servedPlugin(p))
			}
			return plugins
		},
		Reload: func(ctx context.Context, name string) (serve.Plugin, error) {
			now, err := a.config() // as it is now
			if err != nil {
				return serve.Plugin{}, &serve.ControlError{Code: serve.CodeNotReloaded, Message: "reading the configuration again: " + err.Error()}
			}
			info, err := h.ReloadPlugin(ctx, now, name)
			for _, of := range [...]struct {
				err  error
				code string
			}{
				{host.ErrNoPlugin, serve.CodeUnknownPlugin},
				{host.ErrNotLoaded, serve.CodeNotLoaded},
				{host.ErrNotReloaded, serve.CodeNotReloaded},
				{host.ErrPluginLost, serve.CodePluginLost},
			} {
				if errors.Is(err, of.err) {
					return serve.Plugin{}, &serve.ControlError{Code: of.code, Message: err.Error()}
				}
			}
			return servedPlugin(info), err
		},
	}
}

// servedPlugin is a plugin as the control socket tells of it.
func servedPlugin(p host.PluginInfo) serve.Plugin {
	const page = 64 << 10
	s := serve.Plugin{
		Name: p.Name, GuestName: p.GuestName, Version: p.Version, SHA256: p.Digest, State: stateWord(p.State), Status: serve.PluginReady,
		LoadedAt: p.LoadedAt, Calls: p.Calls, Errors: p.Failures, Crashes: p.Crashes, P50: p.P50, P99: p.P99,
		Instances: p.Instances, Waiting: p.Waiting, MemoryBytes: int64(p.Pages) * page,
	}
	switch {
	case p.Lost != nil:
		s.Status, s.LastError = serve.PluginLost, p.Lost.Error()
		return s
	case p.Failed:
		s.Status = serve.PluginFailed
		if !p.Forever {
			s.Retry = max(p.RetryIn, 1) // the next call
		}
	}
	if p.LastError != nil {
		s.LastError, s.LastErrorAt = p.LastError.Error(), &p.LastAt
	}
	return s
}
