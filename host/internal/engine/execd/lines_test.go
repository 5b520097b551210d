package execd

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func cut(maximum int, writes ...string) []string {
	var out []string
	c := lineCutter{max: maximum, emit: func(b []byte) { out = append(out, string(b)) }}
	for _, w := range writes {
		c.write([]byte(w))
	}
	c.flush()
	return out
}

func TestLineCutter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		max    int
		writes []string
		want   []string
	}{
		{"nothing", 9, nil, nil},
		{"no end", 9, []string{"a"}, []string{"a"}},
		{"three ends", 9, []string{"a\nb\rc\r\nd"}, []string{"a", "b", "c", "d"}},
		{"empty lines", 9, []string{"\n\n\r\r\n\n"}, []string{"", "", "", "", ""}},
		{"CR and LF apart", 9, []string{"a\r", "\nb"}, []string{"a", "b"}},
		{"CR, then none", 9, []string{"a\r", "b\n"}, []string{"a", "b"}},
		{"in pieces", 9, []string{"a", "b", "c\n", "d"}, []string{"abc", "d"}},
		{"too long", 4, []string{"abcdefghij\nk"}, []string{"abcd", "efgh", "ij", "k"}},
		{"just fits", 4, []string{"abcd\n", "ab", "cd\n"}, []string{"abcd", "abcd"}},
		{"never in a character", 4, []string{"abc你d\n"}, []string{"abc", "你d"}},
		{"not UTF-8 at all", 2, []string{"\xe4\xe4\xe4\xe4\n"}, nil},
	} {
		got := cut(c.max, c.writes...)
		if c.want == nil && len(c.writes) > 0 {
			if strings.Join(got, "") != "\xe4\xe4\xe4\xe4" {
				t.Errorf("%s: %q", c.name, got)
			}
			continue
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// FuzzLineCutter checks that the cuts don't depend on how the bytes arrive
// and that no byte but terminators is lost.
func FuzzLineCutter(f *testing.F) {
	f.Add([]byte("a\r\nb\rc\n\n"), 2, 100)
	f.Add([]byte("你好\xff\xe4\xbd"), 1, 3)
	f.Fuzz(func(t *testing.T, in []byte, piece, maximum int) {
		if piece < 1 || maximum < 1 || maximum > 1<<20 {
			t.Skip()
		}
		whole := cut(maximum, string(in))
		var parts []string
		for rest := string(in); rest != ""; {
			n := min(piece, len(rest))
			parts = append(parts, rest[:n])
			rest = rest[n:]
		}
		if got := cut(maximum, parts...); maximum >= len(in) && !slices.Equal(got, whole) {
			t.Errorf("in pieces of %d: %q, whole: %q", piece, got, whole)
		}
		plain := func(s string) string { return strings.NewReplacer("\r", "", "\n", "").Replace(s) }
		if got := strings.Join(whole, ""); got != plain(string(in)) {
			t.Errorf("%q became %q", in, whole)
		}
		for _, l := range whole {
			if len(l) > maximum {
				t.Errorf("a line of %d bytes, and %d are allowed", len(l), maximum)
			}
			if maximum >= utf8.UTFMax && utf8.Valid(in) && !utf8.ValidString(l) {
				t.Errorf("%q was cut in a character: %q", in, l)
			}
		}
	})
}

func BenchmarkLineCutter(b *testing.B) {
	in := bytes.Repeat([]byte("a line of ordinary length, as programs print them\n"), 1000)
	c := lineCutter{max: maxLine, emit: func([]byte) {}}
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		c.write(in)
	}
}
