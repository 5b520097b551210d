package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// How top asks: so many sandboxes at most, so many at a time, and each for so long.
const (
	topLimit   = 100
	topAtOnce  = 16
	topPatient = 10 * time.Second
)

// stateGone is a sandbox that the ledger takes for running and the server does not know.
const stateGone = "gone"

// topRow is one sandbox in top.
type topRow struct {
	SandboxID   string   `json:"sandboxId"`
	Name        string   `json:"name"`
	State       string   `json:"state"` // the server's, gone when it has none such, or unknown
	StartedAt   int64    `json:"startedAt"`
	Execs       int64    `json:"execCount"`
	CPU         *float64 `json:"cpu,omitempty"`         // percent; nothing while it does not run
	MemoryUsed  *float64 `json:"memoryUsed,omitempty"`  // MiB
	MemoryTotal *float64 `json:"memoryTotal,omitempty"` // MiB
	Problem     string   `json:"problem,omitempty"`
}

func newTop(a *app) *cobra.Command {
	var once bool
	var interval time.Duration
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show the running sandboxes and how busy they are",
		Long: `top shows the sandboxes that run, as far as the ledger knows, the newest first: their state on the
server, their cpu in percent of what they have, and their memory. On a terminal it goes on until
Ctrl-C; with --once or --json, or in a pipe, it measures once.

A sandbox that is gone was deleted or has expired, and its end is not in the ledger; "sandboxes
delete --keep-ledger" says so there.`,
		Example: `  alineo-host top
  alineo-host top --once
  alineo-host top --json | jq -r 'select(.cpu > 90) | .sandboxId'`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			const least = 500 * time.Millisecond
			if interval < least {
				return &exitError{code: exitUsage, err: fmt.Errorf("--interval %s is shorter than %s", interval, least)}
			}
			live := !once && !a.out.json && term.IsTerminal(int(os.Stdout.Fd()))
			return a.withLooker(cmd.Context(), func(ctx context.Context, l *looker) error {
				if live {
					return l.watchTop(ctx, interval)
				}
				rows, more, err := l.top(ctx)
				if err != nil {
					return err
				}
				return a.printTop(rows, more)
			})
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "measure once, also on a terminal")
	cmd.Flags().DurationVar(&interval, "interval", 2*time.Second, "how long from one look to the next")
	return cmd
}

// top measures all sandboxes, several at a time. It reports whether there are more than it shows.
func (l *looker) top(ctx context.Context) (rows []topRow, more bool, err error) {
	for d, err := range eachSandbox(ctx, l.host.Store(), store.ListOptions{Status: store.StatusRunning}) {
		if err != nil {
			return nil, false, err
		}
		if len(rows) == topLimit {
			more = true
			break
		}
		rows = append(rows, topRow{SandboxID: d.SandboxID, Name: d.Name, StartedAt: d.StartedAt, Execs: d.ExecCount})
	}
	var all errgroup.Group
	all.SetLimit(topAtOnce)
	for i := range rows {
		all.Go(func() error {
			asking, cancel := context.WithTimeout(ctx, topPatient)
			defer cancel()
			l.measure(asking, &rows[i])
			return nil
		})
	}
	_ = all.Wait() // what went wrong is in the rows
	return rows, more, ctx.Err()
}

func (l *looker) measure(ctx context.Context, row *topRow) {
	row.State = "unknown"
	box, err := l.wire.GetSandbox(ctx, row.SandboxID)
	switch {
	case errors.Is(err, opensandbox.ErrNotFound):
		row.State = stateGone
		return
	case err != nil:
		row.Problem = err.Error()
		return
	}
	row.State = box.Status.State
	if row.State != opensandbox.StateRunning {
		return
	}
	m, err := l.wire.Execd(row.SandboxID).Metrics(ctx)
	if err != nil {
		row.Problem = err.Error()
		return
	}
	row.CPU, row.MemoryUsed, row.MemoryTotal = &m.CPUUsedPercent, &m.MemoryUsedMiB, &m.MemoryTotalMiB
}

func (a *app) printTop(rows []topRow, more bool) error {
	if a.out.json {
		for i := range rows {
			if err := a.out.data(&rows[i]); err != nil {
				return err
			}
		}
		return nil
	}
	cells := make([][]string, len(rows))
	for i, row := range rows {
		cpu, used, total := "-", "-", "-"
		if row.CPU != nil {
			cpu, used, total = percent(*row.CPU), mebibytes(*row.MemoryUsed), mebibytes(*row.MemoryTotal)
		}
		age := time.Since(time.UnixMilli(row.StartedAt)).Round(time.Second)
		state := row.State
		if row.Problem != "" {
			state += ": " + row.Problem
		}
		const short = 40
		cells[i] = []string{
			row.SandboxID[:min(len(row.SandboxID), 8)], oneLine(row.Name, short), cpu, used, total, strconv.FormatInt(row.Execs, 10), age.String(), state,
		}
	}
	if err := a.out.table([]string{"ID", "NAME", "CPU", "MEMORY", "OF", "EXECS", "AGE", "STATE"}, cells); err != nil {
		return err
	}
	if more {
		a.out.notef("and more than the %d newest, which are not shown", topLimit)
	}
	return nil
}

// watchTop shows the table again and again, on a screen of its own.
func (l *looker) watchTop(ctx context.Context, interval time.Duration) (err error) {
	const enter, leave, home, rest = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l", "\x1b[H", "\x1b[J"
	if _, err := os.Stdout.WriteString(enter); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	defer func() {
		if _, leaveErr := os.Stdout.WriteString(leave); err == nil && leaveErr != nil {
			err = fmt.Errorf("writing output: %w", leaveErr)
		}
	}()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		rows, more, err := l.top(ctx)
		if ctx.Err() != nil {
			return nil // Ctrl-C is how watching ends
		}
		if err != nil {
			return err
		}
		var table bytes.Buffer
		page := &app{out: &output{out: &table, err: &table}}
		if err := page.printTop(rows, more); err != nil {
			return err
		}
		screen := fmt.Sprintf("%s, %s (Ctrl-C ends)\n\n%s", time.Now().Format(time.TimeOnly), count(len(rows), "sandbox"), table.String())
		if _, err := os.Stdout.WriteString(home + fitScreen(screen) + rest); err != nil {
			return fmt.Errorf("writing output: %w", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// fitScreen cuts a text to the terminal, and ends each line there so that nothing older is left.
func fitScreen(text string) string {
	columns, lines, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || columns < 1 || lines < 2 {
		columns, lines = 80, 24
	}
	var b bytes.Buffer
	for i, line := range bytes.Split([]byte(text), []byte("\n")) {
		if i == lines-1 {
			break
		}
		if i > 0 {
			b.WriteString("\r\n")
		}
		if shown := []rune(string(line)); len(shown) > columns {
			line = []byte(string(shown[:columns]))
		}
		b.Write(line)
		b.WriteString("\x1b[K")
	}
	return b.String()
}
