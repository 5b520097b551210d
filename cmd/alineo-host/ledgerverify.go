package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

// exitDamaged is what verify ends with when the ledger is not as it was written, and export when a part
// of it can't be read.
const exitDamaged = 4

func newLedgerVerify(a *app) *cobra.Command {
	var heads, save string
	var force bool
	cmd := &cobra.Command{
		Use:   "verify [ID…]",
		Short: "Recompute every hash, and name the first event that is not as it was written",
		Long: `verify recomputes the hash of every event and of every segment of them, and follows the
chain up to the head of each sandbox. After an edit, a deletion, an exchange or a cut it
names the first bad event. It can't tell why an event is gone: one that another program
deleted, for a good reason or none, looks like tampering.

Events that others added are counted apart; they are in no segment, and no damage.

Who can change the whole database can change the chain and its head with it. Heads that
were exported before (--export-heads) and kept elsewhere show that too (--heads): every
sandbox of that file must still go through the head that it had, or have a tombstone.

Exit code: 0 all of it is whole, 4 something is damaged, 1 it could not be looked at.`,
		Example: `  alineo-host ledger verify
  alineo-host ledger verify --export-heads heads.json
  alineo-host ledger verify --heads heads.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var opts ledger.VerifyOptions
			if heads != "" {
				read, err := readHeads(heads)
				if err != nil {
					return err
				}
				opts.Heads = read
			}
			return a.operate(cmd.Context(), func(ctx context.Context, h *host.Host) error {
				for _, id := range args {
					d, err := a.findSandbox(ctx, h.Store(), id)
					if err != nil {
						return err
					}
					opts.Keys = append(opts.Keys, store.Key{Name: d.Name, SandboxID: d.SandboxID})
				}
				return a.verifyLedger(ctx, h, opts, save, force)
			})
		},
	}
	cmd.Flags().StringVar(&heads, "heads", "", "check against the heads of this `file` too")
	cmd.Flags().StringVar(&save, "export-heads", "", "write the heads to this `file` when all is whole")
	cmd.Flags().BoolVar(&force, "force", false, "replace the file of --export-heads")
	return cmd
}

func readHeads(name string) (*ledger.Heads, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading heads: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	heads, err := ledger.ReadHeads(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return heads, nil
}

// verifyJSON is a sandbox's report as --json prints it.
type verifyJSON struct {
	Name      string `json:"name"`
	SandboxID string `json:"sandboxId"`
	Hash      string `json:"hash,omitempty"`
	*ledger.SandboxReport
}

func (a *app) verifyLedger(ctx context.Context, h *host.Host, opts ledger.VerifyOptions, save string, force bool) error {
	bar := a.out.newBar("verifying")
	opts.Progress = bar.tell()
	heads := &ledger.Heads{}
	opts.Each = func(r *ledger.SandboxReport) error {
		heads.Add(r)
		if a.out.json {
			return a.out.data(verifyJSON{r.Key.Name, r.Key.SandboxID, hex.EncodeToString(r.Hash), r})
		}
		if !noteworthy(r) {
			return nil
		}
		bar.done()
		return a.printVerified(r)
	}
	sum, err := ledger.Verify(ctx, h.Store(), opts)
	bar.done()
	if err != nil {
		if sum != nil && sum.Sandboxes > 0 {
			a.out.notef("looked at %s, %d damaged", count(sum.Sandboxes, "sandbox"), sum.Damaged)
		}
		return err
	}
	if opts.Heads != nil {
		a.out.notef("found %d of %d heads again, %d of deleted sandboxes", sum.Heads, opts.Heads.Len(), sum.Explained)
	}
	if sum.Damaged > 0 {
		if save != "" {
			a.out.notef("%s was not written", save)
		}
		return &exitError{code: exitDamaged, err: fmt.Errorf("%d of %d sandboxes are not as they were written: changed behind the ledger's back, which a deletion by another program is too",
			sum.Damaged, sum.Sandboxes)}
	}
	if save != "" {
		if err := writeWhole(save, force, func(w io.Writer) error {
			_, err := heads.WriteTo(w)
			return err
		}); err != nil {
			return err
		}
		a.out.notef("wrote %s to %s; keep it where who can write to the ledger can't", count(heads.Len(), "head"), save)
	}
	foreign := ""
	if sum.Foreign > 0 {
		foreign = fmt.Sprintf(" (%d of them written by others and in no chain)", sum.Foreign)
	}
	if !a.out.json {
		return a.out.printf("ok: %s of %s%s\n", count(sum.Entries, "event"), count(sum.Sandboxes, "sandbox"), foreign)
	}
	return nil
}

// noteworthy tells whether there is something to say of a sandbox.
func noteworthy(r *ledger.SandboxReport) bool {
	return r.Damage != nil || r.Foreign > 0 || r.Unreadable != "" || r.Note != ""
}

func (a *app) printVerified(r *ledger.SandboxReport) error {
	name := oneLine(r.Key.String(), 200)
	if d := r.Damage; d != nil {
		more := ""
		if r.Damages > 1 {
			more = fmt.Sprintf(" (the first of %d)", r.Damages)
		}
		when := ""
		if d.TS != 0 {
			when = ", of " + clock(d.TS)
		}
		if err := a.out.printf("DAMAGED %s: %s%s%s\n", name, oneLine(d.Text, 500), when, more); err != nil {
			return err
		}
	}
	if r.Unreadable != "" {
		if err := a.out.printf("unreadable %s: %s\n", name, oneLine(r.Unreadable, 500)); err != nil {
			return err
		}
	}
	if r.Foreign > 0 {
		first := r.FirstForeign
		if err := a.out.printf("foreign %s: %s by others, the first is entry %d (%s), of %s\n",
			name, count(r.Foreign, "event"), first.ID, oneLine(first.Event, 80), clock(first.TS)); err != nil {
			return err
		}
	}
	if r.Note != "" {
		return a.out.printf("note %s: %s\n", name, r.Note)
	}
	return nil
}
