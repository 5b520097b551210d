package intercept

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/internal/engine/vault"
)

// pieces reads a text in pieces of a size.
type pieces struct {
	text string
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.size)], p.text)
	p.text = p.text[n:]
	return n, nil
}

func redactStream(t testing.TB, r *Redactor, text string, size int) string {
	t.Helper()
	out, err := io.ReadAll(newReader(io.NopCloser(&pieces{text, size}), func() *Redactor { return r }, nil))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestRedaction echoes a secret in what servers make of it, cut at every place.
func TestRedaction(t *testing.T) {
	t.Parallel()
	r := NewRedactor([]vault.Value{secret})
	asJSON, err := json.Marshal(map[string]string{"v": secret})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"plain":          secret,
		"twice":          secret + secret,
		"query":          url.QueryEscape(secret),
		"path":           url.PathEscape(secret),
		"percent, lower": strings.NewReplacer("%2F", "%2f", "%2B", "%2b", "%3D", "%3d", "%3C", "%3c", "%3E", "%3e").Replace(url.QueryEscape(secret)),
		"JSON":           string(asJSON),
		"JSON, slashes":  `s3cr3t\/value+with=odd&<chars>\"1`,
		"HTML":           html.EscapeString(secret),
		"hex":            hex.EncodeToString([]byte(secret)),
		"HEX":            strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"base64":         base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64 of it":   base64.StdEncoding.EncodeToString([]byte("Authorization: Bearer " + secret + "\r\n")),
		"base64 of 1":    base64.URLEncoding.EncodeToString([]byte("1" + secret + "xyz")),
		"base64 of 2":    base64.RawStdEncoding.EncodeToString([]byte("12" + secret + "x")),
	} {
		text := "before " + text + " after"
		for size := 1; size <= len(text); size++ {
			out := redactStream(t, r, text, size)
			if len(out) != len(text) || !strings.HasPrefix(out, "before ") || !strings.HasSuffix(out, " after") {
				t.Fatalf("%s by %d: %q", name, size, out)
			}
			for _, f := range r.forms {
				if strings.Contains(out, string(f)) {
					t.Fatalf("%s by %d: %q has %q", name, size, out, f)
				}
			}
			if strings.HasPrefix(name, "base64") || name == "hex" || name == "HEX" {
				continue
			}
			if out := strings.TrimSuffix(out, " after"); strings.Contains(out, "value") || strings.Contains(out, "chars") {
				t.Fatalf("%s by %d: %q", name, size, out)
			}
		}
	}
	if got := r.Text("Bearer " + secret + "; " + base64.StdEncoding.EncodeToString([]byte("x"+secret))); strings.Contains(got, "czNjcjN0") || !strings.HasPrefix(got, "Bearer [REDACTED]; ") {
		t.Error(got)
	}
}

// TestRedactionWaits holds back what may become a secret, and nothing else: a peer that waits for an
// answer must get it.
func TestRedactionWaits(t *testing.T) {
	t.Parallel()
	r := NewRedactor([]vault.Value{"abcdefgh"})
	from, to := io.Pipe()
	rd := newReader(from, func() *Redactor { return r }, nil)
	buf := make([]byte, 100)
	for _, step := range []struct{ write, read string }{
		{"hello", "hello"}, {"hello abc", "hello abc"}, {"defgh!", "*****!"}, {"x abcd", "x "}, {"X", "abcdX"}, {"abcdefg|h", "********"},
	} {
		go func() {
			for part := range strings.SplitSeq(step.write, "|") {
				_, _ = io.WriteString(to, part)
			}
		}()
		n, err := io.ReadFull(rd, buf[:len(step.read)])
		if err != nil || string(buf[:n]) != step.read {
			t.Fatalf("%q: %q %v", step.write, buf[:n], err)
		}
	}
	_ = to.Close()
	if rest, err := io.ReadAll(rd); err != nil || len(rest) != 0 {
		t.Errorf("%q %v", rest, err)
	}
}

// FuzzRedactor cuts any text at any place: its length stays, no form of the secret is left, and what has
// nothing of it stays as it is.
func FuzzRedactor(f *testing.F) {
	f.Add("abcdefgh", "xx abcdefgh abcdabcdefgh", uint8(3))
	f.Add("aaaa", "aaaaaaaaa", uint8(2))
	f.Fuzz(func(t *testing.T, value, text string, size uint8) {
		if strings.Contains(value, "*") || len(value) > 200 {
			return
		}
		r := NewRedactor([]vault.Value{vault.Value(value)})
		out := redactStream(t, r, text, int(size)+1)
		if len(out) != len(text) {
			t.Fatalf("%q became %q", text, out)
		}
		found := false
		for _, form := range r.forms {
			found = found || strings.Contains(text, string(form))
			if !bytes.Contains(form, []byte("*")) && strings.Contains(out, string(form)) {
				t.Fatalf("%q is left in %q", form, out)
			}
		}
		if !found && out != text {
			t.Fatalf("%q became %q", text, out)
		}
		if strings.Contains(r.Text(text), value) && len(value) >= minForm && !strings.Contains(Redacted, value) {
			t.Fatalf("a header keeps %q", value)
		}
	})
}

func BenchmarkRedactor(b *testing.B) {
	for _, n := range []int{1, 10} {
		b.Run(fmt.Sprintf("secrets=%d", n), func(b *testing.B) {
			var all []vault.Value
			for i := range n {
				all = append(all, vault.Value(fmt.Sprintf("ghp_%036d", i)))
			}
			r := NewRedactor(all)
			text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 20000)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				rd := newReader(io.NopCloser(strings.NewReader(text)), func() *Redactor { return r }, nil)
				if _, err := io.Copy(io.Discard, rd); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
