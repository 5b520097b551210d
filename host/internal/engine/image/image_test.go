package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func open(t testing.TB) *Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "images")
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // directories without rights hold up the test's own cleaning
		if _, err := s.Prune(t.Context(), true, nobody); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
		_ = filepath.WalkDir(dir, func(p string, e fs.DirEntry, _ error) error {
			if e != nil && e.IsDir() {
				_ = os.Chmod(p, 0o700)
			}
			return nil
		})
	})
	return s
}

func nobody(string) (string, error) { return "", nil }

// TestWays brings one image in by every way there is, and finds the same files each time.
func TestWays(t *testing.T) {
	t.Parallel()
	img := story(t)
	dir := t.TempDir()
	ref, err := name.ParseReference("example.org/story:1")
	if err != nil {
		t.Fatal(err)
	}
	saved := filepath.Join(dir, "saved.tar")
	if err := tarball.WriteToFile(saved, ref, img); err != nil {
		t.Fatal(err)
	}
	laid := filepath.Join(dir, "layout")
	path, err := layout.Write(laid, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := path.AppendImage(img, layout.WithAnnotations(map[string]string{refAnnotation: ref.String()})); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	pushed := strings.TrimPrefix(server.URL, "http://") + "/team/story:1"
	to, err := name.ParseReference(pushed)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(to, img, remote.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		way  string
		get  func(*Store) (*Image, error)
		name string
	}{
		{"archive", func(s *Store) (*Image, error) { return s.Import(t.Context(), saved, "", nil) }, "example.org/story:1"},
		{"layout", func(s *Store) (*Image, error) { return s.Import(t.Context(), laid, "", nil) }, "example.org/story:1"},
		{"renamed", func(s *Store) (*Image, error) { return s.Import(t.Context(), laid, "other", nil) }, "other"},
		{"registry", func(s *Store) (*Image, error) { return s.Pull(t.Context(), pushed, PullOptions{}) }, pushed},
	} {
		t.Run(c.way, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			got, err := c.get(s)
			if err != nil {
				t.Fatal(err)
			}
			found, err := s.Find(c.name)
			if err != nil || found.Digest != got.Digest || len(found.Names) != 1 {
				t.Fatalf("found %+v %v", found, err)
			}
			if found.WorkDir != "/srv/app" || len(found.Env) != 2 || found.Size == 0 {
				t.Errorf("its record: %+v", found)
			}
			checkStory(t, s.Root(got.Digest))
			again, err := c.get(s)
			if err != nil || again.Digest != got.Digest {
				t.Errorf("once more: %+v %v", again, err)
			}
		})
	}
}

// checkStory finds what the layers of story come to.
func checkStory(t *testing.T, root string) {
	t.Helper()
	modes := map[string]fs.FileMode{
		"bin/tool": 0o755, "bin/link": 0o755 | fs.ModeSetuid, "etc/kept": 0o600, "data": 0o700 | fs.ModeDir, "data/fresh": 0o644,
		"cleared/new": 0o644, "closed": 0o500 | fs.ModeDir, "srv/run": 0o777 | fs.ModeSticky | fs.ModeDir, "srv/run/pid": 0o644,
		"pipe": 0o640 | fs.ModeNamedPipe, "kind": 0o640, "odd name\n": 0o750 | fs.ModeDir | fs.ModeSetgid | fs.ModeSticky, "up": 0o644,
		"etc/passwd": 0o644,
	}
	for rel, mode := range modes {
		st, err := os.Lstat(filepath.Join(root, rel))
		if err != nil || st.Mode() != mode {
			t.Errorf("%s: %v %v, want %v", rel, st, err, mode)
			continue
		}
		if st.Mode().IsRegular() && !st.ModTime().Equal(builtAt) {
			t.Errorf("%s is of %v", rel, st.ModTime())
		}
		if uid := st.Sys().(*syscall.Stat_t).Uid; rel == "data/fresh" && os.Geteuid() == 0 && uid != 1234 {
			t.Errorf("%s is %d's", rel, uid)
		}
	}
	for _, rel := range []string{"etc/gone", "data/old", "cleared/one", "cleared/sub", "dev/null"} {
		if _, err := os.Lstat(filepath.Join(root, rel)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", rel, err)
		}
	}
	for rel, want := range map[string]string{"bin/tool": "v3", "bin/link": "v1", "kind": "now a file", "etc/passwd": "inside", "up": "not above"} {
		if got, err := os.ReadFile(filepath.Join(root, rel)); string(got) != want {
			t.Errorf("%s is %q %v, want %q", rel, got, err, want)
		}
	}
	if to, err := os.Readlink(filepath.Join(root, "run")); to != "/srv/run" {
		t.Errorf("run leads to %q %v", to, err)
	}
}

// TestHostileLayers tries layers that mean harm, and those that were damaged.
func TestHostileLayers(t *testing.T) {
	t.Parallel()
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("safe"), 0o600); err != nil {
		t.Fatal(err)
	}
	up := strings.Repeat("../", 20)
	for _, c := range []struct {
		what  string
		files []file
		fails bool
	}{
		{"a path upwards", []file{{name: up + victim, content: "x", mode: 0o644}}, false},
		{"an absolute path", []file{{name: victim, content: "x", mode: 0o644}}, false},
		{"a link upwards", []file{{name: "l", content: up + filepath.Dir(victim), kind: tar.TypeSymlink}, {name: "l/victim", content: "x", mode: 0o644}}, false},
		{"an absolute link", []file{{name: "l", content: filepath.Dir(victim), kind: tar.TypeSymlink}, {name: "l/victim", content: "x", mode: 0o644}}, false},
		{"a link to the file itself", []file{{name: "l", content: victim, kind: tar.TypeSymlink}, {name: "l", content: "x", mode: 0o644}}, false},
		{"a hard link to outside", []file{{name: "l", content: up + victim, kind: tar.TypeLink}}, true},
		{"a hard link through a link", []file{{name: "d", content: filepath.Dir(victim), kind: tar.TypeSymlink}, {name: "l", content: "d/victim", kind: tar.TypeLink}}, true},
		{"a hard link to a directory", []file{{name: "d/", mode: 0o755}, {name: "l", content: "d", kind: tar.TypeLink}}, true},
		{"a whiteout upwards", []file{{name: up + filepath.Dir(victim) + "/.wh.victim"}}, false},
		{"a whiteout of the directory itself", []file{{name: "d/", mode: 0o755}, {name: "d/.wh."}, {name: "d/.wh..."}, {name: "d/.wh.."}}, false},
		{"a whiteout through a link", []file{{name: "l", content: filepath.Dir(victim), kind: tar.TypeSymlink}, {name: "l/.wh.victim"}}, false},
		{"an opaque mark through a link", []file{{name: "l", content: filepath.Dir(victim), kind: tar.TypeSymlink}, {name: "l/.wh..wh..opq"}}, false},
		{"a loop of links", []file{{name: "a", content: "b", kind: tar.TypeSymlink}, {name: "b", content: "a", kind: tar.TypeSymlink}, {name: "a/x", content: "x", mode: 0o644}}, true},
		{"a device", []file{{name: "sda", kind: tar.TypeBlock, mode: 0o666}}, false},
		{"the root itself", []file{{name: "/", mode: 0o700}, {name: "./", mode: 0o755}, {name: "..", content: "/", kind: tar.TypeSymlink}}, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			_, err := s.add(t.Context(), build(t, c.files), nil)
			if (err != nil) != c.fails {
				t.Errorf("unpacking: %v", err)
			}
			if got, rerr := os.ReadFile(victim); string(got) != "safe" {
				t.Errorf("the victim is %q %v", got, rerr)
			}
			if st, serr := os.Lstat(victim); serr != nil || st.Sys().(*syscall.Stat_t).Nlink != 1 {
				t.Errorf("the victim: %v %v", st, serr)
			}
			left, _ := filepath.Glob(filepath.Join(s.dir, ".new-*"))
			if len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestDamaged refuses what is not what it says.
func TestDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	img := story(t)
	if err := path.AppendImage(img); err != nil {
		t.Fatal(err)
	}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	digest, err := layers[2].Digest()
	if err != nil {
		t.Fatal(err)
	}
	other, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(other); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "blobs", "sha256", digest.Hex), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t)
	if _, err := s.Import(t.Context(), dir, "damaged", nil); err == nil || !strings.Contains(err.Error(), "damaged or changed") {
		t.Errorf("another layer's content: %v", err)
	}
	for _, c := range []struct{ from, ref, want string }{
		{filepath.Join(dir, "oci-layout"), "x", "no archive"},
		{filepath.Join(dir, "missing"), "x", "no such file"},
		{t.TempDir(), "", "give one"},
		{dir, "Bad Name", "image name"},
	} {
		if _, err := s.Import(t.Context(), c.from, c.ref, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.from, err, c.want)
		}
	}
	if images, err := s.List(); err != nil || len(images) != 0 {
		t.Errorf("kept: %v %v", images, err)
	}
}

// TestPullFails tells why.
func TestPullFails(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); r.URL.Path == "/v2/" && user != "u" {
			w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
			http.Error(w, "no", http.StatusUnauthorized)
			_ = password
			return
		}
		registry.New(registry.Logger(log.New(io.Discard, "", 0))).ServeHTTP(w, r)
	}))
	defer server.Close()
	s := open(t)
	host := strings.TrimPrefix(server.URL, "http://")
	if _, err := s.Pull(t.Context(), host+"/missing:1", PullOptions{Username: "u", Password: "s3cret"}); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("an unknown image: %v", err)
	}
	if _, err := s.Pull(t.Context(), "127.0.0.1:1/x", PullOptions{}); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("nobody there: %v", err)
	}
}

// TestRemove keeps what is in use.
func TestRemove(t *testing.T) {
	t.Parallel()
	s := open(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	img, err := s.Import(t.Context(), dir, "one", nil)
	if err != nil {
		t.Fatal(err)
	}
	if img, err = s.named(img, mustName(t, "two")); err != nil {
		t.Fatal(err)
	}
	used := func(string) (string, error) { return "sandbox x", nil }
	if _, err := s.Remove(t.Context(), "one", used); err != nil {
		t.Errorf("one of two names: %v", err)
	}
	if _, err := s.Remove(t.Context(), "two", used); err == nil || !strings.Contains(err.Error(), "in use by sandbox x") {
		t.Errorf("the last name of one in use: %v", err)
	}
	if gone, err := s.Prune(t.Context(), true, used); err != nil || len(gone) != 0 {
		t.Errorf("pruned %v %v", gone, err)
	}
	if gone, err := s.Prune(t.Context(), false, nobody); err != nil || len(gone) != 0 {
		t.Errorf("pruned one with a name: %v %v", gone, err)
	}
	if found, err := s.Find(img.Digest[7:19]); err != nil || found.Digest != img.Digest {
		t.Errorf("by its first digits: %v %v", found, err)
	}
	if _, err := s.Remove(t.Context(), "two", nobody); err != nil {
		t.Error(err)
	}
	if _, err := s.Find("two"); !errors.Is(err, ErrNotFound) {
		t.Errorf("after it was removed: %v", err)
	}
	if _, err := os.Stat(s.Root(img.Digest)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its files: %v", err)
	}
}

func mustName(t *testing.T, ref string) string {
	t.Helper()
	n, err := canonical(ref)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// FuzzLayer unpacks anything: nothing is written outside of the tree.
func FuzzLayer(f *testing.F) {
	f.Add(archive(f, []file{{name: "a/", mode: 0o755}, {name: "a/.wh.b"}, {name: "l", content: "/etc", kind: tar.TypeSymlink}, {name: "l/x", content: "x", mode: 0o644}}))
	f.Add(archive(f, []file{{name: "../../x", content: "x", mode: 0o644}, {name: "h", content: "../x", kind: tar.TypeLink}}))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		root := filepath.Join(dir, "root")
		if err := os.Mkdir(root, 0o755); err != nil {
			t.Fatal(err)
		}
		u := newUnpacker(root)
		u.owners = false
		if _, err := u.layer(t.Context(), bytes.NewReader(text)); err == nil {
			_ = u.close()
		}
		_ = filepath.WalkDir(root, func(p string, e fs.DirEntry, _ error) error {
			if e != nil && e.IsDir() {
				_ = os.Chmod(p, 0o700)
			}
			return nil
		})
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 || entries[0].Name() != "root" {
			t.Fatalf("beside the tree: %v %v", entries, err)
		}
	})
}
