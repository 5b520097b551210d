package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host/sandbox"
)

func newMetrics(a *app) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "metrics ID",
		Short: "Show how busy a sandbox is",
		Long: `metrics measures the cpu and the memory of a running sandbox, once or, with --watch, about every two
seconds until Ctrl-C. Servers that measure no more closely tell about the machine that it runs on.
The percentages are of all its cpus and of its memory. --json has what the server sent, too.`,
		Example: `  alineo-host metrics 6f1c2d3e
  alineo-host metrics 6f1c2d3e --watch --json`,
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.look(cmd.Context(), args[0], func(ctx context.Context, sb *sandbox.Handle) error {
				if !watch {
					m, err := sb.Metrics(ctx)
					if err != nil {
						return err
					}
					return a.printMetrics(sb, m, true)
				}
				first := true
				for m, err := range sb.WatchMetrics(ctx) {
					if ctx.Err() != nil {
						return nil // Ctrl-C is how watching ends
					}
					if err != nil {
						return err
					}
					if err := a.printMetrics(sb, m, first); err != nil {
						return err
					}
					first = false
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "go on until Ctrl-C")
	return cmd
}

// measured is what --json prints.
type measured struct {
	SandboxID string          `json:"sandboxId"`
	CPU       float64         `json:"cpu"`    // percent
	Memory    float64         `json:"memory"` // percent
	Timestamp int64           `json:"timestamp"`
	Wire      json.RawMessage `json:"wire"`
}

// printMetrics prints one line; its columns keep their places from line to line.
func (a *app) printMetrics(sb *sandbox.Handle, m *sandbox.Metrics, header bool) error {
	if a.out.json {
		return a.out.data(measured{sb.ID(), m.CPU, m.Memory, m.Time.UnixMilli(), m.Wire.Raw})
	}
	const line = "%-8s  %6s  %6s  %10s  %10s  %s\n"
	if header {
		if err := a.out.printf(line, "TIME", "CPU", "MEMORY", "USED", "OF", "CPUS"); err != nil {
			return err
		}
	}
	return a.out.printf(line, m.Time.Local().Format(time.TimeOnly), percent(m.CPU), percent(m.Memory),
		mebibytes(m.Wire.MemoryUsedMiB), mebibytes(m.Wire.MemoryTotalMiB), fmt.Sprintf("%g", m.Wire.CPUCount))
}

func percent(p float64) string { return fmt.Sprintf("%.1f%%", p) }

func mebibytes(m float64) string {
	const mebi = 1 << 20
	return bytesText(int64(m * mebi))
}
