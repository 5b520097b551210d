//go:build unix

package guestfs_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/alineo-labs/alineo-host/host/internal/plugin/guestfs"
)

const writing = experimentalsys.O_RDWR | experimentalsys.O_CREAT

func open(t *testing.T, mode guestfs.Mode) (*guestfs.Dir, string) {
	t.Helper()
	root := t.TempDir()
	inside := filepath.Join(root, "inside")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "secret"), []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err := guestfs.Open(inside, mode)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	})
	return dir, inside
}

func must(t *testing.T, what string, e experimentalsys.Errno) {
	t.Helper()
	if e != 0 {
		t.Fatalf("%s: %v", what, e)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir, host := open(t, guestfs.ReadWrite)
	must(t, "making a directory", dir.Mkdir("sub", 0))
	f, e := dir.OpenFile("sub/log", writing, 0)
	must(t, "creating", e)
	_, e = f.Write([]byte("one two"))
	must(t, "writing", e)
	_, e = f.Pwrite([]byte("TWO"), 4)
	must(t, "writing at a place", e)
	must(t, "syncing", f.Sync())
	at, e := f.Seek(0, io.SeekStart)
	must(t, "seeking", e)
	buf := make([]byte, 16)
	n, e := f.Read(buf)
	must(t, "reading", e)
	if at != 0 || string(buf[:n]) != "one TWO" {
		t.Errorf("read %q from %d", buf[:n], at)
	}
	must(t, "cutting", f.Truncate(3))
	if st, e := f.Stat(); e != 0 || st.Size != 3 {
		t.Errorf("cut to %d: %v", st.Size, e)
	}
	must(t, "closing", f.Close())
	must(t, "closing again", f.Close())
	must(t, "renaming", dir.Rename("sub/log", "/log"))
	if text, err := os.ReadFile(filepath.Join(host, "log")); err != nil || string(text) != "one" {
		t.Errorf("the host finds %q: %v", text, err)
	}
	appending, e := dir.OpenFile("log", writing|experimentalsys.O_APPEND, 0)
	must(t, "opening for appending", e)
	_, e = appending.Write([]byte("!"))
	must(t, "appending", e)
	if _, e := appending.Pwrite([]byte("x"), 0); e == 0 {
		t.Error("writing at a place of a file that is appended to was taken")
	}
	must(t, "closing", appending.Close())
	if e := dir.Rmdir("log"); e != experimentalsys.ENOTDIR {
		t.Errorf("removing a file as a directory: %v", e)
	}
	if e := dir.Unlink("sub"); e != experimentalsys.EISDIR {
		t.Errorf("unlinking a directory: %v", e)
	}
	must(t, "removing the directory", dir.Rmdir("sub"))
	must(t, "removing the file", dir.Unlink("log"))
}

func TestDirectoryIsReadAgain(t *testing.T) {
	t.Parallel()
	dir, host := open(t, guestfs.ReadOnly)
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(host, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, e := dir.OpenFile(".", experimentalsys.O_RDONLY|experimentalsys.O_DIRECTORY, 0)
	must(t, "opening", e)
	for range 2 {
		list, e := f.Readdir(-1)
		must(t, "reading", e)
		if len(list) != 3 {
			t.Errorf("found %v", list)
		}
		_, e = f.Seek(0, io.SeekStart)
		must(t, "beginning again", e)
	}
	must(t, "closing", f.Close())
}

// TestNothingLeadsOut tries the ways out of a directory.
func TestNothingLeadsOut(t *testing.T) {
	t.Parallel()
	dir, host := open(t, guestfs.ReadWrite)
	outside := filepath.Join(filepath.Dir(host), "secret")
	for name, target := range map[string]string{
		"absolute": outside, "relative": "../secret", "parent": "..", "twice": "relative", "etc": "/etc",
	} {
		if err := os.Symlink(target, filepath.Join(host, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{
		"../secret", "/../secret", "sub/../../secret", "absolute", "relative", "twice", "parent/secret", "etc/passwd", outside, "a\x00b",
		strings.Repeat("../", 40) + "etc/passwd",
	} {
		for _, flag := range []experimentalsys.Oflag{experimentalsys.O_RDONLY, writing, writing | experimentalsys.O_TRUNC} {
			f, e := dir.OpenFile(name, flag, 0)
			if e != 0 {
				continue
			}
			buf := make([]byte, 64)
			n, _ := f.Read(buf)
			must(t, "closing", f.Close())
			if strings.Contains(string(buf[:n]), "outside") || strings.Contains(string(buf[:n]), "root:") {
				t.Errorf("%q leads out", name)
			}
		}
		if e := dir.Rename(name, "mine"); e == 0 && name != "absolute" && name != "relative" && name != "twice" {
			if _, err := os.Lstat(outside); err != nil {
				t.Errorf("%q was moved in", name)
			}
		}
	}
	if e := dir.Rename("mine", "../stolen"); e == 0 {
		if _, err := os.Lstat(filepath.Join(filepath.Dir(host), "stolen")); err == nil {
			t.Error("a file was moved out")
		}
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "outside" {
		t.Errorf("the file outside is now %q: %v", text, err)
	}
	if e := dir.Symlink("../secret", "link"); e == 0 {
		t.Error("a link was made")
	}
	if e := dir.Link("../secret", "link"); e == 0 {
		t.Error("a hard link was made")
	}
}

func TestNoPipes(t *testing.T) {
	t.Parallel()
	dir, host := open(t, guestfs.ReadWrite)
	if err := syscall.Mkfifo(filepath.Join(host, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, e := dir.OpenFile("pipe", experimentalsys.O_RDONLY, 0); e != experimentalsys.EPERM {
		t.Errorf("opening a pipe: %v", e)
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	dir, host := open(t, guestfs.ReadOnly)
	if err := os.WriteFile(filepath.Join(host, "f"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, e := range map[string]experimentalsys.Errno{
		"mkdir": dir.Mkdir("d", 0), "rename": dir.Rename("f", "g"), "unlink": dir.Unlink("f"), "rmdir": dir.Rmdir("f"),
	} {
		if e != experimentalsys.EROFS {
			t.Errorf("%s: %v", what, e)
		}
	}
	for _, flag := range []experimentalsys.Oflag{writing, experimentalsys.O_WRONLY, experimentalsys.O_RDWR, experimentalsys.O_TRUNC} {
		if _, e := dir.OpenFile("f", flag, 0); e != experimentalsys.EROFS {
			t.Errorf("opening with %x: %v", flag, e)
		}
	}
	f, e := dir.OpenFile("f", experimentalsys.O_RDONLY, 0)
	must(t, "opening", e)
	if _, e := f.Write([]byte("y")); e == 0 {
		t.Error("a file that was opened for reading was written to")
	}
	if e := f.Truncate(0); e == 0 {
		t.Error("a file that was opened for reading was cut")
	}
	must(t, "closing", f.Close())
}

func TestOpenFilesAreBounded(t *testing.T) {
	t.Parallel()
	dir, _ := open(t, guestfs.ReadWrite)
	var files []experimentalsys.File
	for {
		f, e := dir.OpenFile("f", writing, 0)
		if e == experimentalsys.EAGAIN {
			break
		}
		must(t, "opening", e)
		if files = append(files, f); len(files) > 1000 {
			t.Fatal("there is no bound")
		}
	}
	must(t, "closing", files[0].Close())
	f, e := dir.OpenFile("f", writing, 0)
	must(t, "opening after one was closed", e)
	for _, f := range append(files, f) {
		must(t, "closing", f.Close())
	}
}
