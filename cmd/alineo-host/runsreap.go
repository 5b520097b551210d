package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host/durable"
)

func newRunsReap(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "reap",
		Short: "Look once after the runs that nobody looks after",
		Long: `reap sweeps once: runs that ended while nobody looked are finished, those that nobody viewed for
[runs] detached_ttl are ended with their sandboxes, and those that are to be canceled are. What goes on
is not touched. "serve" does it every [runs] sweep_every.`,
		Example: "  alineo-host runs reap\n  alineo-host runs reap --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withRuns(cmd.Context(), func(ctx context.Context, runs *durable.Runs) error {
				sweep, err := runs.Reap(ctx)
				if sweep != nil {
					if printErr := a.printSweep(sweep); printErr != nil {
						return printErr
					}
				}
				return err
			})
		},
	}
}

func (a *app) printSweep(s *durable.Sweep) error {
	if a.out.json {
		return a.out.data(s)
	}
	a.out.notef("%s waited, %s adopted, %s ended that no run used", count(s.Considered, "run"), count(s.Orphans, "orphan"), count(s.Machines+s.Idle, "sandbox"))
	if len(s.Runs) == 0 {
		return nil
	}
	rows := make([][]string, 0, len(s.Runs))
	for _, run := range s.Runs {
		code := "-"
		if run.ExitCode != nil {
			code = strconv.Itoa(*run.ExitCode)
		}
		rows = append(rows, []string{run.RunID, string(run.Outcome), orDash(string(run.Status)), code, run.Error})
	}
	return a.out.table([]string{"RUN", "OUTCOME", "STATUS", "EXIT", "ERROR"}, rows)
}
