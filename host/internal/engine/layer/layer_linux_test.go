package layer

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// build makes a tree from lines: "path" (directory), "path=content",
// "path>target" (link), "path!" (whiteout), "path/*" (opaque directory).
func build(t *testing.T, lines ...string) string {
	t.Helper()
	root := t.TempDir()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range lines {
		path := filepath.Join(root, strings.TrimRight(strings.FieldsFunc(l, func(r rune) bool { return strings.ContainsRune("=>!*", r) })[0], "/"))
		check(os.MkdirAll(filepath.Dir(path), 0o755))
		switch {
		case strings.Contains(l, "="):
			_, content, _ := strings.Cut(l, "=")
			check(os.WriteFile(path, []byte(content), 0o644))
		case strings.Contains(l, ">"):
			_, target, _ := strings.Cut(l, ">")
			check(os.Symlink(target, path))
		case strings.HasSuffix(l, "!"):
			check(whiteout(path))
		case strings.HasSuffix(l, "/*"):
			check(os.MkdirAll(path, 0o755))
			check(makeOpaque(path))
		default:
			check(os.MkdirAll(path, 0o755))
		}
	}
	return root
}

// show writes a tree as build reads it.
func show(t *testing.T, root string) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		switch {
		case e.IsDir() && isOpaque(path):
			rel += "/*"
		case e.Type()&fs.ModeCharDevice != 0:
			rel += "!"
		case e.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			rel += ">" + target
		case e.Type().IsRegular():
			b, _ := os.ReadFile(path)
			rel += "=" + string(b)
		}
		out = append(out, rel)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

func TestApply(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		lower, upper []string
		want         string
	}{
		{"onto nothing", nil, []string{"a/b=1", "a/l>b", "gone!", "new/*", "empty"}, "a a/b=1 a/l>b empty gone! new/*"},
		{"file over file", []string{"a=1"}, []string{"a=2"}, "a=2"},
		{"directories merge", []string{"d/a=1", "d/b=1"}, []string{"d/b=2", "d/c=2"}, "d d/a=1 d/b=2 d/c=2"},
		{"whiteout stays, over the host", []string{"d/a=1"}, []string{"d/a!"}, "d d/a!"},
		{"file over whiteout", []string{"a!"}, []string{"a=2"}, "a=2"},
		{"directory over whiteout hides what is below", []string{"d!"}, []string{"d/a=2"}, "d/* d/a=2"},
		{"directory over file", []string{"d=1"}, []string{"d/a=2"}, "d/* d/a=2"},
		{"file over directory", []string{"d/a=1"}, []string{"d=2"}, "d=2"},
		{"opaque replaces", []string{"d/a=1", "d/s/x=1"}, []string{"d/*", "d/b=2"}, "d/* d/b=2"},
		{"opaque stays", []string{"d/*", "d/a=1"}, []string{"d/b=2"}, "d/* d/a=1 d/b=2"},
		{"link over file", []string{"a=1"}, []string{"a>x"}, "a>x"},
		{"link is not followed", []string{"out=1", "l>out"}, []string{"l=2"}, "l=2 out=1"},
	} {
		dst, src := build(t, c.lower...), build(t, c.upper...)
		if err := Apply(t.Context(), dst, src); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := show(t, dst); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestApplyKeepsAttributes(t *testing.T) {
	t.Parallel()
	src := build(t, "a=1", "d/x=1")
	old := time.Date(2001, 2, 3, 4, 5, 6, 7000, time.UTC)
	for _, err := range []error{
		os.Link(filepath.Join(src, "a"), filepath.Join(src, "d", "hard")),
		unix.Lsetxattr(filepath.Join(src, "a"), "user.mine", []byte("v"), 0),
		unix.Lsetxattr(filepath.Join(src, "a"), "user.overlay.origin", []byte("v"), 0),
		os.Chmod(filepath.Join(src, "a"), 0o640|fs.ModeSetgid),
		os.Chtimes(filepath.Join(src, "a"), old, old),
		os.Chtimes(filepath.Join(src, "d"), old, old),
		unix.Mkfifo(filepath.Join(src, "fifo"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	hole, err := os.Create(filepath.Join(src, "hole"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hole.WriteAt([]byte("end"), 50<<20); err != nil {
		t.Fatal(err)
	}
	if err := hole.Close(); err != nil {
		t.Fatal(err)
	}
	dst := filepath.Join(t.TempDir(), "dst")
	if err := Apply(t.Context(), dst, src); err != nil {
		t.Fatal(err)
	}
	var a, hard, h syscall.Stat_t
	for path, st := range map[string]*syscall.Stat_t{"a": &a, "d/hard": &hard, "hole": &h} {
		if err := syscall.Lstat(filepath.Join(dst, path), st); err != nil {
			t.Fatal(err)
		}
	}
	if a.Ino != hard.Ino || a.Mode&0o7777 != 0o2640 || a.Mtim.Sec != old.Unix() || a.Mtim.Nsec != 7000 {
		t.Errorf("a: %+v", a)
	}
	if h.Size != 50<<20+3 || h.Blocks*512 > 1<<20 {
		t.Errorf("a hole of %d bytes takes %d", h.Size, h.Blocks*512)
	}
	if st, err := os.Stat(filepath.Join(dst, "d")); err != nil || !st.ModTime().Equal(old) {
		t.Errorf("d: %v %v", st.ModTime(), err)
	}
	buf := make([]byte, 8)
	if n, err := unix.Lgetxattr(filepath.Join(dst, "a"), "user.mine", buf); err != nil || string(buf[:n]) != "v" {
		t.Errorf("attribute: %q %v", buf[:n], err)
	}
	if _, err := unix.Lgetxattr(filepath.Join(dst, "a"), "user.overlay.origin", buf); err == nil {
		t.Error("an attribute of the overlay's own was copied")
	}
	if st, err := os.Lstat(filepath.Join(dst, "fifo")); err != nil || st.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("pipe: %v %v", st, err)
	}
}

func TestApplyStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Apply(ctx, t.TempDir(), build(t, "a=1")); err == nil {
		t.Error("copied under a cancelled context")
	}
	if err := Apply(t.Context(), t.TempDir(), "/nope"); err == nil {
		t.Error("copied what isn't there")
	}
	link := filepath.Join(t.TempDir(), "l")
	if err := os.Symlink("/etc", link); err != nil {
		t.Fatal(err)
	}
	if err := Apply(t.Context(), t.TempDir(), link); err == nil {
		t.Error("followed a link")
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	root := build(t, "t/a/b/c=1", "t/x=1")
	for _, d := range []string{"t/a/b", "t/a", "t"} {
		if err := os.Chmod(filepath.Join(root, d), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := Remove(filepath.Join(root, "t")); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(root, "t")); err == nil {
		t.Error("still there")
	}
	if err := Remove(filepath.Join(root, "t")); err != nil {
		t.Errorf("removing nothing: %v", err)
	}
}

func TestScan(t *testing.T) {
	t.Parallel()
	root := build(t, "etc/public=1", "etc/secret=1", "etc/shadow=1", "etc/ssh/ssh_config=1", "etc/ssh/ssh_host_x.pub=1", "etc/app/conf=1", "etc/l>secret", "var/lib/db/data=1", "var/tmp/x=1", "srv/site/index=1", "usr/local/lib/x=1")
	for path, mode := range map[string]fs.FileMode{"etc/secret": 0o640, "var/lib/db": 0o700, "etc/app": 0o751} {
		if err := os.Chmod(filepath.Join(root, path), mode); err != nil {
			t.Fatal(err)
		}
	}
	found, err := scan(root, []string{"etc", "var", "srv"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range found {
		got = append(got, h.path)
	}
	want := "etc/app etc/secret etc/shadow etc/ssh/ssh_host_x.pub var/lib/db var/tmp"
	if strings.Join(got, " ") != want {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestBuildBase(t *testing.T) {
	t.Parallel()
	b, err := PlanBase(nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "base")
	if err := b.Build(dir); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"rootfs/proc", "rootfs/tmp", "rootfs/workspace", "rootfs/usr", "etc/hosts", "etc/hostname", "var/tmp"} {
		if _, err := os.Lstat(filepath.Join(dir, path)); err != nil {
			t.Error(err)
		}
	}
	if !isOpaque(filepath.Join(dir, "var/tmp")) {
		t.Error("the host's /var/tmp shows")
	}
	if st, err := os.Stat(filepath.Join(dir, "rootfs/tmp")); err != nil || st.Mode().Perm() != 0o777 || st.Mode()&fs.ModeSticky == 0 {
		t.Errorf("/tmp: %v %v", st.Mode(), err)
	}
	again, err := PlanBase(nil)
	if err != nil || again.Digest != b.Digest {
		t.Errorf("digests %s and %s, %v", b.Digest, again.Digest, err)
	}
	if out, err := exec.Command("find", dir, "-type", "f").Output(); err != nil || len(strings.Fields(string(out))) != 3 {
		t.Errorf("files in the base layer: %s %v", out, err)
	}
}
