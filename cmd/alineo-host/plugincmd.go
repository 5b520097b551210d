package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host"
)

func newPlugin(a *app) *cobra.Command {
	return group("plugin", "List, inspect, test or pin plugins",
		"  alineo-host plugin list\n  alineo-host plugin inspect sqlite\n  alineo-host plugin test ./my-ledger.wasm",
		newPluginList(a), newPluginInspect(a), newPluginTest(a), newPluginPin(a))
}

func newPluginList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the plugins of the configuration and those that are bundled",
		Example: "  alineo-host plugin list --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			var rows [][]string
			for _, p := range host.ListPlugins(cfg) {
				if a.out.json {
					if err := a.out.data(p); err != nil {
						return err
					}
					continue
				}
				rows = append(rows, []string{p.Name, orDash(p.Used), p.Source, fmt.Sprintf("%.12s", p.SHA256)})
			}
			if a.out.json {
				return nil
			}
			return a.out.table([]string{"NAME", "USED AS", "SOURCE", "SHA256"}, rows)
		},
	}
}

func newPluginInspect(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "inspect NAME|FILE",
		Short: "Load a plugin and show its manifest, limits and cost",
		Example: `  alineo-host plugin inspect sqlite
  alineo-host plugin inspect ./my-ledger.wasm`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			i, err := host.Inspect(cmd.Context(), cfg, args[0])
			if err != nil {
				return err
			}
			if a.out.json {
				return a.out.data(i)
			}
			return a.out.table([]string{"FIELD", "VALUE"}, inspectRows(i))
		},
	}
}

func inspectRows(i host.Inspection) [][]string {
	m, l := i.Manifest, i.Limits
	rows := [][]string{
		{"name", m.Name + " " + m.Version},
		{"kinds", strings.Join(m.Kinds, ", ")},
		{"sha256", i.Digest},
		{"state", stateName(m.State)},
	}
	for _, w := range m.Capabilities {
		what := "wants"
		if w.Optional {
			what = "can use"
		}
		rows = append(rows, []string{what, fmt.Sprintf("%s: %s", strings.TrimSpace(w.Name+" "+w.Resource), w.Reason)})
	}
	return append(rows, [][]string{
		{"module", fmt.Sprintf("%d bytes; %d loops, %d functions and %d bulk operations are metered", i.ModuleBytes, i.Loops, i.Functions, i.Bulk)},
		{"loaded in", i.Load.String()},
		{"a call takes", i.Echo.String()},
		{"memory", fmt.Sprintf("%d pages of 64 KiB used, %d allowed", i.HighPages, l.MemoryBytes>>16)},
		{"deadlines", fmt.Sprintf("%s a call, %s to start", l.Deadline, l.StartDeadline)},
		{"instances", fmt.Sprintf("%d now, %d at most", i.Instances, l.Instances)},
		{"largest request", fmt.Sprintf("%d bytes", l.MaxRequest)},
		{"largest response", fmt.Sprintf("%d bytes", l.MaxResponse)},
		{"log lines", fmt.Sprintf("%d a second", l.LogPerSecond)},
		{"fuel", fmt.Sprintf("%d in %d calls", i.Fuel, i.Calls)},
	}...)
}

func stateName(s abi.GuestState) string {
	switch s {
	case abi.StateNone:
		return "none (instances are pooled and replaced)"
	case abi.StateVolatile:
		return "volatile (a crash is final)"
	case abi.StateExclusive:
		return "exclusive (one instance)"
	}
	return fmt.Sprintf("unknown (%d)", s)
}
