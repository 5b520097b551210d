package nativeledger_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/host/store/storetest"
	"github.com/alineo-labs/alineo-host/internal/nativeledger"
)

func fresh(t storetest.T) storetest.Storage {
	path := filepath.Join(t.TempDir(), "ledger.db")
	open := func() (*nativeledger.Ledger, error) { return nativeledger.Open(path, nativeledger.Options{}) }
	return storetest.Storage{
		Open: func(context.Context) (store.Ledger, error) { return open() },
		Insert: func(ctx context.Context, entries []store.Entry) error {
			l, err := open()
			if err != nil {
				return err
			}
			defer l.Close(ctx) //nolint:errcheck // a test's clean-up
			return l.Insert(ctx, entries)
		},
	}
}

func TestSuite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, fresh, storetest.AllFeatures()...)
}
