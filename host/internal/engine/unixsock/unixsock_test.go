package unixsock

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestLongPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Join(dir, strings.Repeat("d", 100), strings.Repeat("e", 200))} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(d, "s.sock")
		for range 2 { // the second replaces what the first left
			l, err := Listen(path)
			if len(path) > maxPath && runtime.GOOS != "linux" {
				if err == nil {
					t.Error("a path that doesn't fit was bound")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				if c, err := l.Accept(); err == nil {
					_, _ = io.WriteString(c, "hi")
					_ = c.Close()
				}
			}()
			c, err := Dial(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(c); err != nil || string(b) != "hi" {
				t.Errorf("%q %v", b, err)
			}
			_ = c.Close()
			_ = l.Close()
			if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
				t.Errorf("the socket after closing: %v %v", st, err)
			}
		}
		if _, err := Dial(t.Context(), path); err == nil {
			t.Error("a socket that nobody listens on answers")
		}
	}
}
