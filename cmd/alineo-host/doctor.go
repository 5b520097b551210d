package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
)

func newDoctor(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Try what the configuration needs on this machine, and say what to do about the rest",
		Long: `doctor tries namespaces, overlay, cgroups, seccomp and landlock, loads the plugins and
compares their digests, opens the ledger and looks at the caches. It exits with 1 when
something is missing without which nothing runs.`,
		Example: "  alineo-host doctor\n  alineo-host doctor --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			found := host.Doctor(cmd.Context(), cfg)
			fatal := false
			rows := make([][]string, 0, len(found))
			for _, f := range found {
				fatal = fatal || f.Fatal
				if a.out.json {
					if err := a.out.data(f); err != nil {
						return err
					}
					continue
				}
				rows = append(rows, []string{mark(f), f.Area, f.Name, f.Detail})
				if f.Fix != "" {
					rows = append(rows, []string{"", "", "", "→ " + f.Fix})
				}
			}
			if !a.out.json {
				if err := a.out.table([]string{"", "AREA", "WHAT", "FOUND"}, rows); err != nil {
					return err
				}
			}
			if fatal {
				return errors.New("something is missing without which nothing runs (see above)")
			}
			return nil
		},
	}
}

func mark(f host.Finding) string {
	switch {
	case f.OK:
		return "ok"
	case f.Fatal:
		return "FAIL"
	}
	return "warn"
}
