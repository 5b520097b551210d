package ledger_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

// shaky is a real ledger that says of every batch first that it does not answer, and then, when it has
// written it, that nobody knows.
type shaky struct {
	*vaultStore
	tries int
}

func (s *shaky) Append(ctx context.Context, b *store.Batch) error {
	s.tries++
	switch s.tries % 3 {
	case 1:
		return fmt.Errorf("a moment ago: %w", store.ErrUnavailable)
	case 2:
		if err := s.Ledger.Append(ctx, b); err != nil {
			return err
		}
		return fmt.Errorf("and then: %w", store.ErrUnknownOutcome)
	}
	return s.Ledger.Append(ctx, b)
}

// TestImportIsTriedAgain imports into a ledger that does not answer now and then: nothing is missing and
// nothing is there twice.
func TestImportIsTriedAgain(t *testing.T) {
	t.Parallel()
	from, to := newVault(t), newVault(t)
	from.random(newRand(t), 4)
	export, r := from.export()
	st := &shaky{vaultStore: &vaultStore{to.st, to.st}}
	report, err := ledger.Import(t.Context(), st, bytes.NewReader(export), ledger.ImportOptions{})
	if err != nil || report.Written != r.Entries || st.tries%3 != 0 || st.tries == 0 {
		t.Errorf("%+v after %d tries, want %d entries: %v", report, st.tries, r.Entries, err)
	}
	if got, _ := to.export(); !bytes.Equal(got, export) {
		t.Error("the ledger is another")
	}
}
