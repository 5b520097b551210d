package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

// pruneFlags are the flags of ledger prune.
type pruneFlags struct {
	olderThan, maxSize string
	keep               int
	yes                bool
	opts               ledger.PruneOptions
}

func newLedgerPrune(a *app) *cobra.Command {
	var f pruneFlags
	cmd := &cobra.Command{
		Use:   "prune --older-than AGE | --keep N | --max-size SIZE",
		Short: "Remove whole sandboxes by age, number or size, the oldest first",
		Long: `prune removes sandboxes with all their events, those whose last event is the oldest
first, and leaves a tombstone of each. Of several conditions one is enough. Running
sandboxes stay, and so do those that a sandbox which stays was resumed from: it needs
their events when it is resumed again.

--max-size is about the text of events, which is what ledger stats calls bytes. The
database reuses the space; its file need not get smaller.

It asks before it removes anything. Where there is no terminal to ask on, --yes is
needed; --dry-run says what would go and changes nothing.`,
		Example: `  alineo-host ledger prune --older-than 30d --dry-run
  alineo-host ledger prune --keep 1000 --name job --yes
  alineo-host ledger prune --max-size 2GB`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.parse(cmd.Flags().Changed("keep")); err != nil {
				return &exitError{code: exitUsage, err: err}
			}
			return a.operate(cmd.Context(), func(ctx context.Context, h *host.Host) error {
				return a.prune(ctx, h, &f)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.olderThan, "older-than", "", "those whose last event is older than this `age`, such as 30d, 12h or 2w")
	flags.IntVar(&f.keep, "keep", 0, "all but the newest `N`")
	flags.StringVar(&f.maxSize, "max-size", "", "the oldest, until the rest has at most this `size`, such as 500MB or 2GiB")
	flags.StringVar(&f.opts.Name, "name", "", "only sandboxes of this `name`; the others are not counted")
	flags.BoolVar(&f.opts.IncludeRunning, "include-running", false, "also those that were never closed")
	flags.BoolVar(&f.opts.IncludeAncestors, "include-ancestors", false, "also those that others, which stay, were resumed from")
	flags.BoolVar(&f.opts.DryRun, "dry-run", false, "say what would go")
	flags.BoolVarP(&f.yes, "yes", "y", false, "don't ask")
	return cmd
}

func (f *pruneFlags) parse(keep bool) error {
	var err error
	if f.olderThan != "" {
		if f.opts.OlderThan, err = parseAge(f.olderThan); err != nil {
			return fmt.Errorf("--older-than: %w", err)
		}
	}
	if f.maxSize != "" {
		size, err := parseSize(f.maxSize)
		if err != nil {
			return fmt.Errorf("--max-size: %w", err)
		}
		f.opts.MaxBytes = &size
	}
	if keep {
		if f.keep < 0 {
			return fmt.Errorf("--keep %d is negative", f.keep)
		}
		f.opts.Keep = &f.keep
	}
	if f.olderThan == "" && f.maxSize == "" && !keep {
		return errors.New("say what goes: --older-than 30d, --keep 1000 or --max-size 2GB")
	}
	return nil
}

// parseAge reads a duration that may also be in days or weeks.
func parseAge(text string) (time.Duration, error) {
	const day = 24 * time.Hour
	unit := time.Duration(0)
	switch {
	case strings.HasSuffix(text, "d"):
		unit = day
	case strings.HasSuffix(text, "w"):
		unit = 7 * day
	}
	age, err := time.ParseDuration(text)
	if unit != 0 {
		var n int64
		n, err = strconv.ParseInt(text[:len(text)-1], 10, 64)
		if err == nil && n > int64((1<<63-1)/unit) {
			err = strconv.ErrRange
		}
		age = time.Duration(n) * unit
	}
	if err != nil || age <= 0 {
		return 0, fmt.Errorf("%q is not an age (try 30d, 12h or 2w)", text)
	}
	return age, nil
}

// parseSize reads a number of bytes: kB, MB, GB and TB are powers of 1000, KiB to TiB of 1024.
func parseSize(text string) (int64, error) {
	n, err := humanize.ParseBytes(text)
	if err != nil || n > math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a size (try 500MB or 2GiB)", text)
	}
	return int64(n), nil
}

// prunableJSON is a sandbox that goes, as --json prints it.
type prunableJSON struct {
	Name      string `json:"name"`
	SandboxID string `json:"sandboxId"`
	ledger.Prunable
}

// mostSpared is of how many sandboxes a dry run says what they are kept for.
const mostSpared = 20

var errDeclined = errors.New("nothing was removed")

func (a *app) prune(ctx context.Context, h *host.Host, f *pruneFlags) error {
	bar := a.out.newBar("looking")
	f.opts.Progress = bar.tell()
	var spared []string
	f.opts.Spared = func(p ledger.Prunable, child store.Key) {
		if len(spared) < mostSpared {
			spared = append(spared, fmt.Sprintf("keeps %s (%s): %s (%s) was resumed from it", p.Key.SandboxID, p.Key.Name, child.SandboxID, child.Name))
		}
	}
	f.opts.Found = func(list []ledger.Prunable) error {
		bar.done()
		bar.verb = "removing"
		if err := a.printPrunable(list, f.opts.DryRun); err != nil {
			return err
		}
		if len(list) == 0 || f.opts.DryRun || f.yes {
			return nil
		}
		return a.confirm(ctx, fmt.Sprintf("Remove %s from %s?", count(len(list), "sandbox"), h.LedgerText()))
	}
	if a.out.json && !f.opts.DryRun {
		f.opts.Each = nil
	}
	report, err := ledger.Prune(ctx, h.Store(), f.opts)
	bar.done()
	if errors.Is(err, errDeclined) {
		return errDeclined
	}
	if err != nil {
		if report != nil && report.Sandboxes > 0 {
			a.out.notef("removed %s before it stopped", count(report.Sandboxes, "sandbox"))
		}
		return err
	}
	if report.Running > 0 {
		a.out.notef("kept %s that would go but for running, or never having been closed (see --include-running)", count(report.Running, "sandbox"))
	}
	if report.Ancestors > 0 {
		if f.opts.DryRun {
			for _, line := range spared {
				a.out.notef("%s", line)
			}
		}
		a.out.notef("kept %s that would go but for others that were resumed from there (see --include-ancestors)", count(report.Ancestors, "sandbox"))
	}
	did := "removed"
	if f.opts.DryRun {
		did = "would remove"
	}
	a.out.notef("%s %s with %s (%s of text); keeping %d", did, count(report.Sandboxes, "sandbox"), count(report.Entries, "event"), bytesText(report.Bytes), report.Kept)
	return nil
}

// printPrunable lists what goes.
func (a *app) printPrunable(list []ledger.Prunable, dry bool) error {
	if a.out.json {
		for _, p := range list {
			if err := a.out.data(prunableJSON{p.Key.Name, p.Key.SandboxID, p}); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 || a.out.quiet && !dry {
		return nil
	}
	rows := make([][]string, 0, len(list))
	for _, p := range list {
		status := "completed"
		if p.Running {
			status = "running"
		}
		rows = append(rows, []string{p.Key.SandboxID, p.Key.Name, status, clock(p.LastTS), strconv.FormatUint(p.Entries, 10), bytesText(p.Bytes), p.Why})
	}
	return a.out.table([]string{"ID", "NAME", "STATUS", "LAST EVENT", "EVENTS", "TEXT", "WHY"}, rows)
}

// confirm asks on the terminal.
func (a *app) confirm(ctx context.Context, question string) error {
	if !a.out.terminal || !term.IsTerminal(int(os.Stdin.Fd())) {
		return &exitError{code: exitUsage, err: errors.New("there is no terminal to ask on, so nothing was removed; say --yes, or --dry-run to look")}
	}
	_, _ = fmt.Fprintf(a.out.err, "%s [y/N] ", question)
	answer := make(chan string, 1)
	go func() {
		// It may wait for ever: then the program ends before it.
		line, _ := bufio.NewReader(os.Stdin).ReadString('\n') //nolint:errcheck // no answer is no
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case text := <-answer:
		if text == "y" || text == "yes" {
			return nil
		}
		return errDeclined
	case <-ctx.Done():
		return ctx.Err()
	}
}
