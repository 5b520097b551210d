// Command server keeps the ledger that the plugin in this folder forwards to, in a SQLite file:
//
//	go run ./examples/ledger-http-as/server -listen 127.0.0.1:8099 -ledger ./shared.db
//
// It listens on loopback and asks nobody who they are: put what your network needs in front of it.
//
// imports: examples, host.
package main
