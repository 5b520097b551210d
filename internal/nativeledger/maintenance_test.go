package nativeledger_test

import (
	"path/filepath"
	"testing"

	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/nativeledger"
)

func TestStatsOfAnEmptyFile(t *testing.T) {
	t.Parallel()
	l, err := nativeledger.Open(filepath.Join(t.TempDir(), "ledger.db"), nativeledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close(t.Context()) //nolint:errcheck // a test's clean-up
	s, err := l.Stats(t.Context())
	if err != nil || s.Entries != 0 || s.StorageBytes <= 0 || s.SchemaVersion != 1 {
		t.Errorf("stats are %+v, %v", s, err)
	}
	page, err := l.ListHeads(t.Context(), store.ReadOptions{})
	if err != nil || len(page.Heads) != 0 || page.More {
		t.Errorf("heads are %+v, %v", page, err)
	}
}
