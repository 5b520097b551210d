package storetest_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/host/store/storetest"
	"github.com/alineo-labs/alineo-host/internal/nativeledger"
)

// mine makes storage for one case: here a file of a store in plain Go; put yours in its place.
func mine(t storetest.T) storetest.Storage {
	path := filepath.Join(t.TempDir(), "ledger.db")
	return storetest.Storage{Open: func(context.Context) (store.Ledger, error) {
		return nativeledger.Open(path, nativeledger.Options{Synchronous: "off"})
	}}
}

// TestMine is how a store of your own is tested: each rule is a part of the test, and may be run alone
// (go test -run TestMine/append/atomic).
func TestMine(t *testing.T) {
	t.Parallel()
	storetest.Run(t, mine, storetest.FeatureEnvironments, storetest.FeatureReadAll,
		storetest.FeatureHandles, storetest.FeaturePersistent, storetest.FeatureVerbatim, storetest.FeatureMaintenance)
}

// A program, which has no testing package, asks for a report.
func ExampleCheck() {
	report := storetest.Check(context.Background(), mine, storetest.CheckOptions{
		Features: []storetest.Feature{storetest.FeatureEnvironments, storetest.FeatureReadAll},
		Match:    func(c storetest.Case) bool { return c.Name == "append/atomic" || c.Name == "append/verbatim" },
	})
	for _, r := range report.Results {
		fmt.Println(r.Status, r.Case.Name, r.Messages)
	}
	// Output:
	// not run append/verbatim [not run: the store doesn't declare the feature "verbatim"]
	// passed append/atomic []
}
