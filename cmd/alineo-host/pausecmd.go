package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host/sandbox"
)

func newPause(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "pause ID",
		Short: "Freeze a sandbox's processes",
		Long: `pause freezes the processes of a running sandbox, waits until they are frozen and records it. They
keep their memory and use no cpu. It can be deleted, and some servers take a checkpoint of it; the
other commands want it unpaused first.`,
		Example:           "  alineo-host pause 6f1c2d3e\n  alineo-host unpause 6f1c2d3e",
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.drive(cmd.Context(), args[0], sandbox.ConnectOptions{}, func(ctx context.Context, sb *driven) error {
				if err := sb.Pause(ctx); err != nil {
					return err
				}
				a.out.notef("paused %s", sb.ID())
				return nil
			})
		},
	}
}

func newUnpause(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "unpause ID",
		Short:             "Let a paused sandbox go on",
		Long:              "unpause lets a paused sandbox go on where it was, waits until it answers and records it.",
		Example:           "  alineo-host unpause 6f1c2d3e",
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.drive(cmd.Context(), args[0], sandbox.ConnectOptions{AllowPaused: true}, func(ctx context.Context, sb *driven) error {
				if err := sb.Unpause(ctx); err != nil {
					return err
				}
				a.out.notef("%s goes on", sb.ID())
				return nil
			})
		},
	}
}
