package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/host/internal/jsontext"
	"github.com/alineo-labs/alineo-host/host/store"
)

// MaxDepth is how deep arrays and objects of a payload may nest.
const MaxDepth = 256

// ErrPayload is what a text that can't be a payload is: not JSON, or JSON that two readers may read
// differently.
var ErrPayload = fmt.Errorf("%w: payload", store.ErrInvalid)

// Canonicalizer writes the canonical form. The zero value is ready. It keeps its scratch memory, so
// that one which is used again does not allocate. It is not for concurrent use.
type Canonicalizer struct {
	src     []byte
	pos     int
	dst     []byte
	depth   int
	members []member // of the objects that are open, innermost last
	sorted  []byte   // scratch for an object whose members come in another order
}

// member is one member of an object, as offsets into dst.
type member struct{ start, keyEnd, end int }

// AppendJSON appends the canonical form of one JSON value: no blanks, object members ordered by the
// UTF-16 units of their names, strings with the fewest escapes, numbers in the shortest spelling of
// their exact value. It is RFC 8785 but for numbers that carry more digits than a double holds: RFC
// 8785 rounds them, this keeps them.
//
// A value is refused, with an error that wraps ErrPayload, when it is not JSON, not valid UTF-8, has
// one name twice in an object, has half a surrogate pair, a number beyond a double's range, or nests
// deeper than MaxDepth. On an error dst comes back as it was.
func (c *Canonicalizer) AppendJSON(dst, src []byte) ([]byte, error) {
	if !utf8.Valid(src) {
		return dst, fmt.Errorf("%w: not valid UTF-8", ErrPayload)
	}
	c.src, c.pos, c.dst, c.depth, c.members = src, 0, dst, 0, c.members[:0]
	err := c.value()
	if err == nil {
		if c.blanks(); c.pos < len(src) {
			err = errors.New("more than one value")
		}
	}
	out := c.dst
	c.src, c.dst = nil, nil
	if err != nil {
		return dst, fmt.Errorf("%w: byte %d: %w", ErrPayload, c.pos, err)
	}
	return out, nil
}

var (
	errEnd       = errors.New("the text ends too early")
	errSyntax    = errors.New("not JSON")
	errDepth     = fmt.Errorf("nested deeper than %d", MaxDepth)
	errSurrogate = errors.New("half a surrogate pair")
)

func (c *Canonicalizer) blanks() {
	for c.pos < len(c.src) {
		switch c.src[c.pos] {
		case ' ', '\t', '\n', '\r':
			c.pos++
		default:
			return
		}
	}
}

// peek skips blanks and returns the next byte, 0 at the end.
func (c *Canonicalizer) peek() byte {
	if c.pos < len(c.src) && c.src[c.pos] > ' ' {
		return c.src[c.pos]
	}
	if c.blanks(); c.pos < len(c.src) {
		return c.src[c.pos]
	}
	return 0
}

func (c *Canonicalizer) fail() error {
	if c.pos >= len(c.src) {
		return errEnd
	}
	return errSyntax
}

func (c *Canonicalizer) value() error {
	switch b := c.peek(); b {
	case '{':
		return c.object()
	case '[':
		return c.array()
	case '"':
		return c.string()
	case 't':
		return c.literal("true")
	case 'f':
		return c.literal("false")
	case 'n':
		return c.literal("null")
	default:
		if b == '-' || '0' <= b && b <= '9' {
			return c.number()
		}
		return c.fail()
	}
}

func (c *Canonicalizer) literal(word string) error {
	if rest := c.src[c.pos:]; len(rest) < len(word) || string(rest[:len(word)]) != word {
		return errSyntax
	}
	c.pos += len(word)
	c.dst = append(c.dst, word...)
	return nil
}

func (c *Canonicalizer) array() error {
	if c.depth++; c.depth > MaxDepth {
		return errDepth
	}
	c.pos++
	c.dst = append(c.dst, '[')
	if c.peek() == ']' {
		c.pos++
		c.depth--
		c.dst = append(c.dst, ']')
		return nil
	}
	for {
		if err := c.value(); err != nil {
			return err
		}
		switch c.peek() {
		case ',':
			c.dst = append(c.dst, ',')
			c.pos++
		case ']':
			c.pos++
			c.depth--
			c.dst = append(c.dst, ']')
			return nil
		default:
			return c.fail()
		}
	}
}

func (c *Canonicalizer) object() error {
	if c.depth++; c.depth > MaxDepth {
		return errDepth
	}
	c.pos++
	c.dst = append(c.dst, '{')
	if c.peek() == '}' {
		c.pos++
		c.depth--
		c.dst = append(c.dst, '}')
		return nil
	}
	base, ordered := len(c.members), true
	for {
		if c.peek() != '"' {
			return c.fail()
		}
		m := member{start: len(c.dst)}
		if err := c.string(); err != nil {
			return err
		}
		m.keyEnd = len(c.dst)
		if c.peek() != ':' {
			return c.fail()
		}
		c.pos++
		c.dst = append(c.dst, ':')
		if err := c.value(); err != nil {
			return err
		}
		m.end = len(c.dst)
		if ordered && len(c.members) > base {
			ordered = c.compare(c.members[len(c.members)-1], m) < 0
		}
		c.members = append(c.members, m)
		switch c.peek() {
		case ',':
			c.dst = append(c.dst, ',')
			c.pos++
			continue
		case '}':
		default:
			return c.fail()
		}
		c.pos++
		c.depth--
		if !ordered {
			if err := c.reorder(c.members[base:]); err != nil {
				return err
			}
		}
		c.members = c.members[:base]
		c.dst = append(c.dst, '}')
		return nil
	}
}

// reorder sorts the members of the object that ends dst.
func (c *Canonicalizer) reorder(members []member) error {
	start := members[0].start
	slices.SortFunc(members, c.compare)
	c.sorted = c.sorted[:0]
	for i, m := range members {
		if i > 0 {
			if c.compare(members[i-1], m) == 0 {
				return errors.New("a name comes twice in an object")
			}
			c.sorted = append(c.sorted, ',')
		}
		c.sorted = append(c.sorted, c.dst[m.start:m.end]...)
	}
	c.dst = append(c.dst[:start], c.sorted...)
	return nil
}

// compare orders two members by the UTF-16 units of their names.
func (c *Canonicalizer) compare(a, b member) int {
	return compareNames(c.dst[a.start+1:a.keyEnd-1], c.dst[b.start+1:b.keyEnd-1])
}

// compareNames compares the insides of two strings in canonical form. Bytes order as UTF-16 units do
// unless there is an escape, or a character beyond U+FFFF, which has units below U+E000.
func compareNames(a, b []byte) int {
	for _, s := range [...][]byte{a, b} {
		for _, ch := range s {
			if ch == '\\' || ch >= 0xee {
				return slices.Compare(units(a), units(b))
			}
		}
	}
	return bytes.Compare(a, b)
}

// units decodes the inside of a string in canonical form.
func units(s []byte) []uint16 {
	var out []uint16
	for i := 0; i < len(s); {
		if s[i] == '\\' {
			r, n := unescape(s[i:])
			out = append(out, uint16(r)) //nolint:gosec // a canonical escape is ASCII
			i += n
			continue
		}
		r, n := utf8.DecodeRune(s[i:])
		out = utf16.AppendRune(out, r)
		i += n
	}
	return out
}

func (c *Canonicalizer) string() error {
	c.pos++
	c.dst = append(c.dst, '"')
	for {
		n := jsontext.Plain(c.src[c.pos:])
		c.dst = append(c.dst, c.src[c.pos:c.pos+n]...)
		c.pos += n
		if c.pos == len(c.src) {
			return errEnd
		}
		switch c.src[c.pos] {
		case '"':
			c.pos++
			c.dst = append(c.dst, '"')
			return nil
		case '\\':
			r, n := unescape(c.src[c.pos:])
			if n == 0 {
				return errors.New("a broken escape")
			}
			if utf16.IsSurrogate(r) {
				low, m := unescape(c.src[c.pos+n:])
				if r = utf16.DecodeRune(r, low); m == 0 || r == utf8.RuneError {
					return errSurrogate
				}
				n += m
			}
			c.pos += n
			c.dst = appendRune(c.dst, r)
		default:
			return errors.New("a control character in a string")
		}
	}
}

// unescape decodes the escape that s starts with and returns its length, 0 when it is not one.
func unescape(s []byte) (rune, int) {
	if len(s) < 2 || s[0] != '\\' {
		return 0, 0
	}
	switch s[1] {
	case '"', '\\', '/':
		return rune(s[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		if len(s) < 6 {
			return 0, 0
		}
		r := rune(0)
		for _, ch := range s[2:6] {
			switch {
			case '0' <= ch && ch <= '9':
				ch -= '0'
			case 'a' <= ch && ch <= 'f':
				ch -= 'a' - 10
			case 'A' <= ch && ch <= 'F':
				ch -= 'A' - 10
			default:
				return 0, 0
			}
			r = r<<4 | rune(ch)
		}
		return r, 6
	default:
		return 0, 0
	}
}

// appendRune appends one character of a canonical string.
func appendRune(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	if r < 0x20 {
		const digits = "0123456789abcdef"
		return append(dst, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
	}
	return utf8.AppendRune(dst, r)
}

// appendString appends text as a canonical string. It must be valid UTF-8.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		if ch := s[i]; ch < 0x20 || ch == '"' || ch == '\\' {
			dst = appendRune(dst, rune(ch))
		} else {
			dst = append(dst, ch)
		}
		i++
	}
	return append(dst, '"')
}
