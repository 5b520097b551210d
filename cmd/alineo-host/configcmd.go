package main

import "github.com/spf13/cobra"

func newConfig(a *app) *cobra.Command {
	return group("config", "Check or show the configuration", "  alineo-host config check\n  alineo-host config show --json",
		newConfigCheck(a), newConfigShow(a))
}

func newConfigCheck(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "check",
		Short:   "Report every problem of the configuration, each with its line",
		Example: "  alineo-host config check --config ./alineo.toml",
		Args:    usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			if err := cfg.CheckSecrets(); err != nil {
				return &exitError{code: exitUsage, err: err}
			}
			file := cfg.File()
			if a.out.json {
				return a.out.data(struct {
					OK   bool   `json:"ok"`
					File string `json:"file,omitempty"`
				}{true, file})
			}
			if file == "" {
				file = "no file; the defaults"
			}
			return a.out.printf("ok (%s)\n", file)
		},
	}
}

func newConfigShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "show",
		Short:   "Print every value in force and where it comes from; secrets are redacted",
		Example: "  alineo-host config show",
		Args:    usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			if a.out.json {
				return cfg.WriteJSON(a.out.out)
			}
			return cfg.WriteText(a.out.out)
		},
	}
}
