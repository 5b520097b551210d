// Package abi is the contract between the host and its WebAssembly guests: the operations, the
// messages and their bytes. ABI.md beside it is the normative text; this package is that text in Go,
// shared by the host and by guests written in Go or TinyGo.
//
// A message appends itself to a slice and is read back as views of it:
//
//	req := abi.FindSandboxRequest{SandboxID: "sb-1"}
//	wire := req.AppendTo(nil)
//
//	var got abi.FindSandboxRequest
//	if err := got.Unmarshal(wire); err != nil { … } // wraps abi.ErrMalformed
//
// A response is a frame, one status byte and a message:
//
//	frame := abi.AppendOK(nil, &abi.Head{Epoch: 1, LastStep: -1})
//	body, err := abi.ParseFrame(frame) // an error frame gives the *abi.Error that is in it
//
// Rows travel as tables, whose values are typed:
//
//	w := abi.NewTableWriter(nil, 2)
//	w.Row(abi.Text("exec.started"), abi.Int(0))
//	table, err := abi.ParseTable(w.Bytes())
//	table.Value(0, 1).Int
//
// TableReader reads a table from front to back without the index that Table makes.
//
// # Views
//
// Nothing is copied: strings, byte slices and values of a decoded message alias its input, so the
// input must stay and must not change while they are in use. Clone what has to live longer. Decoding
// into the same variable again reuses its slices, elements included.
//
// # Bad input
//
// Every decoder takes any bytes: it returns an error that wraps ErrMalformed or ErrFrame, does not
// panic, and allocates at most a small multiple of the input (see MaxElements). Strings of messages
// must be UTF-8; text inside tables is passed on as it is.
//
// imports: nothing of ours, and of the standard library only what TinyGo compiles well (no fmt,
// reflect or encoding/json).
package abi
