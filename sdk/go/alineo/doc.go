// Package alineo is the guest side of the plugin ABI in Go: what a plugin of alineo-host is written
// with. A plugin is a main package that hands its parts to Serve in an init function; its main is
// never called. This one is a whole ledger for a database that only keeps entries:
//
//	package main
//
//	import (
//		"github.com/alineo-labs/alineo-host/abi"
//		"github.com/alineo-labs/alineo-host/sdk/go/alineo"
//	)
//
//	func main() {}
//
//	func init() {
//		alineo.Serve(alineo.Plugin{
//			Manifest: abi.Manifest{
//				Name: "notes", Version: "1.0.0",
//				Capabilities: []abi.Want{{Name: "sql", Resource: "notes", Reason: "keeps the entries"}},
//			},
//			Ledger: &ledger{
//				insert: alineo.Statement("INSERT INTO notes(name, event, payload) VALUES (?, ?, ?)",
//					alineo.Columns(abi.EntryName, abi.EntryEvent, abi.EntryPayload)...).Many(32),
//			},
//		})
//	}
//
//	type ledger struct {
//		alineo.Unimplemented // answers what is missing with "unsupported"
//		insert alineo.Step
//	}
//
//	func (l *ledger) Append(req *abi.LedgerAppendRequest) (*abi.LedgerAppendReply, error) {
//		_, err := alineo.SQL("notes").Write(l.insert.ForEach(req.Entries))
//		return &abi.LedgerAppendReply{}, err
//	}
//
// It is built by
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -ldflags="-s -w" -o notes.wasm .
//
// and its digest is pinned in alineo.toml. TinyGo compiles the package as well, to a guest of some 85 kB
// instead of 2 MB; there a panic ends the instance.
//
// # Asking the host
//
// [SQL] runs a program: statements in one transaction, made with [Statement], [Query] and [Keep] and
// bound to literals ([Text], [Int], …), to columns of a batch ([Column], [Step.ForEach]) or to rows of
// an earlier step ([Result]). The entries of an append and the rows of a page stay on the host and are
// named by handle; a plugin that must see them reads them with [Batch]. A program that runs in every call
// is best made once, as a [Program]. [Log] writes to the host's log,
// and [Invoke] reaches operations that this package has no function for.
//
// [Send] sends an HTTP request to where [plugins.NAME.grant] or the running call allows. A [Secret] is a
// value that stays on the host: [GrantedSecret] names one of [secrets], a broker's request carries one, a
// reply's JSON may hold one ([abi.HTTPRequest.Extract]); [Secret.JSON] and its sisters say where in a
// request the host fills it in, and [KeepSecret] keeps it for later calls.
//
// # One call at a time
//
// An instance serves one call, then the next. Requests, replies of the host and everything read from
// them are views of buffers that are used again: they are good until the running call ends, so clone
// what the plugin keeps. An error that is or wraps an *abi.Error crosses with its code, retryable and
// details; any other has code internal. A panic of the plugin's own code is answered as internal too,
// with its message, and the instance lives on; a fatal error of the Go runtime (out of memory,
// deadlock) ends the instance.
//
// What a plugin keeps between calls it must declare in Manifest.State.
//
// # Testing natively
//
// The package builds for the development machine too. There [Attach] puts a double in the place of
// the host and [Dispatch] calls the plugin as a host would.
//
// imports: abi.
package alineo
