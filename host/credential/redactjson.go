package credential

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON returns a JSON value without the values that are known, in its strings, also those that name
// members, and its numbers, which then become strings. own is for the host's own events: there, the
// names of members that readers look for, the type, the ids that a server or the host has made up, and
// numbers at the top stay as they are. It
// returns its argument when there is nothing to take out, and does not change it.
func (r *Redactor) JSON(value []byte, own bool) []byte {
	p := r.patterns()
	if p == nil || !p.inJSON(value) {
		return value
	}
	if !json.Valid(value) {
		return p.replace(value) // whoever wants JSON will refuse it
	}
	j := jsonWalk{p: p, own: own, src: value}
	j.value(0, "")
	if !j.changed {
		return value
	}
	return append(j.out, value[j.at:]...)
}

// inJSON reports whether there may be something to take out.
func (p *patterns) inJSON(value []byte) bool {
	if found, _ := p.scan(value); len(found) > 0 {
		return true
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return false
	}
	plain := make([]byte, 0, len(value))
	for rest := value; ; {
		start := bytes.IndexByte(rest, '"')
		if start < 0 {
			return false
		}
		end := stringEnd(rest, start)
		inner := rest[start+1 : max(start+1, end-1)]
		if bytes.IndexByte(inner, '\\') >= 0 {
			plain = unescape(plain[:0], inner)
			if p.has(plain) {
				return true
			}
		}
		rest = rest[end:]
	}
}

// stringEnd returns where the string ends that begins with the quote at start.
func stringEnd(b []byte, start int) int {
	for i := start + 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// unescape appends what the inside of a JSON string stands for.
func unescape(dst, s []byte) []byte {
	for i := 0; i < len(s); {
		n := bytes.IndexByte(s[i:], '\\')
		if n < 0 || i+n+1 >= len(s) {
			return append(dst, s[i:]...)
		}
		dst = append(dst, s[i:i+n]...)
		i += n + len(`\n`)
		switch s[i-1] {
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'u':
			r, ok := hex4(s, i)
			if !ok {
				continue
			}
			i += 4
			if utf16.IsSurrogate(r) && i+1 < len(s) && s[i] == '\\' && s[i+1] == 'u' {
				if low, ok := hex4(s, i+2); ok {
					if whole := utf16.DecodeRune(r, low); whole != utf8.RuneError {
						r, i = whole, i+6
					}
				}
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, s[i-1])
		}
	}
	return dst
}

func hex4(s []byte, at int) (rune, bool) {
	const digits = 4
	if at+digits > len(s) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[at:at+digits]), 16, 32)
	return rune(n), err == nil //nolint:gosec // four hexadecimal digits
}

// jsonWalk writes a valid JSON value anew.
type jsonWalk struct {
	p       *patterns
	own     bool
	src     []byte
	at      int
	out     []byte
	changed bool
}

func (j *jsonWalk) blanks() {
	for j.at < len(j.src) {
		switch j.src[j.at] {
		case ' ', '\t', '\r', '\n':
			j.out = append(j.out, j.src[j.at])
			j.at++
		default:
			return
		}
	}
}

func (j *jsonWalk) value(depth int, name string) {
	j.blanks()
	switch c := j.src[j.at]; c {
	case '{', '[':
		j.list(c, depth)
	case '"':
		j.text(j.own && depth == 1 && madeUp(name))
	default:
		start := j.at
		for j.at < len(j.src) && strings.IndexByte(",]} \t\r\n", j.src[j.at]) < 0 {
			j.at++
		}
		token := j.src[start:j.at]
		if j.own && depth == 1 || c != '-' && (c < '0' || c > '9') || !j.p.has(token) {
			j.out = append(j.out, token...)
			return
		}
		j.changed = true
		j.out = strconv.AppendQuote(j.out, string(j.p.replace(token)))
	}
}

func (j *jsonWalk) list(open byte, depth int) {
	j.out = append(j.out, open)
	j.at++
	for {
		j.blanks()
		switch c := j.src[j.at]; c {
		case '}', ']':
			j.out = append(j.out, c)
			j.at++
			return
		case ',':
			j.out = append(j.out, c)
			j.at++
			continue
		}
		name := ""
		if open == '{' {
			name = j.name()
			j.blanks()
			j.out = append(j.out, ':')
			j.at++
		}
		j.value(depth+1, name)
	}
}

// name writes a member's name and returns it as it was.
func (j *jsonWalk) name() string {
	inner := j.src[j.at+1 : stringEnd(j.src, j.at)-1]
	name := string(unescape(nil, inner))
	j.text(j.own && structural(name))
	return name
}

func (j *jsonWalk) text(leave bool) {
	end := stringEnd(j.src, j.at)
	token := j.src[j.at:end]
	j.at = end
	if leave {
		j.out = append(j.out, token...)
		return
	}
	plain := unescape(nil, token[1:len(token)-1])
	clean := j.p.replace(plain)
	if bytes.Equal(plain, clean) {
		j.out = append(j.out, token...)
		return
	}
	quoted, _ := encode(string(clean)) // a string has a JSON form, always
	j.changed = true
	j.out = append(j.out, quoted...)
}

// madeUp are members of the host's own events that no value can be in, but that may look like one that is
// short.
func madeUp(name string) bool {
	switch name {
	case "type", "sandboxId", "snapshotId", "resumedFrom", "forkedFrom", "fromSnapshot", "parentSandboxId", "sessionId", "digest":
		return true
	}
	return false
}

// structural are names of members that readers of the ledger look for.
func structural(name string) bool {
	switch name {
	case "type", "text", "seq", "timestamp", "execution_count", "execution_time", "results", "error", "ename", "evalue", "traceback",
		"cmd", "code", "sessionId", "interactive", "cwd", "env", "exitCode", "reason", "digest",
		"sandboxId", "resources", "cpu", "memory", "gpu", "runId", "resourceId", "teamId", "parentSandboxId",
		"resumedFrom", "forkedFrom", "fromSnapshot", "fromEnvironment", "snapshotId", "name",
		"networkPolicy", "defaultAction", "egress", "action", "target", "rules", "targets",
		"credentialProxy", "binding", "source", "host", "pathPrefix", "injection", "match", "schemes", "ports", "hosts", "methods",
		"paths", "headers", "credential", "placeholder", "in", "varName", "ref":
		return true
	}
	return false
}
