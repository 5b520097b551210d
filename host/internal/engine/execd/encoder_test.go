package execd

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// encodeLines returns the texts of the events that writes become, as they are
// read again.
func encodeLines(t testing.TB, maximum, keep int64, writes ...string) []string {
	t.Helper()
	var got bytes.Buffer
	l := newLineEncoder("stdout", t.TempDir(), func(parts ...io.Reader) {
		for _, p := range parts {
			if _, err := io.Copy(&got, p); err != nil {
				t.Error(err)
			}
		}
	})
	l.max, l.keep = maximum, keep
	for _, w := range writes {
		l.encode([]byte(w))
		if int64(len(l.held)) > keep+6*utf8.UTFMax {
			t.Errorf("%d bytes are held, and %d may be", len(l.held), keep)
		}
	}
	l.flush()
	var texts []string
	for e := range strings.SplitSeq(strings.TrimSuffix(got.String(), "\n\n"), "\n\n") {
		if e == "" {
			continue
		}
		var ev event
		if err := json.Unmarshal([]byte(e), &ev); err != nil || ev.Type != "stdout" || ev.Timestamp == 0 || ev.Text == "" {
			t.Fatalf("event %q: %+v %v", e, ev, err)
		}
		if ev.Text == "\n" {
			ev.Text = ""
		}
		texts = append(texts, ev.Text)
	}
	return texts
}

func TestLineEncoder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		max    int64
		writes []string
		want   []string
	}{
		{"nothing", 99, nil, nil},
		{"no end", 99, []string{"a"}, []string{"a"}},
		{"three ends", 99, []string{"a\nb\rc\r\nd"}, []string{"a", "b", "c", "d"}},
		{"empty lines", 99, []string{"\n\n\r\r\n\n"}, []string{"", "", "", "", ""}},
		{"CR and LF apart", 99, []string{"a\r", "\nb"}, []string{"a", "b"}},
		{"CR, then none", 99, []string{"a\r", "b\n"}, []string{"a", "b"}},
		{"in pieces", 99, []string{"a", "b", "c\n", "d"}, []string{"abc", "d"}},
		{"a character in pieces", 99, []string{"a\xe4", "\xbd", "\xa0b\n"}, []string{"a你b"}},
		{"an unfinished character", 99, []string{"a\xe4", "\xbd"}, []string{"a\ufffd\ufffd"}},
		{"too long", 4, []string{"abcd", "efgh", "ij\nk"}, []string{"abcd", "efgh", "ij", "k"}},
		{"just fits", 4, []string{"abcd\n", "ab", "cd\n"}, []string{"abcd", "abcd"}},
		{"never in a character", 5, []string{"abc", "你d\n"}, []string{"abc", "你d"}},
		{"escapes", 99, []string{"<\x00\"", "\\\u2028\n"}, []string{"<\x00\"\\\u2028"}},
	} {
		for _, keep := range []int64{1, 1000} { // in a file, or in memory
			if got := encodeLines(t, c.max, keep, c.writes...); !slices.Equal(got, c.want) {
				t.Errorf("%s, kept %d: %q, want %q", c.name, keep, got, c.want)
			}
		}
	}
}

// FuzzLineEncoder checks that the events don't depend on how the bytes arrive
// and that no byte but terminators is lost.
func FuzzLineEncoder(f *testing.F) {
	f.Add([]byte("a\r\nb\rc\n\n"), 2, int64(3))
	f.Add([]byte("你好\xff\xe4\xbd"), 1, int64(100))
	f.Fuzz(func(t *testing.T, in []byte, piece int, keep int64) {
		if piece < 1 || keep < 1 || len(in) > 4096 {
			t.Skip()
		}
		whole := encodeLines(t, maxText, keepText, string(in))
		var parts []string
		for rest := string(in); rest != ""; {
			n := min(piece, len(rest))
			parts = append(parts, rest[:n])
			rest = rest[n:]
		}
		if got := encodeLines(t, maxText, min(keep, keepText), parts...); !slices.Equal(got, whole) {
			t.Errorf("in pieces of %d: %q, whole: %q", piece, got, whole)
		}
		var valid strings.Builder
		for _, r := range strings.NewReplacer("\r", "", "\n", "").Replace(string(in)) {
			valid.WriteRune(r)
		}
		if got := strings.Join(whole, ""); utf8.Valid(in) && got != valid.String() {
			t.Errorf("%q became %q", in, whole)
		}
	})
}

// FuzzText compares with encoding/json.
func FuzzText(f *testing.F) {
	f.Add([]byte("a<b>&\"\\\x00\x7f\u2028\xff\xe4\xbd\t\b\f"))
	f.Fuzz(func(t *testing.T, in []byte) {
		want, err := json.Marshal(string(in))
		if err != nil {
			t.Fatal(err)
		}
		if got := appendText(nil, in); !bytes.Equal(got, want[1:len(want)-1]) {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	})
}

func BenchmarkLineEncoder(b *testing.B) {
	in := bytes.Repeat([]byte("a line of ordinary length, as programs print them\n"), 1000)
	l := newLineEncoder("stdout", b.TempDir(), func(...io.Reader) {})
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		l.encode(in)
	}
}
