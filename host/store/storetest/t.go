package storetest

import (
	"context"
	"slices"
	"strings"

	"github.com/alineo-labs/alineo-host/host/store"
)

// T is what a case needs of its runner. *testing.T is one.
type T interface {
	Helper()
	Name() string             // of the case, after what contains it
	Context() context.Context // ends when the case does
	Cleanup(f func())
	TempDir() string
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	FailNow()
	Skipf(format string, args ...any)
}

// Runner is a T that can run parts. *testing.T is a Runner[*testing.T].
type Runner[R any] interface {
	T
	Run(name string, f func(R)) bool
}

// Storage is one place where a ledger lies, or what durable runs are kept in.
type Storage struct {
	// Open returns another handle on the storage. Handles are used and closed independently. It may be nil
	// with FeatureStoresOnly.
	Open func(ctx context.Context) (store.Ledger, error)
	// Insert adds rows to the base table as a foreign program would, behind the back of claims and
	// heads. FeatureForeignRows needs it; else it may be nil.
	Insert func(ctx context.Context, entries []store.Entry) error
	// OpenStores is Open for the stores of durable runs. It may be nil where none of their features is
	// declared.
	OpenStores func(ctx context.Context) (Stores, error)
}

// Feature is something that not every store has.
type Feature string

// Features.
const (
	// FeatureEnvironments: the four operations on environments. A store without it answers them
	// with ErrUnsupported.
	FeatureEnvironments Feature = "environments"
	// FeatureReadAll: ReadAll. A store without it answers with ErrUnsupported.
	FeatureReadAll Feature = "read all"
	// FeatureHandles: several handles on one storage see each other's writes.
	FeatureHandles Feature = "handles"
	// FeaturePersistent: what was written is there after the last handle was closed.
	FeaturePersistent Feature = "persistent"
	// FeatureVerbatim: payloads come back byte for byte, not just as the same JSON value.
	FeatureVerbatim Feature = "verbatim"
	// FeatureForeignRows: Storage.Insert is there.
	FeatureForeignRows Feature = "foreign rows"
	// FeatureMaintenance: the store is a store.Maintenance that has all of it.
	FeatureMaintenance Feature = "maintenance"
)

// no before a feature in Case.Needs: the case is about stores that lack it.
const no = "no "

// AllFeatures returns every feature of a ledger.
func AllFeatures() []Feature {
	return []Feature{
		FeatureEnvironments, FeatureReadAll, FeatureHandles, FeaturePersistent, FeatureVerbatim, FeatureForeignRows,
		FeatureMaintenance,
	}
}

// Case is one rule.
type Case struct {
	Name  string    // "append/atomic"
	Rule  string    // one sentence
	Needs []Feature // that a store has; one after "no " is one that it lacks
	run   func(*env)
}

// Cases returns every rule, in the order in which they run.
func Cases() []Case {
	var cases []Case
	for _, group := range [...][]Case{
		appendCases(), fencingCases(), readCases(), checkpointCases(), listingCases(), sandboxCases(),
		environmentCases(), handleCases(), pagingCases(), maintenanceCases(), undeclaredCases(), storeCases(),
	} {
		cases = append(cases, group...)
	}
	return cases
}

// Run runs every case as a part of t. fresh makes storage with nothing in it. The cases about durable runs
// are left out when the features have none of their levels.
func Run[R Runner[R]](t R, fresh func(T) Storage, features ...Feature) {
	t.Helper()
	stores := slices.ContainsFunc(levels(), func(level Feature) bool { return slices.Contains(features, level) })
	for _, c := range Cases() {
		if c.AboutStores() && !stores {
			continue
		}
		t.Run(c.Name, func(t R) { c.runWith(t, fresh, features) })
	}
}

func (c Case) runWith(t T, fresh func(T) Storage, features []Feature) {
	t.Helper()
	has := make(map[Feature]bool, len(features))
	for _, f := range features {
		has[f] = true
	}
	for _, need := range c.Needs {
		if lack, ok := strings.CutPrefix(string(need), no); ok {
			if has[Feature(lack)] {
				t.Skipf("not run: the store declares the feature %q", lack)
			}
		} else if !has[need] {
			t.Skipf("not run: the store doesn't declare the feature %q", string(need))
		}
	}
	stores := c.AboutStores()
	if has[FeatureStoresOnly] && !stores {
		t.Skipf("not run: the store has no ledger")
	}
	e := &env{T: t, ctx: t.Context(), has: has, storage: fresh(t)}
	if stores {
		e.stores = e.openStores()
	} else {
		e.Ledger = e.open()
	}
	c.run(e)
}

// AboutStores says whether a case is about what durable runs are kept in, and not about a ledger.
func (c Case) AboutStores() bool {
	return slices.ContainsFunc(levels(), func(level Feature) bool { return slices.Contains(c.Needs, level) })
}

// levels are the features of which each case about durable runs needs one.
func levels() []Feature { return []Feature{FeatureInstances, FeatureRuns, FeatureLog, FeatureLocks} }
