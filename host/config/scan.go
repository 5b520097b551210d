package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// Bounds of a file's structure. The TOML parser's time grows with the square of a key's parts and
// of the depth of inline tables; within these bounds that is nothing.
const (
	maxParts = 16
	maxDepth = 32
)

// spot is a place in the text, both from 1, the column in bytes.
type spot struct {
	line, column int
}

// statement is a `key = value` that starts a line.
type statement struct {
	path       toml.Key
	start, end int // byte offsets; end is that of the line's end
}

// index knows where each key of a file stands: what the TOML parser knows but keeps to itself.
type index struct {
	keys       map[string]spot // by dotted path, the first place that names it
	statements map[int]statement
	tooDeep    *spot // where the structure passes the bounds
}

// scan indexes a text. The text need not be valid: what comes before the first syntax error is
// indexed as the parser would see it.
func scan(text string) index {
	s := &scanner{
		text:  text,
		line:  1,
		index: index{keys: map[string]spot{}, statements: map[int]statement{}},
	}
	s.file()
	return s.index
}

type scanner struct {
	text      string
	at        int // offset of the next byte
	line      int
	lineStart int // offset of the line's first byte
	lists     int // how many lists the next byte is in
	index     index
}

func (s *scanner) file() {
	var table toml.Key
	for s.blank(true); s.at < len(s.text); s.blank(true) {
		before, here := s.at, s.spot()
		if s.skip('[') {
			s.skip('[')
			s.blank(false)
			table = s.key()
			s.record(nil, table, here)
		} else {
			s.pair(table, 0)
		}
		s.restOfLine()
		if s.at == before {
			s.next()
		}
	}
}

// pair scans `key = value` below a table.
func (s *scanner) pair(table toml.Key, depth int) {
	here, start := s.spot(), s.at
	key := s.key()
	path := s.record(table, key, here)
	s.blank(false)
	if len(key) == 0 || !s.skip('=') {
		return
	}
	if _, seen := s.index.statements[here.line]; depth == 0 && !seen {
		end := len(s.text)
		if n := strings.IndexByte(s.text[start:], '\n'); n >= 0 {
			end = start + n
		}
		s.index.statements[here.line] = statement{path: path, start: start, end: end}
	}
	s.blank(false)
	s.value(path, depth+1)
}

// record notes where the parts of a key stand and returns the whole path.
func (s *scanner) record(table, key toml.Key, here spot) toml.Key {
	path := append(toml.Key{}, table...)
	for _, part := range key {
		path = append(path, part)
		if len(path) > maxParts {
			s.deep(here)
			break
		}
		if name := path.String(); s.index.keys[name] == (spot{}) {
			s.index.keys[name] = here
		}
	}
	return path
}

func (s *scanner) deep(here spot) {
	if s.index.tooDeep == nil {
		s.index.tooDeep = &here
	}
}

// value scans one value; keys of inline tables are recorded below path.
func (s *scanner) value(path toml.Key, depth int) {
	if depth > maxDepth {
		s.deep(s.spot())
		s.at = len(s.text) // nothing after this is looked at: the file is refused
		return
	}
	switch {
	case s.at >= len(s.text):
	case s.text[s.at] == '"', s.text[s.at] == '\'':
		s.quoted()
	case s.skip('['):
		s.list(path, depth)
	case s.skip('{'):
		for s.blank(true); s.at < len(s.text) && !s.skip('}'); s.blank(true) {
			if before := s.at; !s.skip(',') {
				s.pair(path, depth+1)
				if s.at == before {
					return
				}
			}
		}
	default:
		for s.at < len(s.text) && !strings.ContainsRune(",]}#\n", rune(s.text[s.at])) {
			s.next()
		}
	}
}

// list scans a list after its bracket. The elements of one that is in no other are recorded by their
// numbers, from 0.
func (s *scanner) list(path toml.Key, depth int) {
	s.lists++
	defer func() { s.lists-- }()
	n := 0
	for s.blank(true); s.at < len(s.text) && !s.skip(']'); s.blank(true) {
		before := s.at
		if s.skip(',') {
			continue
		}
		if s.lists == 1 {
			s.index.keys[element(path, n)] = s.spot()
			n++
		}
		s.value(path, depth+1)
		if s.at == before {
			return // not a value: a syntax error
		}
	}
}

// element is where the index has an element of a list.
func element(path toml.Key, n int) string {
	return append(slices.Clip(path), strconv.Itoa(n)).String()
}

// key scans a dotted key, whose parts may be quoted.
func (s *scanner) key() toml.Key {
	var key toml.Key
	for {
		s.blank(false)
		start := s.at
		switch {
		case s.at < len(s.text) && (s.text[s.at] == '"' || s.text[s.at] == '\''):
			key = append(key, s.quoted())
		default:
			for s.at < len(s.text) && bareKeyByte(s.text[s.at]) {
				s.next()
			}
			if s.at == start {
				return key
			}
			key = append(key, s.text[start:s.at])
		}
		s.blank(false)
		if !s.skip('.') {
			return key
		}
	}
}

func bareKeyByte(b byte) bool {
	return b == '_' || b == '-' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// quoted scans a string of any of TOML's four forms and returns its text.
func (s *scanner) quoted() string {
	quote := s.text[s.at : s.at+1]
	start := s.at
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(s.text[s.at:], triple) {
		s.advance(3)
		for s.at < len(s.text) && !strings.HasPrefix(s.text[s.at:], triple) {
			s.escapable(quote)
		}
		s.advance(3)
		for s.skip(quote[0]) { // up to two quotes may stand before the closing three
		}
		return ""
	}
	s.next()
	for s.at < len(s.text) && s.text[s.at] != quote[0] && s.text[s.at] != '\n' {
		s.escapable(quote)
	}
	s.skip(quote[0])
	return unquote(s.text[start:s.at])
}

// escapable passes one character of a string, which in a basic string may be an escape.
func (s *scanner) escapable(quote string) {
	if quote == `"` && s.text[s.at] == '\\' {
		s.next()
	}
	if s.at < len(s.text) {
		s.next()
	}
}

// unquote is the text of a one-line string. The parser is asked, so that escapes mean the same.
func unquote(literal string) string {
	var v struct{ S string }
	if _, err := toml.Decode("S = "+literal, &v); err != nil {
		return literal
	}
	return v.S
}

// blank passes spaces and comments, and line ends when lines is set.
func (s *scanner) blank(lines bool) {
	for s.at < len(s.text) {
		switch b := s.text[s.at]; {
		case b == ' ' || b == '\t':
			s.at++
		case lines && (b == '\n' || b == '\r'):
			s.next()
		case lines && b == '#':
			s.restOfLine()
		default:
			return
		}
	}
}

func (s *scanner) restOfLine() {
	for s.at < len(s.text) && s.text[s.at] != '\n' {
		s.at++
	}
}

func (s *scanner) skip(b byte) bool {
	if s.at >= len(s.text) || s.text[s.at] != b {
		return false
	}
	s.next()
	return true
}

func (s *scanner) advance(n int) {
	for ; n > 0 && s.at < len(s.text); n-- {
		s.next()
	}
}

// next passes one byte.
func (s *scanner) next() {
	if s.text[s.at] == '\n' {
		s.line++
		s.lineStart = s.at + 1
	}
	s.at++
}

func (s *scanner) spot() spot { return spot{line: s.line, column: s.at - s.lineStart + 1} }

// parseKey splits a dotted path whose parts are quoted where they must be.
func parseKey(path string) toml.Key {
	s := &scanner{text: path, line: 1}
	return s.key()
}
