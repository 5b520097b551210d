// Package sqliteledger is the bundled SQLite ledger, which plugins/sqlite serves.
//
//	func init() {
//		ledger := sqliteledger.New(sqliteledger.Standard())
//		alineo.Serve(sqliteledger.Plugin(ledger))
//	}
//
// It owns the schema, the migrations and every statement of the ledger; the host owns the file. The
// two tables of the reference client, alineo_events and alineo_environments, are exactly the
// reference's, so that either program reads what the other wrote. Everything else lies in tables of
// our own with the prefix alineo_host_: the schema's version, the head of each sandbox's ledger
// (who may write, and the hash of what was written last), the chain of segments, and the tombstones
// of deleted sandboxes.
//
// It keeps nothing between calls but the knowledge that the schema is there, so that the host may
// run several instances of it and discard any.
//
// It is a package of its own so that a test can build a guest that is wrong in one place: with
// another text for one of the [Statements], or a type that embeds [Ledger] and has one method of its
// own.
//
// The stores of durable runs lie in the same file, see package runkit.
//
// imports: abi, plugins/internal/ledgerkit, plugins/internal/runkit, sdk/go/alineo.
package sqliteledger
