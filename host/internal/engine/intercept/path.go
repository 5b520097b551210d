package intercept

import (
	"errors"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/host/internal/engine/vault"
)

// maxDecodings is how many layers of percent-encoding a path may have.
const maxDecodings = 4

var errPath = errors.New("request path contains ambiguous segments")

// checkPath refuses a path that a server could take for another one, to which the binding that was
// chosen for it doesn't reach: with dot segments, back slashes or what is no text, however often
// encoded; or one for which another binding, or none, would be chosen once it is decoded or its repeated
// slashes are one.
func checkPath(rules *vault.Rules, q vault.Request, chosen *vault.Injection) error {
	p := q.Path
	for range maxDecodings {
		if strange(p) {
			return errPath
		}
		for _, variant := range [...]string{p, clean(p)} {
			q.Path = variant
			if got, err := rules.Select(q); err != nil || got != chosen {
				return errPath
			}
		}
		next := unescape(p)
		if next == p {
			return nil
		}
		p = next
	}
	return errPath
}

// plainPath tells whether a path stays an ordinary one however often it is decoded.
func plainPath(p string) bool {
	for range maxDecodings {
		if strange(p) {
			return false
		}
		next := unescape(p)
		if next == p {
			return true
		}
		p = next
	}
	return false
}

func strange(p string) bool {
	if !utf8.ValidString(p) || strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }) {
		return true
	}
	for segment := range strings.SplitSeq(p, "/") {
		segment, _, _ = strings.Cut(segment, ";") // parameters, as some servers have them
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// clean makes repeated slashes one.
func clean(p string) string {
	c := path.Clean(p)
	if strings.HasSuffix(p, "/") && c != "/" {
		c += "/"
	}
	return c
}

// unescape decodes one layer. What is no escape stays.
func unescape(p string) string {
	if !strings.Contains(p, "%") {
		return p
	}
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		if p[i] == '%' && i+2 < len(p) {
			hi, ok1 := digit(p[i+1])
			lo, ok2 := digit(p[i+2])
			if ok1 && ok2 {
				b.WriteByte(hi<<4 | lo)
				i += 2
				continue
			}
		}
		b.WriteByte(p[i])
	}
	return b.String()
}

func digit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
