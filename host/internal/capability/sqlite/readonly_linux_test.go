package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
)

// TestReadOnlyFiles checks files that the process may not write, or whose folder it may not write: what
// can be read is read, writing says why not, and both go on when the rights are given back. Root gives
// its rights up for it.
func TestReadOnlyFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		folder, file os.FileMode
		left         []string // of a process that was killed
		read         string   // or why it can't be read
		readable     bool
		write        string
	}{
		{"file", 0o777, 0o444, nil, "1,2", true, "read-only"},
		{"folder", 0o555, 0o666, nil, "1,2", true, "folder"},
		{"both", 0o555, 0o444, nil, "1,2", true, "read-only"},
		{"both, with a log", 0o555, 0o444, []string{"-wal", "-shm"}, "1,2", true, "read-only"},
		{"both, with a log and no index", 0o555, 0o444, []string{"-wal"}, "needs a folder that can be written", false, "read-only"},
		{"secret file", 0o777, 0o000, nil, "permission denied: user", false, "permission denied: user"},
		{"secret folder", 0o000, 0o666, nil, "permission denied: user", false, "permission denied: user"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "in", "test.db")
			leave(t, path, c.left)
			if err := errors.Join(os.Chmod(path, c.file), os.Chmod(filepath.Dir(path), c.folder), openUp(dir)); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(filepath.Dir(path), 0o777) })
			db := open(t, sqlite.Options{Path: path})
			insert, list := write(once("INSERT INTO t VALUES (3)")), read(query("SELECT group_concat(a) FROM t"))
			asNobody(t, func() {
				for range 2 {
					reply, failure := db.Exec(t.Context(), list, nil)
					if failure == nil && (!c.readable || table(t, reply.Steps[0])[0][0] != c.read) ||
						failure != nil && (c.readable || failure.Code != abi.CodeUnavailable || !strings.Contains(failure.Message, c.read)) {
						t.Errorf("reading ended with %v, %v", reply, failure)
					}
					_, failure = db.Exec(t.Context(), insert, nil)
					if failure == nil || failure.Code != abi.CodeUnavailable || !strings.Contains(failure.Message, c.write) {
						t.Errorf("writing ended with %v", failure)
					}
				}
			})
			if err := os.Chmod(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			for _, file := range append(c.left, "") {
				if err := os.Chmod(path+file, 0o666); err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Fatal(err)
				}
			}
			asNobody(t, func() {
				if _, failure := db.Exec(t.Context(), insert, nil); failure != nil {
					t.Errorf("after the repair: %v", failure)
				}
				if reply, failure := db.Exec(t.Context(), list, nil); failure != nil || table(t, reply.Steps[0])[0][0] != "1,2,3" {
					t.Errorf("after the repair: read %v, %v", reply, failure)
				}
			})
		})
	}
}

// leave makes a database with rows 1 and 2, the second of which is in its log alone when that is
// left beside it.
func leave(t *testing.T, path string, left []string) {
	t.Helper()
	first, err := sqlite.Open(sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	must(t, first, write(once("CREATE TABLE t (a)"), once("INSERT INTO t VALUES (1)"), once("INSERT INTO t VALUES (2)")), nil)
	copies := map[string][]byte{}
	for _, file := range left {
		if copies[file], err = os.ReadFile(path + file); err != nil {
			t.Fatal(err)
		}
	}
	if len(left) > 0 {
		if copies[""], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for file, data := range copies {
		if err := os.WriteFile(path+file, data, 0o444); err != nil {
			t.Fatal(err)
		}
	}
}

// openUp lets others into a test's folder.
func openUp(dir string) error {
	return errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755))
}

// TestFrozen checks that a file that is read as one that does not change is read anew when it does:
// another user, who may write, goes on with it.
func TestFrozen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "in", "test.db")
	leave(t, path, nil)
	if err := errors.Join(os.Chmod(path, 0o444), os.Chmod(filepath.Dir(path), 0o555), openUp(dir)); err != nil {
		t.Fatal(err)
	}
	db := open(t, sqlite.Options{Path: path})
	list := func(want string) {
		t.Helper()
		asNobody(t, func() {
			reply, failure := db.Exec(t.Context(), read(query("SELECT group_concat(a) FROM t")), nil)
			if failure != nil || table(t, reply.Steps[0])[0][0] != want {
				t.Errorf("read %v, %v, want %s", reply, failure, want)
			}
		})
	}
	list("1,2")
	if os.Getuid() != 0 {
		if err := errors.Join(os.Chmod(path, 0o644), os.Chmod(filepath.Dir(path), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	other, err := sqlite.Open(sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	must(t, other, write(once("INSERT INTO t VALUES (3)")), nil)
	list("1,2,3") // from the log that it has made
	if err := errors.Join(other.Close(), os.Chmod(path, 0o644), os.Chmod(filepath.Dir(path), 0o755)); err != nil {
		t.Fatal(err)
	}
	list("1,2,3")
}

// asNobody runs f without root's rights over files. Those are a thread's, and a program runs on its
// caller's thread; the thread is not unlocked, so that it ends with its goroutine.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if os.Getuid() == 0 {
			runtime.LockOSThread()
			if _, err := unix.SetfsuidRetUid(65534); err != nil {
				t.Error(err)
				return
			}
		}
		f()
	}()
	<-done
}
