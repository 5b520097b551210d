package execd

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseRange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v       string
		size    int64
		from, n int64
		ok      bool
	}{
		{"bytes=0-0", 10, 0, 1, true},
		{"bytes=0-", 10, 0, 10, true},
		{"bytes=3-5, 7-8", 10, 3, 3, true},
		{"bytes=9-100", 10, 9, 1, true},
		{"bytes=-3", 10, 7, 3, true},
		{"bytes=-30", 10, 0, 10, true},
		{"bytes=10-", 10, 0, 0, false},
		{"bytes=-0", 10, 0, 0, false},
		{"bytes=0-", 0, 0, 0, false},
		{"bytes=5-3", 10, 0, 0, false},
		{"bytes=", 10, 0, 0, false},
		{"bytes=-", 10, 0, 0, false},
		{"bytes=a-b", 10, 0, 0, false},
		{"bytes=--1", 10, 0, 0, false},
		{"bytes=99999999999999999999-", 10, 0, 0, false},
		{"items=0-1", 10, 0, 0, false},
	} {
		from, n, err := parseRange(c.v, c.size)
		if (err == nil) != c.ok || from != c.from || n != c.n {
			t.Errorf("%q of %d: %d+%d, %v", c.v, c.size, from, n, err)
		}
	}
}

func FuzzParseRange(f *testing.F) {
	f.Add("bytes=0-5", int64(10))
	f.Add("bytes=-5", int64(3))
	f.Fuzz(func(t *testing.T, v string, size int64) {
		if size < 0 {
			t.Skip()
		}
		from, n, err := parseRange(v, size)
		if err == nil && (from < 0 || n < 1 || from+n > size) {
			t.Errorf("%q of %d: %d+%d", v, size, from, n)
		}
	})
}

func TestModes(t *testing.T) {
	t.Parallel()
	for digits, want := range map[int]fs.FileMode{644: 0o644, 7: 0o7, 4755: 0o755 | fs.ModeSetuid, 1777: 0o777 | fs.ModeSticky} {
		got, err := parseMode(digits)
		if err != nil || got != want {
			t.Errorf("%d: %v %v", digits, got, err)
		}
		if digits < 1000 && modeDigits(got) != digits {
			t.Errorf("%d came back as %d", digits, modeDigits(got))
		}
	}
	for _, digits := range []int{8, 999, -644, 77777} {
		if m, err := parseMode(digits); err == nil {
			t.Errorf("%d is taken for %v", digits, m)
		}
	}
}

func FuzzNamePatterns(f *testing.F) {
	f.Add("*.{go,mod}", "go.mod")
	f.Add("{a,{b}", "a")
	f.Add("[", "x")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		patterns, err := namePatterns(pattern)
		if err != nil {
			return
		}
		if len(patterns) > maxPatterns {
			t.Errorf("%d patterns of %q", len(patterns), pattern)
		}
		matchesAny(patterns, name)
	})
}

func testServer() *Server {
	return New(Options{Env: map[string]string{"HOME": "/home/x", "A": "a/b", "PATH": "/bin"}, Dir: "/base"})
}

func TestPath(t *testing.T) {
	t.Parallel()
	s := testServer()
	for in, want := range map[string]string{
		"x": "/base/x", "/x/../y": "/y", "~": "/home/x", "~/z": "/home/x/z", "~z": "/base/~z", "$A/c": "/base/a/b/c", "/${A}": "/a/b", "": "/base", "../../..": "/",
	} {
		if got, err := s.path(in); err != nil || got != want {
			t.Errorf("%q: %q %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"$NOPE", "a\x00b", "${NOPE}/x"} {
		if got, err := s.path(in); err == nil {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func FuzzPath(f *testing.F) {
	f.Add("$A/../~/x")
	f.Fuzz(func(t *testing.T, in string) {
		if got, err := testServer().path(in); err == nil && (!filepath.IsAbs(got) || strings.Contains(got, "\x00")) {
			t.Errorf("%q became %q", in, got)
		}
	})
}

// FuzzCommandRequest checks that no body makes a request that breaks a rule.
func FuzzCommandRequest(f *testing.F) {
	f.Add(`{"command":"x","timeout":5,"uid":1,"gid":2,"envs":{"A":"b"}}`)
	f.Add(`{"command":1}`)
	f.Add(`{"argv":["x",""]}`)
	f.Fuzz(func(t *testing.T, in string) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/command", strings.NewReader(in))
		var q RunCommandRequest
		if !decode(w, r, &q) {
			var e apiError
			if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != http.StatusBadRequest || e.Code != codeInvalidBody {
				t.Errorf("%q: %d %s", in, w.Code, w.Body)
			}
			return
		}
		if q.validate() == "" && ((q.Command == "") == (len(q.Argv) == 0) || q.TimeoutMs < 0 || q.GID != nil && q.UID == nil) {
			t.Errorf("%q passes as %+v", in, q)
		}
	})
}

// FuzzRoute sends odd paths to what needs no process.
func FuzzRoute(f *testing.F) {
	for _, p := range []string{"/ping", "/ping/", "/command/status/x", "/command//logs", "/proxy/0/x", "/code/contexts", "//", "/files/info"} {
		f.Add("GET", p)
	}
	f.Fuzz(func(t *testing.T, method, path string) {
		s := testServer()
		if s.route(method, path) == nil && s.route(method, strings.TrimRight(path, "/")) == nil {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Method, r.URL.Path = method, path
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != http.StatusNotFound || w.Body.String() != "404 page not found" {
				t.Errorf("%s %q: %d %s", method, path, w.Code, w.Body)
			}
		}
	})
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	s := testServer()
	got := strings.Join(s.environ(map[string]string{"A": "z", "B": "c", "": "x", "C=D": "x", "E": "\x00"}), " ")
	if got != "A=z B=c HOME=/home/x PATH=/bin" {
		t.Errorf("%q", got)
	}
}
