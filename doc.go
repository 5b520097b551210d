// Package alineohost is the sources that an author of a plugin gets from the binary: the ABI, the SDKs,
// the scripts that build with them, and the examples that `alineo-host plugin new` begins a plugin with.
// The host itself is in package host:
//
//	sources := alineohost.Sources()
//	text, err := fs.ReadFile(sources, "abi/ABI.md")
//
// imports: nothing of ours.
package alineohost
