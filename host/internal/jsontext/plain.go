package jsontext

import (
	"encoding/binary"
	"math/bits"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// Plain returns the length of the start of s that a JSON string holds as it is: up to a quote, a
// backslash or a control character. Bytes that belong to no character are none of its business.
func Plain(s []byte) int {
	i := 0
	for ; i+32 <= len(s); i += 32 {
		b := s[i : i+32 : i+32]
		if (ends(binary.LittleEndian.Uint64(b))|ends(binary.LittleEndian.Uint64(b[8:]))|
			ends(binary.LittleEndian.Uint64(b[16:]))|ends(binary.LittleEndian.Uint64(b[24:])))&highs != 0 {
			break
		}
	}
	for ; i+8 <= len(s); i += 8 {
		// Of the marks the lowest is right; those above may be borrows.
		if marks := ends(binary.LittleEndian.Uint64(s[i:])) & highs; marks != 0 {
			return i + bits.TrailingZeros64(marks)/8
		}
	}
	for ; i < len(s); i++ {
		if s[i] == '"' || s[i] == '\\' || s[i] < 0x20 {
			return i
		}
	}
	return i
}

// ends marks in the highest bits of eight bytes which of them end the plain text. With its second bit
// turned a quote is 0x20, and neither a blank nor any control character crosses that line.
func ends(w uint64) uint64 {
	low, slash := w^(ones*2), w^(ones*'\\')
	return (low-ones*0x21)&^low | (slash-ones)&^slash
}
