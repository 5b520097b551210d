package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

func newSandboxes(a *app) *cobra.Command {
	cmd := group("sandboxes", "List, show or delete sandboxes",
		"  alineo-host sandboxes list\n  alineo-host sandboxes show ID",
		newSandboxesList(a), newSandboxesShow(a), newSandboxesDelete(a))
	cmd.Long = `sandboxes works with what the ledger has of sandboxes, those that run and those that ended. top shows how
busy the running ones are, and connect what the server says about one.`
	return cmd
}

func newSandboxesList(a *app) *cobra.Command {
	var opts store.ListOptions
	var limit uint64
	var before string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sandboxes of the ledger, newest first",
		Long: `list shows what the ledger has of sandboxes: name, how they stand, when they began and how long they
took, how many commands they ran. Running is what the ledger knows: one whose process was killed, or
that has expired, was never said to have ended ("top" asks the server, too).

--json prints one sandbox a line, with its run and its parent. --before takes a date, a time, or an
age, such as the startedAt of the last line that was seen, to go on from there.`,
		Example: `  alineo-host sandboxes list
  alineo-host sandboxes list --status running --json
  alineo-host sandboxes list --before 7d --limit 0
  alineo-host sandboxes list --before '2026-11-30 14:00' --name build`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch opts.Status {
			case "", store.StatusRunning, store.StatusCompleted:
			default:
				return &exitError{code: exitUsage, err: fmt.Errorf("--status %q is neither running nor completed", opts.Status)}
			}
			if before != "" {
				at, err := parseMoment(before, time.Now())
				if err != nil {
					return &exitError{code: exitUsage, err: fmt.Errorf("--before: %w", err)}
				}
				opts.Before = &at
			}
			return a.withHost(cmd.Context(), func(ctx context.Context, h *host.Host) error {
				return a.listSandboxes(ctx, h, opts, limit)
			})
		},
	}
	cmd.Flags().StringVar(&before, "before", "", "only those that began before this `time`, such as 2026-11-30, '2026-11-30 14:00', 7d or Unix milliseconds")
	cmd.Flags().StringVar(&opts.Name, "name", "", "only sandboxes of this `name`")
	cmd.Flags().StringVar(&opts.Status, "status", "", "only running or completed ones; running is what the ledger knows")
	cmd.Flags().StringVar(&opts.RunID, "run-id", "", "only those of this run")
	cmd.Flags().Uint64VarP(&limit, "limit", "n", 50, "at most this many; 0 lists all")
	return cmd
}

// parseMoment reads a date, a time, an age or Unix milliseconds, and returns the latter.
func parseMoment(text string, now time.Time) (int64, error) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms >= 0 {
		return ms, nil
	}
	if age, err := parseAge(text); err == nil {
		return now.Add(-age).UnixMilli(), nil
	}
	for _, form := range [...]string{time.RFC3339, time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return at.UnixMilli(), nil
		}
	}
	return 0, fmt.Errorf("%q is no time (try 2026-11-30, '2026-11-30 14:00', 2026-11-30T14:00:00Z, 7d or Unix milliseconds)", text)
}

func (a *app) listSandboxes(ctx context.Context, h *host.Host, opts store.ListOptions, limit uint64) error {
	var all []store.Details
	if limit > 0 {
		opts.Limit = &limit
	}
	for d, err := range eachSandbox(ctx, h.Store(), opts) {
		if err != nil {
			return err
		}
		if all = append(all, d); limit > 0 && uint64(len(all)) == limit {
			break
		}
	}
	if a.out.json {
		for _, d := range all {
			if err := a.out.data(d); err != nil {
				return err
			}
		}
		return nil
	}
	if len(all) == 0 {
		a.out.notef("no sandboxes in %s (try: %s run -- echo hello)", h.LedgerText(), a.self())
		return nil
	}
	rows := make([][]string, 0, len(all))
	for _, d := range all {
		rows = append(rows, []string{
			d.SandboxID, d.Name, d.Status, clock(d.StartedAt), duration(d), strconv.FormatInt(d.ExecCount, 10),
		})
	}
	return a.out.table([]string{"ID", "NAME", "STATUS", "STARTED", "TOOK", "EXECS"}, rows)
}

func duration(d store.Details) string {
	if d.CompletedAt == 0 {
		return "-"
	}
	return (time.Duration(d.CompletedAt-d.StartedAt) * time.Millisecond).String()
}

// shown is what sandboxes show prints.
type shown struct {
	store.Details
	Checkpoints []store.Checkpoint `json:"checkpoints"`
}

func newSandboxesShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show one sandbox and its checkpoints; the beginning of an id is enough",
		Long: `show sums up what the ledger has of a sandbox, with the snapshots of its checkpoints, for restore, and
their names, for resume --tag. "ledger show" prints every event; connect asks the server.`,
		Example:           "  alineo-host sandboxes show 6f1c2d3e\n  alineo-host sandboxes show --json 6f1c2d3e | jq -r '.checkpoints[].snapshotId'",
		Args:              usage(cobra.ExactArgs(1)),
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHost(cmd.Context(), func(ctx context.Context, h *host.Host) error {
				d, err := a.findSandbox(ctx, h.Store(), args[0])
				if err != nil {
					return err
				}
				checkpoints := []store.Checkpoint{}
				for c, err := range ledger.Checkpoints(ctx, h.Store(), store.Key{Name: d.Name, SandboxID: d.SandboxID}) {
					if err != nil {
						return err
					}
					checkpoints = append(checkpoints, c)
				}
				if a.out.json {
					return a.out.data(shown{d, checkpoints})
				}
				rows := [][]string{
					{"id", d.SandboxID},
					{"name", d.Name},
					{"status", d.Status},
					{"run", d.RunID},
					{"started", clock(d.StartedAt)},
					{"completed", clock(d.CompletedAt)},
					{"execs", strconv.FormatInt(d.ExecCount, 10)},
				}
				if d.ParentSandboxID != "" {
					rows = append(rows, []string{"parent", d.ParentSandboxID})
				}
				for _, c := range checkpoints {
					rows = append(rows, []string{"checkpoint", fmt.Sprintf("%s (snapshot %s, %s)", orDash(c.Tag), c.SnapshotID, clock(c.CreatedAt))})
				}
				return a.out.table([]string{"FIELD", "VALUE"}, rows)
			})
		},
	}
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func newSandboxesDelete(a *app) *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "delete ID",
		Short: "Stop a sandbox if it still runs, and remove its ledger",
		Long: `delete ends a sandbox on the server, with what runs in it, and removes what the ledger has of it: it
can't be resumed then. With --keep-ledger it only ends, and its events stay.

One that runs, as far as the ledger knows, and can't be ended keeps its ledger: without that, nobody
would know of it. "ledger prune --include-running" removes the ledgers of sandboxes whose server is
gone for good.`,
		Example: `  alineo-host sandboxes delete 6f1c2d3e
  alineo-host sandboxes delete --keep-ledger 6f1c2d3e`,
		Args:              usage(cobra.ExactArgs(1)),
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHost(cmd.Context(), func(ctx context.Context, h *host.Host) error {
				return a.deleteSandbox(ctx, h, args[0], keep)
			})
		},
	}
	cmd.Flags().BoolVar(&keep, "keep-ledger", false, "only stop it; its events stay and it counts as completed")
	return cmd
}

func (a *app) deleteSandbox(ctx context.Context, h *host.Host, id string, keep bool) error {
	d, err := a.findSandbox(ctx, h.Store(), id)
	if err != nil {
		return err
	}
	key := store.Key{Name: d.Name, SandboxID: d.SandboxID}
	boxes, err := a.sandboxes(ctx, h)
	if err != nil {
		return err
	}
	if keep {
		if err := boxes.Stop(ctx, key); err != nil {
			return err
		}
		a.out.notef("stopped sandbox %s; its ledger stays", d.SandboxID)
		return a.out.changed(change{Type: "stopped", SandboxID: d.SandboxID, Name: d.Name})
	}
	stopErr := boxes.Stop(ctx, key)
	if stopErr != nil && d.Status != store.StatusCompleted {
		return fmt.Errorf("%w\n(it may still run, so its ledger stays)", stopErr)
	}
	rows, err := h.Store().DeleteSandbox(ctx, key)
	if err := errors.Join(stopErr, err); err != nil {
		return err
	}
	a.out.notef("deleted sandbox %s and %s", d.SandboxID, count(rows, "event"))
	return a.out.changed(change{Type: "deleted", SandboxID: d.SandboxID, Name: d.Name, Events: &rows})
}
