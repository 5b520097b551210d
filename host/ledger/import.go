package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/alineo-labs/alineo-host/host/store"
)

// ImportOptions say how an export is brought into a ledger.
type ImportOptions struct {
	// DryRun checks everything, also against the ledger, and writes nothing.
	DryRun bool
	// SkipMalformed leaves out others' events that have no canonical form, such as those whose payload is
	// not JSON: not every ledger can hold them.
	SkipMalformed bool
	// Progress is told now and then.
	Progress func(Progress)
}

// ImportReport says what was written, or with DryRun what would be.
type ImportReport struct {
	Sandboxes    uint64 `json:"sandboxes"`    // of the export
	Entries      uint64 `json:"entries"`      // of the export
	Written      uint64 `json:"written"`      // entries that were not there yet
	Already      uint64 `json:"already"`      // entries that an earlier import had written
	Verbatim     uint64 `json:"verbatim"`     // sandboxes that kept their chain, and so their heads
	Rechained    uint64 `json:"rechained"`    // sandboxes that got segments anew, from the first entry on that had none; not those that were there
	Damaged      uint64 `json:"damaged"`      // of those, the ones whose own segments were broken where they came from
	Skipped      uint64 `json:"skipped"`      // malformed entries that were left out, as SkipMalformed asks
	Environments uint64 `json:"environments"` // that were not there yet
	Verified     uint64 `json:"verified"`     // sandboxes that were read back and are whole
}

// ImportConflictError says that the ledger has something else already. It wraps store.ErrConflict.
type ImportConflictError struct {
	Key         store.Key // of the sandbox; zero when it is an environment
	Environment string
	Line        int // of the export, 0 when there is none
	Reason      string
}

// Error names the sandbox and the line.
func (e *ImportConflictError) Error() string {
	what := "sandbox " + e.Key.String()
	if e.Environment != "" {
		what = fmt.Sprintf("environment %q", e.Environment)
	}
	if e.Line > 0 {
		what = fmt.Sprintf("line %d: %s", e.Line, what)
	}
	return what + " is in this ledger already: " + e.Reason
}

// Unwrap returns store.ErrConflict.
func (e *ImportConflictError) Unwrap() error { return store.ErrConflict }

// Import brings an export into a ledger. It reads r twice: first it checks all of it, and that the
// ledger has none of its sandboxes; then it writes, and in the end it verifies what it wrote.
//
// A sandbox all of whose entries are in whole segments keeps them, and so its hashes: heads that were
// exported before hold afterwards. In another one the entries from the first that has no segment on get
// segments anew.
//
// An import that was interrupted goes on where it stopped when it is started again: a sandbox may be
// there already as far as it is the same.
func Import(ctx context.Context, st store.Ledger, r io.ReadSeeker, opts ImportOptions) (*ImportReport, error) {
	size, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("importing: %w", err)
	}
	m := newMeter(opts.Progress)
	if m != nil {
		m.own, m.at.Total = true, size
		if !opts.DryRun {
			m.at.Total *= 2
		}
	}
	source := func() (io.Reader, func() error, error) {
		_, err := r.Seek(0, io.SeekStart)
		return r, func() error { return nil }, err
	}
	report, err := bring(ctx, st, source, opts, m)
	if err != nil {
		return report, fmt.Errorf("importing: %w", err)
	}
	return report, nil
}

// bring reads a source once to check it, and once to write it.
func bring(ctx context.Context, st store.Ledger, open func() (io.Reader, func() error, error), opts ImportOptions, m *meter) (*ImportReport, error) {
	o, err := operate(st)
	if err != nil {
		return nil, err
	}
	pass := func(write bool) (*importer, error) {
		r, end, err := open()
		if err != nil {
			return nil, err
		}
		m.round()
		im := newImporter(o, r, write, m)
		im.skip = opts.SkipMalformed
		err = im.run(ctx)
		return im, errors.Join(err, end())
	}
	im, err := pass(false)
	if err != nil {
		if im == nil {
			return nil, err
		}
		return &ImportReport{}, err
	}
	if opts.DryRun {
		m.end()
		return im.report, nil
	}
	im, err = pass(true)
	if im == nil {
		return nil, err
	}
	if err == nil {
		err = im.check(ctx)
	}
	m.end()
	return im.report, err
}

// Copy brings everything that is in one ledger into another, as an Import of its Export does, without a
// file between. The first ledger stays as it is.
func Copy(ctx context.Context, from, to store.Ledger, opts ImportOptions) (*ImportReport, error) {
	m := newMeter(opts.Progress)
	if src, err := operate(from); err == nil && m != nil {
		m.at.Total = src.total(ctx)
		if !opts.DryRun {
			m.at.Total *= 2
		}
	}
	report, err := bring(ctx, to, func() (io.Reader, func() error, error) {
		r, w := io.Pipe()
		done := make(chan error, 1)
		go func() {
			exported, err := Export(ctx, from, w, ExportOptions{})
			if err == nil && len(exported.Unreadable) > 0 {
				err = fmt.Errorf("exporting: %w", exported.Unreadable[0])
			}
			done <- err
			_ = w.CloseWithError(err) // it never fails
		}()
		return r, func() error {
			_ = r.Close() // an exporter that still writes ends; it never fails
			if err := <-done; err != nil && !errors.Is(err, io.ErrClosedPipe) {
				return err
			}
			return nil
		}, nil
	}, opts, m)
	if err != nil {
		return report, fmt.Errorf("copying: %w", err)
	}
	return report, nil
}
