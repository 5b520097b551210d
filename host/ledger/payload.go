package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/host/internal/jsontext"
)

// object is a payload that is one JSON object. It may have been written by anyone.
type object []byte

var errNoObject = errors.New("the payload is not a JSON object")

// openObject checks a payload.
func openObject(payload json.RawMessage) (object, error) {
	text := bytes.TrimLeft(payload, " \t\r\n")
	if len(text) == 0 || text[0] != '{' || !json.Valid(text) {
		return nil, errNoObject
	}
	return object(text), nil
}

// members walks over the object's own members: a name and the text of its value. Of a name that
// comes twice the last one counts.
func (o object) members() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		i := o.blanks(1)
		for o[i] == '"' {
			end := o.skip(i)
			name := unquote(o[i:end])
			i = o.blanks(o.blanks(end) + 1) // over the colon
			end = o.skip(i)
			if !yield(name, o[i:end]) {
				return
			}
			if i = o.blanks(end); o[i] == ',' {
				i = o.blanks(i + 1)
			}
		}
	}
}

func (o object) blanks(i int) int {
	for o[i] == ' ' || o[i] == '\t' || o[i] == '\n' || o[i] == '\r' {
		i++
	}
	return i
}

// skip returns the end of the value that starts at i. The text is known to be valid.
func (o object) skip(i int) int {
	depth := 0
	for {
		switch o[i] {
		case '"':
			for i++; o[i] != '"'; {
				if i += jsontext.Plain(o[i:]); o[i] == '\\' {
					i += 2
				}
			}
			i++
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\n', '\r':
			i++
			continue
		default:
			for i < len(o) && !isDelimiter(o[i]) {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
}

func isDelimiter(ch byte) bool {
	switch ch {
	case ',', ':', '}', ']', ' ', '\t', '\n', '\r':
		return true
	}
	return false
}

// text decodes a string value, "" when it is another kind.
func text(value []byte) string {
	if len(value) == 0 || value[0] != '"' {
		return ""
	}
	return unquote(value)
}

// unquote decodes a valid JSON string. What is no character becomes U+FFFD.
func unquote(s []byte) string {
	s = s[1 : len(s)-1]
	if bytes.IndexByte(s, '\\') < 0 {
		return characters(s)
	}
	out := make([]byte, 0, len(s))
	for len(s) > 0 {
		if s[0] != '\\' {
			n := jsontext.Plain(s)
			out, s = append(out, s[:n]...), s[n:]
			continue
		}
		r, n := unescape(s)
		if utf16.IsSurrogate(r) {
			low, m := unescape(s[n:])
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				n += m
			}
		}
		out, s = utf8.AppendRune(out, r), s[n:]
	}
	return characters(out)
}

// characters makes a string of s in which each byte that belongs to no character is U+FFFD.
func characters(s []byte) string {
	if utf8.Valid(s) {
		return string(s)
	}
	return string([]rune(string(s)))
}

// integer decodes a number value that is whole, however it is spelt.
func integer(value []byte) (int64, bool) {
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return 0, false
	}
	return int64(f), true
}
