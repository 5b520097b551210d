package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/store"
)

func newRunsList(a *app) *cobra.Command {
	var opts store.RunListOptions
	var status string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List runs, newest first",
		Example: `  alineo-host runs list
  alineo-host runs list --thread chat-7 --status running --json`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Status = store.RunStatus(status)
			if status != "" && !opts.Status.Known() {
				return &exitError{code: exitUsage, err: fmt.Errorf("--status %q is not running, interrupted, completed, failed or aborted", status)}
			}
			if limit < 0 {
				return &exitError{code: exitUsage, err: fmt.Errorf("--limit %d is less than 0", limit)}
			}
			return a.withRuns(cmd.Context(), func(ctx context.Context, runs *durable.Runs) error {
				return a.listRuns(ctx, runs, opts, limit)
			})
		},
	}
	cmd.Flags().StringVarP(&opts.ThreadID, "thread", "t", "", "only those of this thread's `id`")
	cmd.Flags().StringVar(&status, "status", "", "only running, interrupted, completed, failed or aborted ones")
	cmd.Flags().IntVarP(&limit, "limit", "n", 50, "at most this many; 0 lists all")
	return cmd
}

// errRunsCircle is a store that would be listed for ever.
var errRunsCircle = errors.New("listing runs: the store's pages lead in a circle")

func (a *app) listRuns(ctx context.Context, runs *durable.Runs, opts store.RunListOptions, limit int) error {
	var rows [][]string
	opts.Limit = limit
	var circle store.Circle
	for left := limit; ; {
		page, err := runs.List(ctx, opts)
		if err != nil {
			return err
		}
		if limit > 0 {
			page.Runs = page.Runs[:min(left, len(page.Runs))]
			left -= len(page.Runs)
		}
		for _, run := range page.Runs {
			if a.out.json {
				if err := a.out.data(run); err != nil {
					return err
				}
				continue
			}
			rows = append(rows, runRow(run))
		}
		if !page.More || limit > 0 && left == 0 {
			break
		}
		if circle.Closes(page.Cursor) {
			return errRunsCircle
		}
		opts.Cursor = page.Cursor
	}
	switch {
	case a.out.json:
		return nil
	case len(rows) == 0:
		a.out.notef("no runs (try: %s runs start -- echo hello)", a.self())
		return nil
	}
	return a.out.table(runHeader(), rows)
}
