package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host/config"
)

type pinLine struct {
	Plugin  string `json:"plugin"`
	SHA256  string `json:"sha256"`
	File    string `json:"file"`
	Changed bool   `json:"changed"`
}

func newPluginPin(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "pin NAME",
		Short: "Write the digest of a plugin's module into alineo.toml",
		Long: `pin reads the module that [plugins.NAME] names as its source and writes its sha256 into
alineo.toml: in the place of the old one, or behind source. Comments and everything else stay
as they are, and the file is replaced at once. Pin what you trust: from then on a module with
other bytes is refused.`,
		Example:           "  alineo-host plugin pin my-ledger\n  alineo-host plugin pin my-ledger --config ./alineo.toml --json",
		ValidArgsFunction: a.completePlugin,
		Args:              usage(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			file := config.Find(a.configFile)
			if file == "" {
				return &exitError{code: exitUsage, err: errors.New("there is no alineo.toml here to write to (see --config)")}
			}
			digest, changed, err := config.PinFile(file, args[0])
			if err != nil {
				return err
			}
			if a.out.json {
				return a.out.data(pinLine{Plugin: args[0], SHA256: digest, File: file, Changed: changed})
			}
			was := "is pinned in"
			if !changed {
				was = "was pinned already in"
			}
			return a.out.printf("%s %s %s: sha256 = %q\n", args[0], was, file, digest)
		},
	}
}
