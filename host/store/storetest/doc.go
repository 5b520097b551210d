// Package storetest is the shared suite that says what every store.Ledger must do. Each rule is a
// named case with a sentence; a case that needs a feature which the store doesn't declare is
// reported as not run, apart from those that passed.
//
// In a test:
//
//	func TestLedger(t *testing.T) {
//		storetest.Run(t, func(t storetest.T) storetest.Storage {
//			path := filepath.Join(t.TempDir(), "ledger.db")
//			return storetest.Storage{Open: func(ctx context.Context) (store.Ledger, error) {
//				return mystore.Open(ctx, path)
//			}}
//		}, storetest.AllFeatures()...)
//	}
//
// In a command, which has no testing package:
//
//	report := storetest.Check(ctx, fresh, storetest.CheckOptions{
//		Features: features, Parallel: 4, Deadline: time.Minute,
//		Ended: func(r storetest.Result) { fmt.Println(r.Status, r.Case.Name, r.Messages) },
//	})
//	fmt.Println(report.Passed, report.Failed, report.NotRun)
//
// Every case gets storage of its own, made by the function that is passed in, and closes each
// handle that it opened. Cases know nothing of each other: Check runs several at once, and in another
// order in each of its rounds, so that what depends on chance or on what ran before shows. The suite
// never sleeps to wait for something.
//
// The suite doesn't look at hashes: to a store they are bytes. Package ledger says what they mean.
//
// imports: host/store, host/internal/caserun.
package storetest
