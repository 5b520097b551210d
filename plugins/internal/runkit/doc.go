// Package runkit is what the bundled plugins keep durable runs with: instances, runs, their logs and
// locks, in a SQL database. A plugin gives it a [Dialect] and a [Database]:
//
//	stores := runkit.New(database, runkit.NewStatements(runkit.Dialect{…}))
//	alineo.Serve(alineo.Plugin{
//		Instances: stores.Instances, Runs: stores.Runs, RunLog: stores.Log, Locks: stores.Locks,
//		Optional: runkit.Optional(),
//	})
//
// Each operation is one program, and so one transaction; what must not come between a look and a write
// is a condition of the statement that writes. Times are those of the database's clock.
//
// The statements are a value so that a test can put a wrong one in. Nothing is kept between calls.
//
// imports: abi, plugins/internal/ledgerkit, sdk/go/alineo.
package runkit
