package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/ledger"
)

func newLedgerStats(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "stats",
		Short: "Say how much is in the ledger",
		Example: `  alineo-host ledger stats
  alineo-host ledger stats --json`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.operate(cmd.Context(), func(ctx context.Context, h *host.Host) error {
				bar := a.out.newBar("summing up")
				s, err := ledger.CollectStats(ctx, h.Store(), bar.tell())
				bar.done()
				if err != nil {
					return err
				}
				if a.out.json {
					return a.out.data(s)
				}
				return a.printStats(h, s)
			})
		},
	}
}

// topNames is how many names are shown.
const topNames = 10

func (a *app) printStats(h *host.Host, s *ledger.Stats) error {
	storage := "unknown"
	if s.StorageBytes >= 0 {
		storage = bytesText(s.StorageBytes)
	}
	if err := a.out.table([]string{"FIELD", "VALUE"}, [][]string{
		{"ledger", h.LedgerText()},
		{"sandboxes", fmt.Sprintf("%d (%d running, or never closed)", s.Sandboxes, s.Running)},
		{"events", strconv.FormatUint(s.Entries, 10)},
		{"text", fmt.Sprintf("%s (%d bytes)", bytesText(s.Bytes), s.Bytes)},
		{"oldest", clock(s.OldestTS)},
		{"newest", clock(s.NewestTS)},
		{"storage", storage},
		{"schema", strconv.FormatInt(s.SchemaVersion, 10)},
		{"tombstones", strconv.FormatUint(s.Tombstones, 10)},
		{"environments", strconv.FormatUint(s.Environments, 10)},
	}); err != nil {
		return err
	}
	if len(s.Names) == 0 {
		return nil
	}
	rows := make([][]string, 0, topNames)
	for _, n := range s.Names[:min(topNames, len(s.Names))] {
		rows = append(rows, []string{n.Name, strconv.FormatUint(n.Sandboxes, 10), strconv.FormatUint(n.Entries, 10), bytesText(n.Bytes)})
	}
	if err := a.out.printf("\n"); err != nil {
		return err
	}
	if err := a.out.table([]string{"NAME", "SANDBOXES", "EVENTS", "TEXT"}, rows); err != nil {
		return err
	}
	if more := len(s.Names) - topNames; more > 0 {
		a.out.notef("and %d more names (see --json)", more)
	}
	return nil
}
