// Command sqlite is the bundled SQLite ledger, a WebAssembly guest written only with the Go SDK.
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
// imports: abi, sdk/go/alineo.
package main
