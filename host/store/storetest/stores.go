package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/alineo-labs/alineo-host/host/store"
)

// Stores are what durable runs are kept in. Those that there are not are nil.
type Stores struct {
	Instances store.Instances
	Runs      store.Runs
	Log       store.RunLog
	Locks     store.Locks
	// Close releases the handle.
	Close func(ctx context.Context) error
}

// Features of the stores of durable runs. They are the levels that a store is of, and what is optional in
// each; a method without its feature answers with ErrUnsupported, and Features does not name it.
const (
	// FeatureStoresOnly: there is no ledger, whose cases are left out.
	FeatureStoresOnly Feature = "stores only"

	FeatureInstances     Feature = "instances"
	FeatureInstancesIf   Feature = "instances: conditional"
	FeatureInstancesList Feature = "instances: list"

	FeatureRuns        Feature = "runs"
	FeatureFenced      Feature = "runs: fenced"
	FeatureRunsThread  Feature = "runs: list by thread"
	FeatureRunsList    Feature = "runs: list"
	FeatureReclaimable Feature = "runs: list reclaimable"
	FeatureRunsCount   Feature = "runs: count by sandbox"
	FeatureRunsSecret  Feature = "runs: secret"
	FeatureRunsDelete  Feature = "runs: delete"

	FeatureLog         Feature = "log"
	FeatureLogTruncate Feature = "log: truncate"

	FeatureLocks Feature = "locks"
)

// StoreFeatures returns every feature of the stores of durable runs.
func StoreFeatures() []Feature {
	return []Feature{
		FeatureInstances, FeatureInstancesIf, FeatureInstancesList,
		FeatureRuns, FeatureFenced, FeatureRunsThread, FeatureRunsList, FeatureReclaimable, FeatureRunsCount, FeatureRunsSecret, FeatureRunsDelete,
		FeatureLog, FeatureLogTruncate, FeatureLocks,
	}
}

// storeCases are those about durable runs.
func storeCases() []Case {
	var cases []Case
	for _, group := range [...][]Case{instanceCases(), runCases(), runListCases(), fencedCases(), logCases(), lockCases(), refusedCases()} {
		cases = append(cases, group...)
	}
	return cases
}

// openStores returns another handle, closed at the case's end.
func (e *env) openStores() Stores {
	e.Helper()
	s, err := e.storage.OpenStores(e.ctx)
	e.must("opening a handle", err)
	e.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(e.ctx)); err != nil {
			e.Errorf("closing a handle: %v", err)
		}
	})
	return s
}

// two are handles for what must hold between hosts: both the case's own where a storage has one only.
func (e *env) two() [2]Stores {
	e.Helper()
	if e.has[FeatureHandles] {
		return [2]Stores{e.stores, e.openStores()}
	}
	return [2]Stores{e.stores, e.stores}
}

// atOnce calls f n times at once, and ends the case when one fails.
func (e *env) atOnce(doing string, n int, f func(i int) error) {
	e.Helper()
	errs := make([]error, n)
	var wait sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wait.Go(func() {
			<-start
			errs[i] = guard(func() error { return f(i) })
		})
	}
	close(start)
	wait.Wait()
	e.must(doing, errors.Join(errs...))
}

func refusedCases() []Case {
	lacks := func(has, lacks Feature) []Feature { return []Feature{has, no + lacks} }
	return []Case{
		{
			Name: "undeclared/instances-if", Rule: "without the feature PutIf and DeleteIf are refused, and not declared",
			Needs: lacks(FeatureInstances, FeatureInstancesIf),
			run: func(e *env) {
				_, putErr := e.stores.Instances.PutIf(e.ctx, instance("k"), nil)
				_, deleteErr := e.stores.Instances.DeleteIf(e.ctx, "k", "sb-1")
				e.refusedAs("PutIf and DeleteIf", e.stores.Instances.Features().Conditional, putErr, deleteErr)
			},
		},
		{
			Name: "undeclared/instances-list", Rule: "without the feature List is refused, and not declared",
			Needs: lacks(FeatureInstances, FeatureInstancesList),
			run: func(e *env) {
				_, err := e.stores.Instances.List(e.ctx, store.InstanceListOptions{})
				e.refusedAs("List", e.stores.Instances.Features().List, err)
			},
		},
		{
			Name: "undeclared/fenced", Rule: "without the feature Claim or PatchIf is refused, and neither declared",
			Needs: lacks(FeatureRuns, FeatureFenced),
			run: func(e *env) {
				e.start("run-1")
				_, claimErr := e.stores.Runs.Claim(e.ctx, "run-1")
				_, patchErr := e.stores.Runs.PatchIf(e.ctx, "run-1", 1, store.RunPatch{})
				if claimErr != nil && patchErr != nil {
					e.refusedAs("Claim and PatchIf", e.stores.Runs.Features().Fenced, claimErr, patchErr)
				} else {
					e.refusedAs("Claim or PatchIf", e.stores.Runs.Features().Fenced, errors.Join(claimErr, patchErr))
				}
			},
		},
		{
			Name: "undeclared/runs-thread", Rule: "without the feature ListByThread is refused, and not declared",
			Needs: lacks(FeatureRuns, FeatureRunsThread),
			run: func(e *env) {
				_, err := e.stores.Runs.ListByThread(e.ctx, "t", store.PageOptions{})
				e.refusedAs("ListByThread", e.stores.Runs.Features().ListByThread, err)
			},
		},
		{
			Name: "undeclared/runs-list", Rule: "without the feature List is refused, and not declared",
			Needs: lacks(FeatureRuns, FeatureRunsList),
			run: func(e *env) {
				_, err := e.stores.Runs.List(e.ctx, store.RunListOptions{})
				e.refusedAs("List", e.stores.Runs.Features().List, err)
			},
		},
		{
			Name: "undeclared/reclaimable", Rule: "without the feature ListReclaimable is refused, and not declared",
			Needs: lacks(FeatureRuns, FeatureReclaimable),
			run: func(e *env) {
				_, err := e.stores.Runs.ListReclaimable(e.ctx, store.ReclaimOptions{})
				e.refusedAs("ListReclaimable", e.stores.Runs.Features().ListReclaimable, err)
			},
		},
		{
			Name: "undeclared/runs-count", Rule: "without the feature CountBySandbox is refused, and not declared",
			Needs: lacks(FeatureRuns, FeatureRunsCount),
			run: func(e *env) {
				_, err := e.stores.Runs.CountBySandbox(e.ctx, "k", "")
				e.refusedAs("CountBySandbox", e.stores.Runs.Features().CountBySandbox, err)
			},
		},
		{
			Name: "undeclared/runs-secret", Rule: "without the feature a secret is refused, neither kept nor dropped, and not declared",
			Needs: lacks(FeatureRuns, FeatureRunsSecret),
			run: func(e *env) {
				_, _, createErr := e.stores.Runs.CreateOrGet(e.ctx, store.NewRun{ID: "run-1", ThreadID: "t", Secret: store.RunSecret("s")})
				_, _, getErr := e.stores.Runs.Secret(e.ctx, "run-1")
				e.refusedAs("a secret", e.stores.Runs.Features().Secret, createErr, getErr)
			},
		},
		{
			Name: "undeclared/runs-delete", Rule: "without the feature Delete is refused, and not declared",
			Needs: lacks(FeatureRuns, FeatureRunsDelete),
			run: func(e *env) {
				_, err := e.stores.Runs.Delete(e.ctx, "run-1")
				e.refusedAs("Delete", e.stores.Runs.Features().Delete, err)
			},
		},
		{
			Name: "undeclared/log-truncate", Rule: "without the feature Truncate is refused, and not declared",
			Needs: lacks(FeatureLog, FeatureLogTruncate),
			run: func(e *env) {
				e.refusedAs("Truncate", e.stores.Log.Features().Truncate, e.stores.Log.Truncate(e.ctx, "run-1"))
			},
		},
	}
}

// refusedAs checks that what a store does not have is neither declared nor done.
func (e *env) refusedAs(what string, declared bool, errs ...error) {
	e.Helper()
	if declared {
		e.Errorf("%s: Features says that it is there", what)
	}
	for _, err := range errs {
		e.wantErr(what, err, store.ErrUnsupported)
	}
}

// same compares two values as JSON, in which they are printed too: what is absent is not there.
func (e *env) same(what string, got, want any) {
	e.Helper()
	a, errA := json.Marshal(got)
	b, errB := json.Marshal(want)
	e.must("printing", errors.Join(errA, errB))
	if !bytes.Equal(a, b) && (len(a) > 4 || len(b) > 4) { // [] and null
		e.Errorf("%s:\n got %s\nwant %s", what, a, b)
	}
}

// recent checks that a time is that of a clock: not before this suite was written, and no year beyond
// what anybody runs it in.
func (e *env) recent(what string, ms int64) {
	e.Helper()
	if ms < 1_700_000_000_000 || ms > 10_000_000_000_000 {
		e.Errorf("%s is %d, which is no time in Unix milliseconds", what, ms)
	}
}
