package intercept

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/alineo-labs/alineo-host/host/internal/engine/vault"
)

// minForm is the shortest text, in bytes, that is looked for: shorter ones are everywhere.
const minForm = 4

// Redacted stands in headers for a value.
const Redacted = "[REDACTED]"

// Redactor finds secrets: as they are, percent-encoded, escaped for JSON or HTML, in hexadecimal, and in
// base64 at whatever place of a longer text. It doesn't change, and is safe for concurrent use.
type Redactor struct {
	forms  [][]byte // longest first
	max    int
	begins map[uint32][][]byte // by their first four bytes
	maybe  [1 << 10]uint64     // a bit for each hash of those: most bytes of a stream are told by it
}

// NewRedactor makes a redactor.
func NewRedactor(secrets []vault.Value) *Redactor {
	r := &Redactor{begins: map[uint32][][]byte{}}
	seen := map[string]bool{}
	for _, s := range secrets {
		for _, f := range forms(string(s)) {
			if len(f) >= minForm && !seen[f] {
				seen[f] = true
				r.forms = append(r.forms, []byte(f))
				r.max = max(r.max, len(f))
			}
		}
	}
	slices.SortFunc(r.forms, func(a, b []byte) int { return len(b) - len(a) })
	for _, f := range r.forms {
		begin := binary.LittleEndian.Uint32(f)
		r.begins[begin] = append(r.begins[begin], f)
		h := hash(begin)
		r.maybe[h>>6] |= 1 << (h & 63)
	}
	return r
}

// hash is 16 bits of a form's beginning.
func hash(begin uint32) uint32 { return begin * 2654435761 >> 16 }

// forms are the texts in which a secret may come back.
func forms(s string) []string {
	if len(s) < minForm {
		return nil
	}
	asJSON := inJSON(s)
	verbatim := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(asJSON)
	query := url.QueryEscape(s)
	var percent strings.Builder
	for i := range len(s) {
		_, _ = fmt.Fprintf(&percent, "%%%02X", s[i]) // a builder takes everything
	}
	hexed := hex.EncodeToString([]byte(s))
	out := []string{
		s, query, strings.ReplaceAll(query, "+", "%20"), lowerEscapes(query), url.PathEscape(s), lowerEscapes(url.PathEscape(s)),
		percent.String(), strings.ToLower(percent.String()),
		asJSON, verbatim, strings.ReplaceAll(verbatim, "/", `\/`), html.EscapeString(s),
		hexed, strings.ToUpper(hexed),
	}
	for shift := range 3 {
		out = append(out, inBase64(s, shift, base64.RawStdEncoding), inBase64(s, shift, base64.RawURLEncoding))
	}
	return out
}

// inJSON is a text as it stands between the quotes of a JSON string, with <, > and & escaped.
func inJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return s // it can't be: a string can always be written
	}
	return string(b[1 : len(b)-1])
}

// lowerEscapes writes the escapes of a percent-encoded text in lower case, as some do.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], bytes.ToLower(b[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}

// inBase64 is what base64 of a longer text has in it wherever s begins at a byte whose index has that
// remainder by three: the digits that depend on nothing else. Too few of them would be found by chance.
func inBase64(s string, shift int, enc *base64.Encoding) string {
	all := enc.EncodeToString(append(make([]byte, shift), s...))
	first := (shift*8 + 5) / 6       // the first digit of which all bits are ours
	last := (shift + len(s)) * 8 / 6 // the first of which not all are
	if last-first < minForm+2 {
		return ""
	}
	return all[first:last]
}

// Text returns a header's value without secrets.
func (r *Redactor) Text(s string) string {
	b := []byte(s)
	for i := range len(b) - minForm + 1 {
		for _, f := range r.begins[binary.LittleEndian.Uint32(b[i:])] {
			if bytes.HasPrefix(b[i:], f) {
				return r.Text(s[:i] + Redacted + s[i+len(f):])
			}
		}
	}
	return s
}

// mask covers the secrets of b, of which everything before from has gone out already, in a copy of the
// rest, and returns how much of b may go out now: an end that could be the beginning of a secret, by four
// bytes or more, waits. So it may happen that the first three bytes of a secret have gone out.
func (r *Redactor) mask(b, covered []byte, from int) (until int) {
	until = len(b)
	first := max(0, from-r.max+1)
	if len(b)-first < minForm || r.max == 0 {
		return until
	}
	var begin uint32
	for _, c := range b[first : first+minForm-1] {
		begin = begin>>8 | uint32(c)<<24
	}
	for k, next := range b[first+minForm-1:] {
		begin = begin>>8 | uint32(next)<<24
		if h := hash(begin); r.maybe[h>>6&1023]&(1<<(h&63)) == 0 {
			continue
		}
		i := first + k
		for _, f := range r.begins[begin] {
			switch rest := b[i:]; {
			case bytes.HasPrefix(rest, f):
				for j := max(i, from); j < i+len(f); j++ {
					covered[j-from] = '*'
				}
			case bytes.HasPrefix(f, rest):
				until = min(until, max(i, from))
			}
		}
	}
	return until
}

// reader redacts a stream. Every byte of a secret becomes an asterisk, so that lengths stay.
type reader struct {
	from    io.ReadCloser
	current func() *Redactor // may change while the stream lasts
	ended   func()           // called once, at its end

	seen  []byte // what came, from some way before what has gone out
	gone  int    // of seen, how much has gone out
	cover []byte // the rest of seen, with secrets covered
	out   []byte // of cover, what is ready to go out
	err   error
}

// newReader makes a reader of a body.
func newReader(from io.ReadCloser, current func() *Redactor, ended func()) *reader {
	return &reader{from: from, current: current, ended: ended}
}

// readSize is how much is asked for at once.
const readSize = 32 << 10

func (r *reader) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.fill()
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// fill reads once, and makes ready what may go out.
func (r *reader) fill() {
	red := r.current()
	if keep := max(red.max-1, 0); r.gone > keep+readSize {
		r.seen = append(r.seen[:0], r.seen[r.gone-keep:]...)
		r.gone = keep
	}
	old := len(r.seen)
	r.seen = slices.Grow(r.seen, readSize)
	n, err := r.from.Read(r.seen[old : old+readSize])
	r.seen = r.seen[:old+n]
	r.cover = append(r.cover[:0], r.seen[r.gone:]...)
	until := red.mask(r.seen, r.cover, r.gone)
	if err != nil {
		until = len(r.seen)
	}
	r.out = r.cover[:until-r.gone]
	r.gone = until
	if r.err = err; err != nil && r.ended != nil {
		r.ended()
		r.ended = nil
	}
}

// Close closes the stream.
func (r *reader) Close() error { return r.from.Close() } //nolint:wrapcheck // it stands for it
