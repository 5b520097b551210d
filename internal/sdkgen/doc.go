// Command sdkgen writes the message types, operations and constants of the SDKs that are not in Go from
// the schema in abi/alineo/v1, the tables of operations in abi/ABI.md and the columns in package abi; and for
// the host the names of those columns:
//
//	go run ./internal/sdkgen            # writes the files below sdk/, and host/internal/opjson/columns.go
//	go run ./internal/sdkgen -check     # says which are not what it would write
//
// What it writes is committed, so that an author needs no generator. Everything that is not a list of
// fields or numbers is written by hand, in each language's own way.
//
// imports: nothing of ours.
package main
