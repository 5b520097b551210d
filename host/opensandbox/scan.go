package opensandbox

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/host/internal/jsontext"
)

// A JSON scanner for one object a line: it checks the whole of it, and hands out the top level's
// values as views. encoding/json costs ten times as much on this path, most of it garbage.

type kind uint8

const (
	kindNone kind = iota
	kindString
	kindNumber
	kindObject
	kindOther
)

// span is a value as it stands in the source.
type span struct {
	raw     []byte
	kind    kind
	escaped bool // a string that has escapes
}

// content returns a string's inside, as it came.
func (v span) content() []byte { return v.raw[1 : len(v.raw)-1] }

// text returns a string's value, and nothing for other kinds.
func (v span) text() string {
	if v.kind != kindString {
		return ""
	}
	if !v.escaped {
		return string(v.content())
	}
	return string(appendUnescaped(nil, v.content()))
}

var errMalformed = errors.New("not a JSON object")

const maxDepth = 256

type scanner struct {
	src   []byte
	at    int
	depth int
}

// object scans the source as one object with nothing but white space around it, and calls field
// for each of its members. A key with escapes is passed as it came.
func (s *scanner) object(field func(key []byte, value span)) error {
	s.space()
	if !s.members(field) {
		return errMalformed
	}
	s.space()
	if s.at != len(s.src) {
		return errMalformed
	}
	return nil
}

func (s *scanner) members(field func(key []byte, value span)) bool {
	if !s.take('{') {
		return false
	}
	s.space()
	if s.take('}') {
		return true
	}
	for {
		key, ok := s.string()
		if !ok {
			return false
		}
		s.space()
		if !s.take(':') {
			return false
		}
		s.space()
		value, ok := s.value()
		if !ok {
			return false
		}
		if field != nil {
			field(key.content(), value)
		}
		s.space()
		if s.take('}') {
			return true
		}
		if !s.take(',') {
			return false
		}
		s.space()
	}
}

func (s *scanner) elements() bool {
	if !s.take('[') {
		return false
	}
	s.space()
	if s.take(']') {
		return true
	}
	for {
		if _, ok := s.value(); !ok {
			return false
		}
		s.space()
		if s.take(']') {
			return true
		}
		if !s.take(',') {
			return false
		}
		s.space()
	}
}

func (s *scanner) value() (span, bool) {
	if s.at >= len(s.src) {
		return span{}, false
	}
	start := s.at
	switch s.src[s.at] {
	case '"':
		return s.string()
	case '{', '[':
		if s.depth++; s.depth > maxDepth {
			return span{}, false
		}
		var kind kind
		var ok bool
		if s.src[s.at] == '{' {
			kind, ok = kindObject, s.members(nil)
		} else {
			kind, ok = kindOther, s.elements()
		}
		s.depth--
		return span{raw: s.src[start:s.at], kind: kind}, ok
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	if !s.number() {
		return span{}, false
	}
	return span{raw: s.src[start:s.at], kind: kindNumber}, true
}

func (s *scanner) word(word string) (span, bool) {
	if len(s.src)-s.at < len(word) || string(s.src[s.at:s.at+len(word)]) != word {
		return span{}, false
	}
	raw := s.src[s.at : s.at+len(word)]
	s.at += len(word)
	return span{raw: raw, kind: kindOther}, true
}

func (s *scanner) number() bool {
	s.take('-')
	if !s.take('0') && !s.digits() {
		return false
	}
	if s.take('.') && !s.digits() {
		return false
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		return s.digits()
	}
	return true
}

func (s *scanner) digits() bool {
	start := s.at
	for s.at < len(s.src) && s.src[s.at] >= '0' && s.src[s.at] <= '9' {
		s.at++
	}
	return s.at > start
}

func (s *scanner) string() (span, bool) {
	if s.at >= len(s.src) || s.src[s.at] != '"' {
		return span{}, false
	}
	start := s.at
	escaped := false
	for i := start + 1; ; {
		if i += jsontext.Plain(s.src[i:]); i == len(s.src) {
			return span{}, false
		}
		switch s.src[i] {
		case '"':
			s.at = i + 1
			return span{raw: s.src[start:s.at], kind: kindString, escaped: escaped}, true
		case '\\':
			escaped = true
			n := escapeLen(s.src[i:])
			if n == 0 {
				return span{}, false
			}
			i += n
		default:
			return span{}, false // a control character
		}
	}
}

// escapeLen returns the length of the escape that b begins with, 0 when it isn't one.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	if b[1] != 'u' {
		if strings.IndexByte(`"\/bfnrt`, b[1]) < 0 {
			return 0
		}
		return 2
	}
	if len(b) < 6 || hex4(b[2:6]) < 0 {
		return 0
	}
	return 6
}

func (s *scanner) take(c byte) bool {
	if s.at < len(s.src) && s.src[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) space() {
	for s.at < len(s.src) {
		switch s.src[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// appendUnescaped appends the value of a string's inside, which was scanned before. Half of a
// surrogate pair becomes U+FFFD, as everywhere in Go.
func appendUnescaped(dst, content []byte) []byte {
	for len(content) > 0 {
		plain := bytes.IndexByte(content, '\\')
		if plain < 0 {
			return append(dst, content...)
		}
		dst = append(dst, content[:plain]...)
		content = content[plain:]
		if content[1] != 'u' {
			dst = append(dst, unescapeByte(content[1]))
			content = content[2:]
			continue
		}
		r := hex4(content[2:])
		content = content[6:]
		if utf16.IsSurrogate(r) {
			pair := rune(utf8.RuneError)
			if len(content) >= 6 && content[0] == '\\' && content[1] == 'u' {
				pair = utf16.DecodeRune(r, hex4(content[2:]))
			}
			if pair != utf8.RuneError {
				content = content[6:]
			}
			r = pair
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

func unescapeByte(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c // a quote, a slash or a backslash
}
