// Command postgres is the bundled PostgreSQL plugin: a ledger, and the stores of durable runs (package
// runkit). It is a WebAssembly guest written only with the Go SDK.
//
// It owns the schema, the migrations and every statement of the ledger; the host owns the connection.
// The two tables of the reference client, alineo_events and alineo_environments, are exactly the
// reference's, so that either program reads what the other wrote. Everything else has the prefix
// alineo_host_: the schema's version, the head of each sandbox's ledger (who may write, and the hash
// of what was written last), the chain of segments, the tombstones of deleted sandboxes, and the
// small indexes over the entries that listings are about, so that they read only what they show.
//
// Several hosts may share one database. A sandbox's entries get their ids under the lock of its head,
// so that their order is the order in which they were appended; a retry of an append that is still
// under way waits for that lock, and then sees that it was applied.
//
// Its one configuration key is schema, the schema that the tables lie in (public). It keeps nothing
// between calls but the knowledge that the tables are there, so that the host may run several
// instances of it and discard any.
//
// imports: abi, plugins/internal/ledgerkit, plugins/internal/runkit, sdk/go/alineo.
package main
