package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host"
)

func newPlugin(a *app) *cobra.Command {
	return group("plugin", "Make, list, inspect, test or pin plugins",
		"  alineo-host plugin list\n  alineo-host plugin inspect sqlite\n  alineo-host plugin test ./my-ledger.wasm",
		newPluginList(a), newPluginInspect(a), newPluginNew(a), newPluginTest(a), newPluginPin(a))
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

// stateWord is a state as the ABI calls it.
func stateWord(s abi.GuestState) string {
	switch s {
	case abi.StateNone:
		return "none"
	case abi.StateVolatile:
		return "volatile"
	case abi.StateExclusive:
		return "exclusive"
	}
	return fmt.Sprintf("unknown (%d)", s)
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
