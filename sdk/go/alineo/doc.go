// Package alineo is the guest side of the plugin ABI in Go: what a ledger written in Go is made of.
//
// A plugin is a main package that hands its parts over when it is initialised; main itself is never
// called:
//
//	package main
//
//	import "github.com/alineo-labs/alineo-host/sdk/go/alineo"
//
//	func init() {
//		alineo.Serve(alineo.Plugin{Manifest: manifest, Ledger: &ledger{}})
//	}
//
//	func main() {}
//
// and is built by
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -ldflags="-s -w" -o my-ledger.wasm .
//
// A plugin that keeps its data in a database says what happens there as a program of statements:
// [SQL] runs one in a single transaction. Entries of an append stay on the host and are bound by
// handle; a plugin that must see them reads them with [Batch].
//
// One call runs at a time. An error that is an *abi.Error reaches the host as it is, any other as
// CodeInternal; so does a panic of the plugin's own code, after which the instance goes on.
//
// Outside WebAssembly the package builds too, so that a plugin's logic can be tested natively:
// [Handle] is what the host calls, and [Attach] stands in for the host.
//
// imports: abi.
package alineo
