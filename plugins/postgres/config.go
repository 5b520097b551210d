package main

import (
	"strings"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/abi"
)

const (
	defaultSchema = "public"
	maxSchema     = 63 // bytes that PostgreSQL keeps of a name
)

// configure accepts schema. Where the server is and how it is used is the grant's, not the guest's.
func (l *ledger) configure(req *abi.ConfigureRequest) (*abi.ConfigureReply, error) {
	var reply abi.ConfigureReply
	refuse := func(key, message string) {
		reply.Diagnostics = append(reply.Diagnostics, abi.Diagnostic{Key: key, Message: message})
	}
	for _, m := range members(req.Config) {
		switch {
		case m.key != "schema":
			refuse(m.key, "unknown key (the bundled PostgreSQL ledger knows url, schema, pool_size, statement_timeout and allow_superuser)")
		case !m.isText:
			refuse(m.key, "the name of a schema is text, which stands in quotes")
		case m.value == "" || len(m.value) > maxSchema:
			refuse(m.key, "the name of a schema has 1 to 63 bytes")
		case strings.IndexByte(m.value, 0) >= 0:
			refuse(m.key, "the name of a schema has no NUL")
		default:
			l.use(m.value)
		}
	}
	return &reply, nil
}

// member is a top-level key of a JSON object, with its value when that is text.
type member struct {
	key, value string
	isText     bool
}

// members reads a JSON object. The host has made it, so it is well-formed; a JSON decoder would
// double the size of this guest.
func members(object string) []member {
	var found []member
	depth := 0
	awaited := false // the value of the last key comes next
	for i := 0; i < len(object); {
		switch object[i] {
		case '"':
			value, end := text(object, i)
			switch {
			case depth == 1 && awaited:
				found[len(found)-1].value, found[len(found)-1].isText = value, true
				awaited = false
			case depth == 1:
				found = append(found, member{key: value})
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
