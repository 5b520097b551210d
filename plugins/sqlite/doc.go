// Command sqlite is the bundled SQLite plugin: a ledger, and the stores of durable runs. It is a
// WebAssembly guest written only with the Go SDK. What it does is in packages sqliteledger and runkit.
//
// imports: plugins/internal/sqliteledger, sdk/go/alineo.
package main
