package jsontext_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/internal/jsontext"
)

// plain is Plain, a byte at a time.
func plain(s []byte) int {
	for i, c := range s {
		if c == '"' || c == '\\' || c < 0x20 {
			return i
		}
	}
	return len(s)
}

// Every byte, at every place of a word and of four of them, after every other byte.
func TestPlain(t *testing.T) {
	t.Parallel()
	for length := range 80 {
		for at := range length {
			for c := range 256 {
				s := bytes.Repeat([]byte{'!'}, length)
				s[at] = byte(c)
				if got, want := jsontext.Plain(s), plain(s); got != want {
					t.Fatalf("%q: %d, want %d", s, got, want)
				}
			}
		}
	}
	for first := range 256 {
		for second := range 256 {
			for _, at := range []int{0, 6, 7, 31} {
				s := bytes.Repeat([]byte{' '}, 40)
				s[at], s[at+1] = byte(first), byte(second)
				if got, want := jsontext.Plain(s), plain(s); got != want {
					t.Fatalf("%q: %d, want %d", s, got, want)
				}
			}
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add([]byte(`ordinary text, and a "quote" in it`))
	f.Add([]byte("\xff\x80\x20\x1f\x7f€ and a line that is longer than four words\n"))
	f.Fuzz(func(t *testing.T, s []byte) {
		if got, want := jsontext.Plain(s), plain(s); got != want {
			t.Fatalf("%q: %d, want %d", s, got, want)
		}
	})
}

func BenchmarkPlain(b *testing.B) {
	for _, size := range []int{8, 80, 4096} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := []byte(strings.Repeat("x", size) + `"`)
			b.SetBytes(int64(size))
			for b.Loop() {
				jsontext.Plain(s)
			}
		})
	}
}
