// Package plugins holds the bundled guests: their bytes, and the digests that they were built with.
//
// Each folder below is the source of one guest, written only with the Go SDK; NAME.wasm beside it
// is what `make plugins` builds from it, byte for byte, and SHA256SUMS is what the host checks
// before it runs one.
//
// imports: nothing of ours.
package plugins
