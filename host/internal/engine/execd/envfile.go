//go:build unix

package execd

import (
	"io"
	"os"
	"strings"
)

// maxEnvFile bounds what is read of an EXECD_ENVS file.
const maxEnvFile = 1 << 20

// addEnvFile adds what the file says. It need not exist.
func addEnvFile(path string, into map[string]string) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	if b, err := io.ReadAll(io.LimitReader(f, maxEnvFile)); err == nil {
		addVariables(string(b), into)
	}
}

// addVariables adds what an EXECD_ENVS file says: lines of KEY=VALUE, and
// comments that begin with #. A value in single quotes is taken as it is, over
// several lines if need be; in double quotes, and without any, it refers to
// variables as $NAME or ${NAME}, and double quotes know \n, \r, \t, \", \\ and \$.
func addVariables(text string, into map[string]string) {
	for text != "" {
		line, next, _ := strings.Cut(text, "\n")
		key, value, ok := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		if !ok || strings.HasPrefix(key, "#") {
			text = next
			continue
		}
		quoted := strings.TrimLeft(text[len(line)-len(value):], " \t") // to the end of the file
		if quoted != "" && (quoted[0] == '\'' || quoted[0] == '"') {
			if v, after, closed := unquote(quoted[0], quoted[1:], into); closed {
				into[key] = v
				_, text, _ = strings.Cut(after, "\n") // a comment may follow
				continue
			}
		}
		into[key] = expand(strings.TrimSpace(value), into) // an open quote is a character like any other
		text = next
	}
}

func expand(s string, from map[string]string) string {
	return os.Expand(s, func(name string) string { return from[name] })
}

// unquote reads a value up to its closing quote, and returns what follows it.
func unquote(quote byte, s string, from map[string]string) (value, after string, closed bool) {
	if quote == '\'' {
		return strings.Cut(s, "'")
	}
	var out, plain strings.Builder
	flush := func() { out.WriteString(expand(plain.String(), from)); plain.Reset() }
	for i := 0; i < len(s); i++ {
		if s[i] == '"' {
			flush()
			return out.String(), s[i+1:], true
		}
		if s[i] != '\\' || i+1 == len(s) {
			plain.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			plain.WriteByte('\n')
		case 'r':
			plain.WriteByte('\r')
		case 't':
			plain.WriteByte('\t')
		case '$':
			flush()
			out.WriteByte('$')
		case '"', '\\':
			plain.WriteByte(s[i])
		default:
			plain.WriteString(s[i-1 : i+1])
		}
	}
	return "", "", false
}
