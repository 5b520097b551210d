package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host/durable"
)

func newRunsCancel(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "cancel RUN",
		Short: "End a run, wherever it is driven, and its sandbox",
		Long: `cancel asks for a run's end and waits until it has ended. Its sandbox is destroyed, unless another run
uses it. Ctrl-C stops the waiting; the request stands. A run that has ended already is left as it is.`,
		Example: "  alineo-host runs cancel job-42",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withRun(cmd.Context(), args[0], func(ctx context.Context, runs *durable.Runs) error {
				return a.cancelRun(ctx, runs, args[0])
			})
		},
	}
}

func (a *app) cancelRun(ctx context.Context, runs *durable.Runs, id string) error {
	err := runs.Cancel(ctx, id)
	ended := errors.Is(err, durable.ErrEnded)
	if err != nil && !ended {
		return err
	}
	const every = 200 * time.Millisecond
	look := time.NewTicker(every)
	defer look.Stop()
	for {
		run, err := runs.Get(ctx, id)
		if err != nil {
			return err
		}
		if !run.Status.Terminal() {
			select {
			case <-look.C:
				continue
			case <-ctx.Done():
				a.out.notef("the request stands; whoever drives the run, or the next sweep, ends it")
				return context.Cause(ctx)
			}
		}
		if err := runs.AwaitRelease(ctx, id); err != nil {
			return err
		}
		if a.out.json {
			return a.out.data(run)
		}
		if ended {
			a.out.notef("run %s had ended already (%s)", id, run.Status)
			return nil
		}
		a.out.notef("run %s has ended (%s)", id, run.Status)
		return nil
	}
}
