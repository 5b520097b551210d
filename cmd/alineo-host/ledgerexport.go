package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

func newLedgerExport(a *app) *cobra.Command {
	var opts ledger.ExportOptions
	var format, file string
	var force bool
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the ledger as lines of JSON",
		Long: `export writes sandboxes by name and id, each with its events in order and the records that
chain them, then the environments, then a line with counts and a hash. Equal ledgers
give equal bytes, and what was cut off or changed is found when it is imported.

Events that others wrote are marked; some that can't be read at all are left out and
named, and the exit code is then 4. With --name or --sandbox there are no environments.`,
		Example: `  alineo-host ledger export -o ledger.jsonl
  alineo-host ledger export --name job | gzip > job.jsonl.gz`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "jsonl" {
				return &exitError{code: exitUsage, err: fmt.Errorf("--format %q is not known; there is jsonl", format)}
			}
			return a.operate(cmd.Context(), func(ctx context.Context, h *host.Host) error {
				return a.exportLedger(ctx, h, opts, file, force)
			})
		},
	}
	cmd.Flags().StringVar(&format, "format", "jsonl", "the only one so far")
	cmd.Flags().StringVar(&opts.Name, "name", "", "only sandboxes of this `name`")
	cmd.Flags().StringVar(&opts.SandboxID, "sandbox", "", "only the sandbox of this `id`, or of one that begins so")
	cmd.Flags().StringVarP(&file, "output", "o", "-", "the `file` to write; it is there when it is complete, or not at all")
	cmd.Flags().BoolVar(&force, "force", false, "replace the file")
	return cmd
}

func (a *app) exportLedger(ctx context.Context, h *host.Host, opts ledger.ExportOptions, file string, force bool) error {
	if opts.SandboxID != "" {
		details, err := a.findSandbox(ctx, h.Store(), opts.SandboxID)
		switch {
		case err == nil:
			opts.SandboxID = details.SandboxID
		case !errors.Is(err, store.ErrNotFound): // others may have written to one that was never created
			return err
		}
	}
	bar := a.out.newBar("exporting")
	opts.Progress = bar.tell()
	var report *ledger.ExportReport
	write := func(w io.Writer) (err error) {
		report, err = ledger.Export(ctx, h.Store(), w, opts)
		bar.done()
		if err == nil && report.Sandboxes == 0 {
			err = nothingOf(opts)
		}
		return err
	}
	var err error
	if file == "-" {
		err = write(a.out.out)
	} else {
		err = writeWhole(file, force, write)
	}
	if err != nil {
		return err
	}
	to := ""
	if file != "-" {
		to = " to " + file
		if a.out.json {
			if err := a.out.data(report); err != nil {
				return err
			}
		}
	}
	a.out.notef("exported %s of %s%s (sha256 %s)", count(report.Entries, "event"), count(report.Sandboxes, "sandbox"), to, report.SHA256)
	if report.Unchained > 0 {
		a.out.notef("%d of them are in no whole segment: others wrote them, or they were tampered with (see %s ledger verify)", report.Unchained, a.self())
	}
	if report.Live > 0 {
		a.out.notef("written to meanwhile: %s, exported as it was when the export came to it", count(report.Live, "sandbox"))
	}
	if len(report.Unreadable) > 0 {
		errs := make([]error, 0, len(report.Unreadable))
		for _, u := range report.Unreadable {
			errs = append(errs, u)
		}
		return &exitError{code: exitDamaged, err: fmt.Errorf("the export is complete but for what can't be read: %w", errors.Join(errs...))}
	}
	return nil
}

// nothingOf says that what was asked for is not there: an export without it looks like a good one.
func nothingOf(opts ledger.ExportOptions) error {
	what := ""
	if opts.SandboxID != "" {
		what = fmt.Sprintf(" %q", opts.SandboxID)
	}
	if opts.Name != "" {
		what += fmt.Sprintf(" of the name %q", opts.Name)
	}
	if what == "" {
		return nil // an empty ledger
	}
	return fmt.Errorf("there is nothing to export: the ledger has no sandbox%s", what)
}

// writeWhole writes a file beside its place and moves it there when it is complete.
func writeWhole(file string, force bool, write func(io.Writer) error) (err error) {
	if _, err := os.Lstat(file); err == nil && !force {
		return fmt.Errorf("%s is there already; --force replaces it", file)
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	defer func() {
		_ = tmp.Close() // a second time, unless something went wrong
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	if err := write(tmp); err != nil {
		return err
	}
	if err := errors.Join(tmp.Sync(), tmp.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	if !force {
		// Unlike a rename it does not replace a file that has come meanwhile.
		err := os.Link(tmp.Name(), file)
		if err == nil {
			return os.Remove(tmp.Name())
		}
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s is there by now; --force replaces it", file)
		}
		// This file system has no links.
	}
	if err := os.Rename(tmp.Name(), file); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return nil
}
