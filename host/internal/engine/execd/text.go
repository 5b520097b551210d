package execd

import (
	"encoding/binary"
	"unicode/utf8"
)

// plain tells whether a byte stands in a JSON string as it is: ASCII but for
// control characters, quotes, backslashes and what HTML gives a meaning.
func plain(c byte) bool {
	const (
		low  = ^uint64(1<<0x20-1) &^ (1<<'"' | 1<<'<' | 1<<'>' | 1<<'&')
		high = ^uint64(0) &^ (1 << ('\\' - 64))
	)
	return c < 64 && low>>c&1 != 0 || c-64 < 64 && high>>(c-64)&1 != 0
}

// plainWord tells that all of eight bytes are plain. It may be wrong in one
// direction: false costs a closer look.
func plainWord(w uint64) bool {
	const (
		ones = 0x0101010101010101
		tops = 0x8080808080808080
	)
	odd := w | (w - 0x20*ones)   // a top bit: over 0x7f, or under 0x20
	odd |= (w ^ '"'*ones) - ones // a top bit where a byte is that
	odd |= (w ^ '\\'*ones) - ones
	odd |= (w ^ '<'*ones) - ones
	odd |= (w ^ '>'*ones) - ones
	odd |= (w ^ '&'*ones) - ones
	return odd&tops == 0
}

const hexDigits = "0123456789abcdef"

// appendText appends src as the inside of a JSON string, byte for byte what
// encoding/json makes of it: <, > and & escaped, U+FFFD for each byte that is
// not UTF-8.
func appendText(dst, src []byte) []byte {
	for i := 0; i < len(src); {
		n := i
		for n+8 <= len(src) && plainWord(binary.LittleEndian.Uint64(src[n:])) {
			n += 8
		}
		for n < len(src) && plain(src[n]) {
			n++
		}
		dst = append(dst, src[i:n]...)
		if i = n; i == len(src) {
			break
		}
		if c := src[i]; c < utf8.RuneSelf {
			dst = appendEscape(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRune(src[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(dst, `\ufffd`...)
		case r == '\u2028' || r == '\u2029':
			dst = append(dst, `\u202`...)
			dst = append(dst, hexDigits[r&0xf])
		default:
			dst = append(dst, src[i:i+size]...)
		}
		i += size
	}
	return dst
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}

// unfinished tells how many bytes at the end of b are the beginning of a UTF-8
// sequence that goes on.
func unfinished(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		c := b[len(b)-n]
		if utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
