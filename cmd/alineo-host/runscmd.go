package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/store"
)

func newRuns(a *app) *cobra.Command {
	cmd := group("runs", "Commands that go on when their viewer or their host is gone",
		"  alineo-host runs start --thread chat-7 -- make test\n  alineo-host runs attach RUN",
		newRunsStart(a), newRunsAttach(a), newRunsFind(a), newRunsList(a), newRunsCancel(a), newRunsReap(a))
	cmd.Long = `A durable run is a command in a sandbox that needs neither this program nor a viewer. start begins
one and shows its output, attach shows it again from the beginning or from an offset, on any host
with the same store, and takes the run over when the host that drove it is gone.

A run belongs to a thread, a conversation for example; the runs of a thread share a sandbox. [runs] of
alineo.toml says what is kept of them. "serve" does the same for programs, over HTTP.`
	return cmd
}

// withRuns opens the host and its durable runs for f.
func (a *app) withRuns(ctx context.Context, f func(context.Context, *durable.Runs) error) error {
	return a.withHost(ctx, func(ctx context.Context, h *host.Host) error {
		if _, err := a.sandboxes(ctx, h); err != nil {
			return err // it says more
		}
		runs, err := h.Runs(ctx)
		if err != nil {
			return err
		}
		return f(ctx, runs)
	})
}

// withRun is withRuns for a run that somebody named: a wrong name is told with what to do.
func (a *app) withRun(ctx context.Context, id string, f func(context.Context, *durable.Runs) error) error {
	err := a.withRuns(ctx, f)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("there is no run %q (%s runs list shows those there are)", id, a.self())
	}
	return err
}

// keptNowhere tells whether runs end with this process, because nothing of them is stored.
func keptNowhere(cfg *config.Config) bool {
	return cfg.Runs.Keep == config.KeepChat || cfg.Runs.Keep == config.KeepNothing
}

// runRow is a run as a row of a table.
func runRow(run store.Run) []string {
	since, why := "-", ""
	if run.DetachedSince != nil && !run.Status.Terminal() {
		since = clock(*run.DetachedSince)
	}
	finished := "-"
	if run.FinishedAt != nil {
		finished = clock(*run.FinishedAt)
	}
	if run.Error != nil {
		if why = run.Error.Message; run.Error.Code != "" && !strings.HasPrefix(why, run.Error.Code) {
			why = run.Error.Code + ": " + why
		}
	}
	return []string{run.ID, run.ThreadID, string(run.Status), clock(run.StartedAt), finished, since, why}
}

func runHeader() []string {
	return []string{"RUN", "THREAD", "STATUS", "STARTED", "FINISHED", "DETACHED SINCE", "WHY"}
}
