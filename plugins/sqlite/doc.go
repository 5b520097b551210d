// Command sqlite is the bundled SQLite ledger, a WebAssembly guest written only with the Go SDK. What
// it does is in package sqliteledger.
//
// imports: plugins/internal/sqliteledger, sdk/go/alineo.
package main
