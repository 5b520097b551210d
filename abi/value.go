package abi

import "unsafe"

// Kind is the tag of a value in a table.
type Kind uint8

// Tags. Every tag from KindText on, known or not, is length-prefixed (u32) and so skippable.
const (
	KindNull Kind = 0
	KindInt  Kind = 1 // i64, 8 bytes
	KindReal Kind = 2 // f64, 8 bytes
	KindBool Kind = 3 // 1 byte, 0 or 1
	KindText Kind = 4 // UTF-8
	KindJSON Kind = 5 // UTF-8, one JSON value
	KindBlob Kind = 6
)

// String returns the tag's name in ABI.md.
func (k Kind) String() string {
	names := [...]string{"null", "i64", "f64", "bool", "text", "json", "blob"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// Value is one cell. Bytes is a view: of a string, of a table or of guest memory; it must not be
// written to and lives as long as what it views.
type Value struct {
	Kind  Kind
	Int   int64 // KindInt; KindBool as 0 or 1
	Real  float64
	Bytes []byte // KindText, KindJSON, KindBlob
}

// Null is the null value.
var Null = Value{}

// Int returns an i64 value.
func Int(v int64) Value { return Value{Kind: KindInt, Int: v} }

// Real returns an f64 value.
func Real(v float64) Value { return Value{Kind: KindReal, Real: v} }

// Bool returns a bool value.
func Bool(v bool) Value {
	if v {
		return Value{Kind: KindBool, Int: 1}
	}
	return Value{Kind: KindBool}
}

// Text returns a text value that views s.
func Text(s string) Value {
	return Value{Kind: KindText, Bytes: unsafe.Slice(unsafe.StringData(s), len(s))}
}

// JSON returns a json value that views b.
func JSON(b []byte) Value { return Value{Kind: KindJSON, Bytes: b} }

// Blob returns a blob value that views b.
func Blob(b []byte) Value { return Value{Kind: KindBlob, Bytes: b} }

// String returns the bytes of a text, json or blob value as a string that views them.
func (v Value) String() string {
	return unsafe.String(unsafe.SliceData(v.Bytes), len(v.Bytes))
}
