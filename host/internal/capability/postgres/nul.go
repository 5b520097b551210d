package postgres

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// PostgreSQL's JSONB holds every JSON value but those with a NUL in a text. A value that has one is
// stored with the NUL written as ␀, and marked; reading undoes it, so that nobody above knows:
//
//	{"type":"stdout","text":"a\u0000b"}   {"$nul":1,"type":"stdout","text":"a␀b"}
//	"\u0000"                              {"$nul":2,"value":"␀"}
//
// In a marked value ␛ stands before a ␀ or ␛ that was there before. An object is marked in place, so
// that other programs find its keys where they look for them; anything else, and an object that has
// the key $nul already, is wrapped.
const (
	nulMark   = `"$nul"`
	nulText   = '\u2400' // ␀
	nulEscape = '\u241b' // ␛
)

// escapeNUL returns a JSON value as PostgreSQL can hold it. Most are returned as they are.
func escapeNUL(value []byte) []byte {
	marked := maybeMarked(value)
	if !marked && !bytes.Contains(value, []byte(`\u0000`)) {
		return value
	}
	escaped, found := rewrite(value, false)
	trimmed := bytes.TrimLeft(value, " \t\r\n")
	object := len(trimmed) > 0 && trimmed[0] == '{'
	taken := marked && object && hasMark(value)
	switch {
	case !found && !taken:
		return value // \\u0000 is no NUL
	case !json.Valid(value):
		return value // the server says why not
	case object && !taken:
		out := append([]byte("{"+nulMark+":1"), ',')
		rest := bytes.TrimLeft(escaped, " \t\r\n")[1:]
		if bytes.TrimLeft(rest, " \t\r\n")[0] == '}' {
			out = out[:len(out)-1]
		}
		return append(out, rest...)
	default:
		out := append([]byte("{"+nulMark+":2,\"value\":"), escaped...)
		return append(out, '}')
	}
}

// maybeMarked reports whether a value may have the mark's key, whichever way that is spelt.
func maybeMarked(value []byte) bool {
	if bytes.Contains(value, []byte(nulMark)) {
		return true
	}
	for rest := value; ; {
		at := bytes.Index(rest, []byte(`\u00`))
		if at < 0 || len(rest) < at+6 {
			return false
		}
		switch string(bytes.ToLower(rest[at+4 : at+6])) {
		case "24", "6e", "75", "6c": // the letters of $nul
			return true
		}
		rest = rest[at+4:]
	}
}

// unescapeNUL returns what escapeNUL was given, as JSON of the same value.
func unescapeNUL(value []byte) []byte {
	if bytes.IndexByte(value, '$') < 0 || !bytes.Contains(value, []byte(nulMark)) {
		return value
	}
	keys, ok := topLevel(value)
	if !ok {
		return value
	}
	for i, key := range keys {
		if key.name != "$nul" {
			continue
		}
		switch string(value[key.value:key.end]) {
		case "1":
			// Cut the key out, with the comma that parts it from its neighbour.
			from, to := key.start, key.end
			if i+1 < len(keys) {
				to = keys[i+1].start
			} else if i > 0 {
				from = keys[i-1].end
			}
			rest := append(append([]byte{}, value[:from]...), value[to:]...)
			plain, _ := rewrite(rest, true)
			return plain
		case "2":
			for _, other := range keys {
				if other.name == "value" && len(keys) == 2 {
					plain, _ := rewrite(value[other.value:other.end], true)
					return plain
				}
			}
		}
	}
	return value
}

// rewrite copies a JSON value with its texts escaped or, when back is set, unescaped. Found says
// whether there was something to do.
func rewrite(value []byte, back bool) (out []byte, found bool) {
	out = make([]byte, 0, len(value)+16)
	inText := false
	for i := 0; i < len(value); {
		c := value[i]
		switch {
		case c == '"':
			inText = !inText
		case inText && c == '\\' && i+1 < len(value):
			if back || value[i+1] != 'u' {
				out = append(out, value[i:i+2]...)
				i += 2
				continue
			}
			if size := escapedRune(value[i:]); size > 0 {
				found = found || bytes.Equal(value[i:i+size], []byte(`\u0000`))
				out = appendEscaped(out, value[i:i+size])
				i += size
				continue
			}
		case inText && c == 0xe2: // the first byte of ␀ and ␛
			r, size := utf8.DecodeRune(value[i:])
			switch {
			case !back && (r == nulText || r == nulEscape):
				out = utf8.AppendRune(out, nulEscape)
			case back && r == nulText:
				out = append(out, `\u0000`...)
				i += size
				continue
			case back && r == nulEscape:
				i += size
				_, next := utf8.DecodeRune(value[i:])
				out = append(out, value[i:i+next]...)
				i += next
				continue
			}
			out = append(out, value[i:i+size]...)
			i += size
			continue
		}
		out = append(out, c)
		i++
	}
	return out, found
}

// escapedRune is the length of \u0000, \u2400 and \u241b, which a rewrite has to look at.
func escapedRune(b []byte) int {
	const size = len(`\u0000`)
	if len(b) < size {
		return 0
	}
	switch string(bytes.ToLower(b[2:size])) {
	case "0000", "2400", "241b":
		return size
	default:
		return 0
	}
}

func appendEscaped(out, escape []byte) []byte {
	switch string(bytes.ToLower(escape[2:])) {
	case "0000":
		return utf8.AppendRune(out, nulText)
	case "2400":
		return append(utf8.AppendRune(out, nulEscape), string(nulText)...)
	default:
		return append(utf8.AppendRune(out, nulEscape), string(nulEscape)...)
	}
}

// member is a key of an object and where its parts lie.
type member struct {
	name              string
	start, value, end int
}

// topLevel returns the keys of an object; ok is false for anything else.
func topLevel(value []byte) (keys []member, ok bool) {
	d := json.NewDecoder(bytes.NewReader(value))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		before := int(d.InputOffset())
		start := before + bytes.IndexByte(value[before:], '"')
		name, err := d.Token()
		if err != nil {
			return nil, false
		}
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			return nil, false
		}
		text, _ := name.(string)
		end := int(d.InputOffset())
		keys = append(keys, member{name: text, start: start, value: end - len(skipped), end: end})
	}
	return keys, true
}

// hasMark reports whether an object has the mark's key itself.
func hasMark(value []byte) bool {
	keys, _ := topLevel(value)
	for _, key := range keys {
		if key.name == "$nul" {
			return true
		}
	}
	return false
}
