package memory_test

import (
	"context"
	"testing"

	"github.com/alineo-labs/alineo-host/examples/embed-go/memory"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/host/store/storetest"
)

// TestSuite runs every rule for ledgers against the store: this is all that a test of yours needs.
func TestSuite(t *testing.T) {
	t.Parallel()
	fresh := func(storetest.T) storetest.Storage {
		st := memory.New() // every handle of a case is about the same one
		return storetest.Storage{Open: func(context.Context) (store.Ledger, error) { return st, nil }}
	}
	storetest.Run(t, fresh, storetest.FeatureEnvironments, storetest.FeatureReadAll, storetest.FeatureHandles, storetest.FeatureVerbatim)
}
