package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/store"
)

func newRunsFind(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "find THREAD",
		Short: "Print the active run of a thread",
		Long: `find prints the id of the thread's run that is running and started last, so that a viewer who comes
back can attach to it. It exits with 1 when none runs.`,
		Example: "  alineo-host runs attach $(alineo-host runs find chat-7)",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withRuns(cmd.Context(), func(ctx context.Context, runs *durable.Runs) error {
				run, err := runs.Find(ctx, args[0])
				if errors.Is(err, store.ErrNotFound) {
					return fmt.Errorf("no run of thread %q is running", args[0])
				}
				if err != nil {
					return err
				}
				if a.out.json {
					return a.out.data(run)
				}
				return a.out.printf("%s\n", run.ID)
			})
		},
	}
}
