package ledgerkit

import (
	"strings"
	"unicode/utf8"
)

// Member is a top-level key of a JSON object, with its value when that is text.
type Member struct {
	Key, Value string
	IsText     bool
}

// Members reads a configuration. The host has made it, so it is well-formed; a JSON decoder would
// double the size of a guest.
func Members(object string) []Member {
	var found []Member
	depth := 0
	awaited := false // the value of the last key comes next
	for i := 0; i < len(object); {
		switch object[i] {
		case '"':
			value, end := text(object, i)
			switch {
			case depth == 1 && awaited:
				found[len(found)-1].Value, found[len(found)-1].IsText = value, true
				awaited = false
			case depth == 1:
				found = append(found, Member{Key: value})
			}
			i = end
			continue
		case '{', '[':
			depth++
			awaited = false
		case '}', ']':
			depth--
		case ':':
			awaited = depth == 1
		case ',':
			awaited = false
		}
		i++
	}
	return found
}

// text reads the JSON text that begins at object[i], and returns where it ends.
func text(object string, i int) (value string, end int) {
	var b strings.Builder
	for i++; i < len(object) && object[i] != '"'; i++ {
		if object[i] != '\\' || i+1 >= len(object) {
			b.WriteByte(object[i])
			continue
		}
		i++
		switch object[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			r := rune(0)
			for _, c := range object[min(i+1, len(object)):min(i+5, len(object))] {
				r = r<<4 | rune(strings.IndexRune("0123456789abcdef", c|0x20)&0xf)
			}
			if !utf8.ValidRune(r) {
				r = utf8.RuneError // a half of a pair: Go's own encoder writes none
			}
			b.WriteRune(r)
			i += 4
		default:
			b.WriteByte(object[i])
		}
	}
	return b.String(), i + 1
}
