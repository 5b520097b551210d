// Command embed-go opens a host in a program of its own, runs a command in a sandbox, and reads what
// the ledger has of it.
//
// imports: host, host/sandbox, host/ledger.
package main
