// Command embed-go opens a host in a program of its own, with a ledger in Go and a credential broker in
// WebAssembly, runs a command in a sandbox, and reads what the ledger has of it.
//
// imports: examples/embed-go/memory, host, host/config, host/credential, host/ledger, host/opensandbox, host/sandbox.
package main
