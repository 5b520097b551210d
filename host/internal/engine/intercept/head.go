package intercept

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// maxHead is the longest head of a request, in bytes.
const maxHead = 64 << 10

// framing is how the body after a head is read.
type framing struct {
	chunked bool
	length  int64
}

// headEnd finds the end of the head that b begins with, of which it has seen some: 0 is not there yet. It
// fails as soon as the head can't be right, for a reader of another mind might find an end where there is
// none for us.
func headEnd(b []byte, seen int) (int, error) {
	for i := seen; i < len(b); i++ {
		switch c := b[i]; {
		case i >= maxHead:
			return 0, errors.New("the head is too long")
		case c == '\n' && (i == 0 || b[i-1] != '\r'):
			return 0, errors.New("a line ends in a bare line feed")
		case i > 0 && b[i-1] == '\r' && c != '\n':
			return 0, errors.New("a carriage return is not at a line's end")
		case c == '\n' && i >= 3 && b[i-2] == '\n':
			return i + 1, nil
		case c == '\n' && i == 1:
			return 0, errors.New("an empty line is before the request")
		case c < ' ' && c != '\t' && c != '\r' && c != '\n', c == 0x7f:
			return 0, errors.New("a control character is in the head")
		}
	}
	return 0, nil
}

// readHead judges a whole head, up to and with its empty line.
func readHead(head []byte) (framing, error) {
	lines := strings.Split(strings.TrimSuffix(string(head), "\r\n\r\n"), "\r\n")
	old, err := checkRequestLine(lines[0])
	if err != nil {
		return framing{}, err
	}
	var f framing
	seen := map[string]int{}
	for _, line := range lines[1:] {
		if line[0] == ' ' || line[0] == '\t' {
			return f, errors.New("a header is folded over lines")
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || !isToken(name) {
			return f, errors.New("a header has a malformed name")
		}
		name, value = strings.ToLower(name), strings.Trim(value, " \t")
		seen[name]++
		switch name {
		case "content-length":
			f.length, err = parseLength(value)
		case "transfer-encoding":
			f.chunked = true
			if old || !strings.EqualFold(value, "chunked") {
				err = errors.New("the transfer coding is not plainly chunked")
			}
		case "trailer":
			err = errTrailers
		}
		if err != nil {
			return f, err
		}
	}
	switch {
	case seen["host"] > 1, !old && seen["host"] == 0:
		return f, errors.New("there is not exactly one Host")
	case seen["content-length"] > 1, seen["transfer-encoding"] > 1:
		return f, errors.New("there are several lengths")
	case f.chunked && seen["content-length"] > 0:
		return f, errors.New("there are both Content-Length and Transfer-Encoding")
	}
	return f, nil
}

var errTrailers = errors.New("there are trailers")

// checkRequestLine looks at the first line. old tells that it is of HTTP/1.0.
func checkRequestLine(line string) (old bool, err error) {
	method, rest, _ := strings.Cut(line, " ")
	target, version, ok := strings.Cut(rest, " ")
	switch {
	case !ok || !isToken(method) || version != "HTTP/1.1" && version != "HTTP/1.0":
		return false, errors.New("the request line is malformed")
	case method == "CONNECT":
		return false, errors.New("the method is CONNECT")
	case !strings.HasPrefix(target, "/"):
		return false, errors.New("the target is not a path")
	case strings.ContainsAny(target, "#\t"):
		return false, errors.New("the target has a fragment or a tab")
	}
	return version == "HTTP/1.0", nil
}

func parseLength(v string) (int64, error) {
	if v == "" || len(v) > 18 || strings.Trim(v, "0123456789") != "" {
		return 0, errors.New("Content-Length is not one number")
	}
	return strconv.ParseInt(v, 10, 64) //nolint:wrapcheck // it can't fail any more
}

func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// parseChunkSize reads the line before a chunk, without its end.
func parseChunkSize(line []byte) (int64, error) {
	if len(line) == 0 || len(line) > 15 || len(bytes.Trim(line, "0123456789abcdefABCDEF")) > 0 {
		return 0, errors.New("a chunk has a malformed size")
	}
	return strconv.ParseInt(string(line), 16, 64) //nolint:wrapcheck // it can't fail any more
}
