package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// idThenCommand is the argument check of commands like exec: an id or a name, and a command line of at least so
// many arguments, whose flags are its own. Flags of ours may stand before the id and behind it. The
// command line is then what commandArgs returns.
func idThenCommand(least int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			if err := cmd.Flags().Parse(args[1:]); err != nil {
				return cmd.FlagErrorFunc()(cmd, err)
			}
			if help, err := cmd.Flags().GetBool("help"); err == nil && help {
				return pflag.ErrHelp
			}
		}
		return usage(func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return errors.New("the first argument is missing")
			case len(commandArgs(cmd)) < least:
				return errors.New("there is no command to run")
			}
			return nil
		})(cmd, args)
	}
}

// commandArgs returns the arguments behind the id.
func commandArgs(cmd *cobra.Command) []string { return cmd.Flags().Args() }
