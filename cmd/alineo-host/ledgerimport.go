package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

func newLedgerImport(a *app) *cobra.Command {
	var opts ledger.ImportOptions
	cmd := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Bring an export into the ledger",
		Long: `import reads an export twice: it checks every line, every hash and the end, and that the
ledger has none of its sandboxes; then it writes, and verifies what it wrote. A file
that was cut off or changed is refused with the line.

An import that was interrupted goes on when it is started again. Sandboxes keep their
hashes, so that heads which were exported before hold; only where others had written
events between ours are they chained anew, which is said.`,
		Example: `  alineo-host ledger import ledger.jsonl
  gunzip < job.jsonl.gz | alineo-host ledger import -`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := openExport(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer file.Close() //nolint:errcheck // it was only read
			return a.operate(cmd.Context(), func(ctx context.Context, h *host.Host) error {
				bar := a.out.newBar("importing")
				report, err := ledger.Import(ctx, h.Store(), file, withBar(opts, bar))
				bar.done()
				return a.brought(report, err, "import", opts.DryRun)
			})
		},
	}
	importFlags(cmd, &opts)
	return cmd
}

// importFlags are those of import and copy.
func importFlags(cmd *cobra.Command, opts *ledger.ImportOptions) {
	cmd.Flags().BoolVar(&opts.DryRun, "dry-run", false, "read and check everything, and write nothing")
	cmd.Flags().BoolVar(&opts.SkipMalformed, "skip-malformed", false, "leave out events by others that have no canonical form, such as a payload that is not JSON")
}

func withBar(opts ledger.ImportOptions, bar *bar) ledger.ImportOptions {
	opts.Progress = bar.tell()
	return opts
}

// openExport opens a file that is read twice; standard input is kept in one that has no name.
func openExport(ctx context.Context, name string) (*os.File, error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("reading the export: %w", err)
		}
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			return file, nil
		}
		defer file.Close() //nolint:errcheck // it was only read
		return spool(ctx, file)
	}
	return spool(ctx, os.Stdin)
}

// spool keeps what can be read once in a file. It gives up when ctx ends, whatever r does.
func spool(ctx context.Context, r io.Reader) (*os.File, error) {
	tmp, err := os.CreateTemp("", "alineo-host-import-*")
	if err != nil {
		return nil, fmt.Errorf("keeping standard input in a file: %w", err)
	}
	_ = os.Remove(tmp.Name()) // it stays open; where that can't be done it stays for the system to clean up
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(tmp, r)
		copied <- err
	}()
	select {
	case err = <-copied:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("keeping standard input in %s: %w", os.TempDir(), err), tmp.Close())
	}
	return tmp, nil
}

// brought says what an import or a copy has done.
func (a *app) brought(r *ledger.ImportReport, err error, what string, dry bool) error {
	if err != nil {
		if line, ok := errors.AsType[*ledger.LineError](err); ok && errors.Is(line, store.ErrInvalid) && !errors.Is(line, ledger.ErrPayload) {
			err = fmt.Errorf("%w (--skip-malformed leaves out what is no JSON)", err)
		}
		if r != nil && r.Written > 0 {
			a.out.notef("wrote %s before it stopped; the same %s goes on from there", count(r.Written, "event"), what)
		}
		return err
	}
	if a.out.json {
		return a.out.data(r)
	}
	did := "wrote"
	if dry {
		did = "would write"
	}
	a.out.notef("%s %s of %s and %s", did, count(r.Written, "event"), count(r.Sandboxes, "sandbox"), count(r.Environments, "environment"))
	if r.Already > 0 {
		a.out.notef("there already: %s", count(r.Already, "event"))
	}
	if r.Skipped > 0 {
		a.out.notef("%d malformed events were left out", r.Skipped)
	}
	if r.Rechained > 0 {
		a.out.notef("chained %s anew, from the first event on that others wrote", count(r.Rechained, "sandbox"))
	}
	if r.Damaged > 0 {
		a.out.notef("%d of them had been tampered with where they come from: what is left of them is here, and their chains don't show it any more", r.Damaged)
	}
	if !dry {
		a.out.notef("verified %s", count(r.Verified, "sandbox"))
	}
	return nil
}

func newLedgerCopy(a *app) *cobra.Command {
	var from, to string
	var opts ledger.ImportOptions
	cmd := &cobra.Command{
		Use:   "copy --from PLUGIN --to PLUGIN",
		Short: "Copy one ledger into another, such as from SQLite to PostgreSQL",
		Long: `copy does what an export and an import do, without a file between them. Both names are
plugins of alineo.toml or bundled ones. The first ledger stays as it is; when it is no
longer written to, [ledger] plugin = "…" switches to the second one.`,
		Example: `  alineo-host ledger copy --from sqlite --to postgres
  alineo-host ledger copy --from sqlite --to postgres --dry-run`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case from == "" || to == "":
				return &exitError{code: exitUsage, err: errors.New("--from and --to are both needed, such as --from sqlite --to postgres")}
			case from == to:
				return &exitError{code: exitUsage, err: fmt.Errorf("--from and --to are both %q", from)}
			}
			return a.withLedger(cmd.Context(), "--from", from, func(ctx context.Context, source *host.Host) error {
				return a.withLedger(ctx, "--to", to, func(ctx context.Context, target *host.Host) error {
					a.out.notef("from %s to %s", source.LedgerText(), target.LedgerText())
					bar := a.out.newBar("copying")
					report, err := ledger.Copy(ctx, source.Store(), target.Store(), withBar(opts, bar))
					bar.done()
					return a.brought(report, err, "copy", opts.DryRun)
				})
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the `plugin` whose ledger is read")
	cmd.Flags().StringVar(&to, "to", "", "the `plugin` whose ledger is written")
	importFlags(cmd, &opts)
	return cmd
}

// withLedger opens the ledger of one plugin, whatever [ledger] plugin says.
func (a *app) withLedger(ctx context.Context, flag, plugin string, f func(context.Context, *host.Host) error) error {
	cfg, err := a.config(config.WithLedger(plugin))
	if err != nil {
		if coded, ok := errors.AsType[*exitError](err); ok {
			err = coded.err
		}
		return &exitError{code: exitUsage, err: fmt.Errorf("%s %s: %w", flag, plugin, err)}
	}
	return openHost(ctx, patient(cfg), f)
}
