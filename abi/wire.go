package abi

import (
	"errors"
	"strconv"
	"unicode/utf8"
	"unsafe"
)

// Bounds of what a message may hold. They keep a few megabytes of input from becoming gigabytes of
// structs.
const (
	// MaxElements bounds every repeated field and map, and the parameters of all steps of one SQLExec
	// together.
	MaxElements = 1 << 16
	// MaxSteps bounds the steps of one SQLExec and of its reply.
	MaxSteps = 1 << 12
)

// ErrMalformed is wrapped by every error of Unmarshal, ReadValue and the table readers.
var ErrMalformed = errors.New("abi: malformed input")

// MalformedError says where a decoder stopped.
type MalformedError struct {
	Subject string // message name, "Value" or "table"
	Offset  int    // bytes into that message, value or table
	Reason  string
}

// Error names the message, the offset and the reason.
func (e *MalformedError) Error() string {
	return "abi: malformed " + e.Subject + " at byte " + strconv.Itoa(e.Offset) + ": " + e.Reason
}

// Unwrap returns ErrMalformed.
func (e *MalformedError) Unwrap() error { return ErrMalformed }

// Wire types of protobuf. The two group types are refused.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

const maxFieldNumber = 1<<29 - 1

// Reasons that more than one decoder gives.
const (
	reasonShort  = "input ends inside a value"
	reasonMany   = "too many elements"
	reasonUTF8   = "string is not UTF-8"
	reasonVarint = "varint is longer than 64 bits"
	reasonGroup  = "groups are not part of this format"
)

// reader walks the fields of one message. The first failure sticks: next then reports false, and
// err says why.
type reader struct {
	src     []byte
	at      int
	tag     uint32 // field number << 3 | wire type, of the current field
	subject string
	err     error
}

func (r *reader) fail(reason string) {
	if r.err == nil {
		r.err = &MalformedError{Subject: r.subject, Offset: r.at, Reason: reason}
	}
	r.at = len(r.src)
}

// nested keeps the error of a message inside this one.
func (r *reader) nested(err error) {
	if err != nil && r.err == nil {
		r.err = err
		r.at = len(r.src)
	}
}

// next moves to the next field.
func (r *reader) next() bool {
	if r.at >= len(r.src) {
		return false
	}
	tag := r.varint()
	if r.err != nil {
		return false
	}
	if number := tag >> 3; number == 0 || number > maxFieldNumber {
		r.fail("field number out of range")
		return false
	}
	r.tag = uint32(tag)
	return true
}

func (r *reader) varint() uint64 {
	if r.at < len(r.src) && r.src[r.at] < 0x80 {
		v := r.src[r.at]
		r.at++
		return uint64(v)
	}
	var v uint64
	for shift := uint(0); shift < 64; shift += 7 {
		if r.at >= len(r.src) {
			r.fail(reasonShort)
			return 0
		}
		c := r.src[r.at]
		r.at++
		if shift == 63 && c > 1 {
			break
		}
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
	r.fail(reasonVarint)
	return 0
}

func (r *reader) uint32() uint32 { return uint32(r.varint()) }

func (r *reader) int64() int64 { return int64(r.varint()) }

func (r *reader) sint64() int64 {
	v := r.varint()
	return int64(v>>1) ^ -int64(v&1)
}

func (r *reader) bool() bool { return r.varint() != 0 }

// bytes returns a view, nil when empty.
func (r *reader) bytes() []byte {
	n := r.varint()
	if n > uint64(len(r.src)-r.at) {
		r.fail(reasonShort)
		return nil
	}
	if n == 0 {
		return nil
	}
	end := r.at + int(n)
	b := r.src[r.at:end:end]
	r.at = end
	return b
}

// string returns a view.
func (r *reader) string() string {
	b := r.bytes()
	if !utf8.Valid(b) {
		r.fail(reasonUTF8)
		return ""
	}
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// room reports whether a repeated field of n elements may take one more.
func (r *reader) room(n int) bool { return r.within(n, MaxElements) }

func (r *reader) within(n, limit int) bool {
	if n >= limit {
		r.fail(reasonMany)
		return false
	}
	return true
}

// skip passes over a field that this version does not know.
func (r *reader) skip() {
	var n int
	switch r.tag & 7 {
	case wireVarint:
		r.varint()
		return
	case wireBytes:
		r.bytes()
		return
	case wireFixed64:
		n = 8
	case wireFixed32:
		n = 4
	case 3, 4:
		r.fail(reasonGroup)
		return
	default:
		r.fail("unknown wire type")
		return
	}
	if n > len(r.src)-r.at {
		r.fail(reasonShort)
		return
	}
	r.at += n
}

// extend returns s with one more element, which is stale when s had room for it.
func extend[T any](s []T) []T {
	if n := len(s); n < cap(s) {
		return s[:n+1]
	}
	var zero T
	return append(s, zero)
}

func appendVarint(dst []byte, v uint64) []byte {
	for v >= 0x80 {
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v))
}

func appendTag(dst []byte, field, wire uint32) []byte {
	return appendVarint(dst, uint64(field<<3|wire))
}

// appendUint writes a varint field unless it is zero.
func appendUint(dst []byte, field uint32, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return appendVarint(appendTag(dst, field, wireVarint), v)
}

func appendSint(dst []byte, field uint32, v int64) []byte {
	return appendUint(dst, field, uint64(v)<<1^uint64(v>>63))
}

func appendBool(dst []byte, field uint32, v bool) []byte {
	if !v {
		return dst
	}
	return append(appendTag(dst, field, wireVarint), 1)
}

// appendOptional writes a varint field that tells zero from absent.
func appendOptional(dst []byte, field uint32, v *uint64) []byte {
	if v == nil {
		return dst
	}
	return appendVarint(appendTag(dst, field, wireVarint), *v)
}

// appendOptionalInt is appendOptional for an int64.
func appendOptionalInt(dst []byte, field uint32, v *int64) []byte {
	if v == nil {
		return dst
	}
	return appendVarint(appendTag(dst, field, wireVarint), uint64(*v))
}

// appendOptionalBool writes a bool that tells false from absent.
func appendOptionalBool(dst []byte, field uint32, v *bool) []byte {
	if v == nil {
		return dst
	}
	if *v {
		return append(appendTag(dst, field, wireVarint), 1)
	}
	return append(appendTag(dst, field, wireVarint), 0)
}

// appendOptionalString writes a string that tells empty from absent.
func appendOptionalString(dst []byte, field uint32, v *string) []byte {
	if v == nil {
		return dst
	}
	return appendElement(dst, field, *v)
}

func appendBytes(dst []byte, field uint32, v []byte) []byte {
	if len(v) == 0 {
		return dst
	}
	dst = appendVarint(appendTag(dst, field, wireBytes), uint64(len(v)))
	return append(dst, v...)
}

func appendString(dst []byte, field uint32, v string) []byte {
	if v == "" {
		return dst
	}
	return appendElement(dst, field, v)
}

// appendElement writes one element of a repeated string, empty ones too.
func appendElement(dst []byte, field uint32, v string) []byte {
	dst = appendVarint(appendTag(dst, field, wireBytes), uint64(len(v)))
	return append(dst, v...)
}

// begin starts a nested message and returns where its body starts. Most bodies are short, so one
// byte is set aside for the length and end moves the body when that is not enough.
func begin(dst []byte, field uint32) (extended []byte, body int) {
	dst = append(appendTag(dst, field, wireBytes), 0)
	return dst, len(dst)
}

func end(dst []byte, body int) []byte {
	n := len(dst) - body
	if n < 0x80 {
		dst[body-1] = byte(n)
		return dst
	}
	var scratch [10]byte
	prefix := appendVarint(scratch[:0], uint64(n))
	dst = append(dst, prefix[1:]...)
	copy(dst[body-1+len(prefix):], dst[body:body+n])
	copy(dst[body-1:], prefix)
	return dst
}

// endNonEmpty is end for a singular message, which is left out when its body is empty.
func endNonEmpty(dst []byte, start, body int) []byte {
	if len(dst) == body {
		return dst[:start]
	}
	return end(dst, body)
}
