package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/store"
)

func newRunsAttach(a *app) *cobra.Command {
	var opts durable.AttachOptions
	cmd := &cobra.Command{
		Use:   "attach RUN",
		Short: "Show a run, from its beginning or from an offset on",
		Long: `attach shows what a run printed and prints, until it ends; the exit code is the command's own. A run
that has ended is shown to its end. When the host that drove it is gone, attach takes the run over,
after [runs] lease at most. Ctrl-C leaves the run alone.

--json prints one event a line, with the offset that --after takes: {"offset":…,"ts":…,"kind":…} and
the data, as "text" (output; "base64" when it is no UTF-8) or "data" (JSON of all other kinds).`,
		Example: `  alineo-host runs attach job-42
  alineo-host runs attach --json --after 118 job-42
  alineo-host runs attach $(alineo-host runs find chat-7)`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return hostFailed(a.withRun(cmd.Context(), args[0], func(ctx context.Context, runs *durable.Runs) error {
				return a.viewRun(ctx, runs, args[0], opts, false)
			}))
		},
	}
	cmd.Flags().Uint64Var(&opts.After, "after", 0, "show only what comes after this `offset`")
	cmd.Flags().BoolVar(&opts.Live, "live", false, "show only what comes from now on")
	return cmd
}

// viewRun shows a run to its end, which becomes the program's. When ctx ends, the run goes on, unless it ends
// with its viewer.
func (a *app) viewRun(ctx context.Context, runs *durable.Runs, id string, opts durable.AttachOptions, ends bool) error {
	viewer, err := runs.Attach(ctx, id, opts)
	if err != nil {
		return err
	}
	defer func() { _ = viewer.Close() }() // it returns nil
	var end *durable.Ended
	last := opts.After
	for {
		event, err := viewer.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && ctx.Err() != nil {
			return a.leaveRun(ctx, runs, id, last, ends)
		}
		if err != nil {
			return err
		}
		last = event.Offset
		if event.Kind == durable.EventEnded {
			end = new(durable.Ended)
			if err := json.Unmarshal(event.Data, end); err != nil {
				return fmt.Errorf("reading the end of run %q: %w", id, err)
			}
		}
		if err := a.printRunEvent(event); err != nil {
			return err
		}
	}
	// What is left to do about the end is done here, when it is this process's.
	if err := runs.AwaitRelease(ctx, id); err != nil {
		return err
	}
	if end == nil {
		// Its beginning was not wanted, or it is of another program's writing.
		run, err := runs.Get(ctx, id)
		if err != nil {
			return err
		}
		end = &durable.Ended{Status: run.Status, Error: run.Error}
	}
	return runEnded(id, end)
}

// leaveRun goes, and says how to come back.
func (a *app) leaveRun(ctx context.Context, runs *durable.Runs, id string, last uint64, ends bool) error {
	if ends {
		a.out.notef("run %s ends: nothing is kept of runs ([runs] keep)", id)
		return context.Cause(ctx)
	}
	// A second Ctrl-C ends the program at once.
	launching, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	if err := runs.AwaitLaunch(launching, id); err != nil {
		return err
	}
	a.out.notef("run %s goes on (%s runs attach --after %d %s; runs cancel ends it)", id, a.self(), last, quote(id))
	return context.Cause(ctx)
}

func (a *app) printRunEvent(event durable.Event) error {
	if a.out.json {
		return a.out.data(event)
	}
	if event.Kind != durable.EventOutput {
		return nil
	}
	if event.Lost {
		a.out.notef("(output that was not kept: its sandbox is gone)")
	}
	return a.out.write(event.Data)
}

// runEnded turns the end of a run into the end of the program.
func runEnded(id string, end *durable.Ended) error {
	code, why := exitHost, string(end.Status)
	if end.Error != nil {
		if why = end.Error.Message; end.Error.Code != "" && end.Error.Code != durable.CodeExit {
			why = end.Error.Code + ": " + why
		}
	}
	switch {
	case end.Status == store.RunCompleted:
		return nil
	case end.Status == store.RunAborted:
		code = exitSignal
	case end.ExitCode != nil && *end.ExitCode != 0:
		code = *end.ExitCode
	}
	return &exitError{code: code, err: fmt.Errorf("run %s %s: %s", id, end.Status, why)}
}
