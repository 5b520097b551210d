package main

import (
	"fmt"
	"net"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/engine"
)

func newEngine(a *app) *cobra.Command {
	var listen, metrics string
	cmd := &cobra.Command{
		Use:   "engine",
		Short: "Serve the embedded engine to any OpenSandbox client",
		Long: `engine serves the OpenSandbox protocol on this machine's own sandboxes, until it is interrupted.
Sandboxes outlive it, and the next engine on the same data directory finds them again. When
another process (a run, say) serves the data directory already, requests are passed on to it.

Without [engine] api_key it listens on loopback addresses only. With it, clients send the key as
OPEN-SANDBOX-API-KEY, which the official SDKs do. --metrics adds a Prometheus endpoint.`,
		Example: `  alineo-host engine
  alineo-host engine --listen 127.0.0.1:9000 --metrics 127.0.0.1:9464
  curl -s http://127.0.0.1:8080/health`,
		Args: subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			if a.logLevel == "" && cfg.Origin("log.level").Kind == config.FromDefault {
				cfg.Log.Level = "info" // it is a server: what it does is told in its log
			}
			opts := engine.ListenOptions{Address: cfg.Engine.Listen, Metrics: cfg.Engine.Metrics}
			if cmd.Flags().Changed("listen") {
				opts.Address = listen
			}
			if cmd.Flags().Changed("metrics") {
				opts.Metrics = metrics
			}
			opts.Ready = func(api, metrics net.Addr) {
				a.out.notef("serving OpenSandbox on http://%s", api)
				if metrics != nil {
					a.out.notef("serving metrics on http://%s/metrics", metrics)
				}
			}
			return host.ServeEngine(cmd.Context(), cfg, opts)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "serve clients on this `host:port`; port 0 takes a free one (default: [engine] listen)")
	cmd.Flags().StringVar(&metrics, "metrics", "", "serve Prometheus on this `host:port` (default: [engine] metrics)")
	cmd.AddCommand(newEngineStatus(a))
	return cmd
}

func newEngineStatus(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say who serves the engine's data directory, and what is in it",
		Long: `status asks the process that serves the engine's data directory, without becoming it. It exits
with 1 when nobody serves it.`,
		Example: "  alineo-host engine status\n  alineo-host engine status --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			s, err := engine.Status(cmd.Context(), host.EngineOptions(cfg, nil))
			if err != nil {
				return err
			}
			if err := a.printEngineStatus(&s); err != nil {
				return err
			}
			if !s.Serving {
				return &exitError{code: exitFailed}
			}
			return nil
		},
	}
}

func (a *app) printEngineStatus(s *engine.ServerStatus) error {
	if a.out.json {
		return a.out.data(s)
	}
	if !s.Serving {
		return a.out.printf("%s: nobody serves it (sandboxes that live are found again by the next engine)\n", s.Data)
	}
	return a.out.table([]string{"DATA", "PID", "SINCE", "ISOLATION", "SANDBOXES", "SNAPSHOTS"}, [][]string{{
		s.Data, strconv.Itoa(s.PID), s.Since.Local().Format(time.DateTime), s.Isolation, counts(s.Sandboxes), counts(s.Snapshots),
	}})
}

// counts lists states with their numbers, in the order of the states.
func counts(of map[string]int) string {
	if len(of) == 0 {
		return "0"
	}
	var list []string
	for state, n := range of {
		list = append(list, fmt.Sprintf("%d %s", n, state))
	}
	sort.Strings(list)
	return strings.Join(list, ", ")
}
