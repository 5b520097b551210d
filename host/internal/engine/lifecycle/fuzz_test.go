package lifecycle

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FuzzPatch checks that every patch is either refused in a way that can be
// written, or one of strings and nulls.
func FuzzPatch(f *testing.F) {
	f.Add(`{"a":"b","c":null}`)
	f.Add(`{"a":{"b":[1]}}`)
	f.Fuzz(func(t *testing.T, in string) {
		b, err := parseBody([]byte(in), false)
		if err == nil {
			set := b.pairsOrNull()
			if err = b.err(); err == nil && len(set) != len(b.fields) {
				t.Errorf("%q: %d keys became %d", in, len(b.fields), len(set))
			}
		}
		if err == nil {
			return
		}
		w := httptest.NewRecorder()
		_ = writeError(w, err)
		if w.Code != http.StatusUnprocessableEntity || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%q: %d %s", in, w.Code, w.Body)
		}
	})
}

// FuzzVolume asks for volumes in a directory with links that lead out of it:
// none is ever found outside.
func FuzzVolume(f *testing.F) {
	for _, s := range [][3]string{{"", "x", "/v"}, {"/in", "../..", "/v"}, {"/out", "", "/v"}, {"/in/back", "in", "/proc/x"}, {"/../x", "", "/"}, {"/up/etc", "", "//"}} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, path, sub, mount string) {
		if len(path)+len(sub)+len(mount) > 200 {
			t.Skip()
		}
		top := t.TempDir()
		root := filepath.Join(top, "root")
		for link, target := range map[string]string{"out": top, "up": "../..", "in/back": "..", "abs": "/"} {
			at := filepath.Join(root, link)
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, at); err != nil {
				t.Fatal(err)
			}
		}
		v := volumeRequest{name: "v", kind: "host", host: root + path, subPath: sub, mountPath: mount}
		if checkVolumes([]volumeRequest{v}) != nil {
			return
		}
		m := &Manager{opts: Options{Level: "namespaces", HostPaths: []string{root}}}
		found, err := m.openVolume(v)
		if err == nil {
			at, rerr := filepath.EvalSymlinks(filepath.Join(found.Root, found.Path))
			if rerr != nil || at != root && !strings.HasPrefix(at, root+"/") {
				t.Errorf("%q + %q is %s: %v", path, sub, at, rerr)
			}
		}
		if left, err := os.ReadDir(top); err != nil || len(left) != 1 {
			t.Errorf("%q + %q made something outside: %v %v", path, sub, left, err)
		}
	})
}

func TestSince(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000_000, 0)
	for in, want := range map[string]time.Duration{"10m": 10 * time.Minute, "1h": time.Hour, "2 D": 48 * time.Hour, "30s": 30 * time.Second, "soon": 10 * time.Minute, "-1h": 10 * time.Minute, "999999999d": maxLife} {
		if got := now.Sub(since(in, now)); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	if !since("", now).IsZero() {
		t.Error("nothing is a time")
	}
}

func FuzzSince(f *testing.F) {
	f.Add("10m")
	f.Fuzz(func(t *testing.T, in string) {
		now := time.Now()
		if since(in, now).After(now) {
			t.Errorf("%q is in the future", in)
		}
	})
}

// FuzzEndpointQuery checks that parameters are read or refused.
func FuzzEndpointQuery(f *testing.F) {
	f.Add("use_server_proxy=true&expires=1")
	f.Fuzz(func(t *testing.T, in string) {
		q, err := url.ParseQuery(in)
		if err != nil {
			return
		}
		proxied, expires, err := endpointQuery(q)
		if err != nil && (proxied || expires) || expires && !q.Has("expires") || proxied && !q.Has("use_server_proxy") {
			t.Errorf("%q: %v %v %v", in, proxied, expires, err)
		}
	})
}
