package sqlite_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
)

// childKey names the file that a test's other process works on.
const childKey = "ALINEO_SQLITE_TEST_CHILD"

// child starts the test of that name in another process and returns what it prints.
func child(t *testing.T, name, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+name+"$", "-test.v")
	cmd.Env = append(os.Environ(), childKey+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, bufio.NewScanner(out)
}

// TestKilled kills a process in the middle of a transaction.
func TestKilled(t *testing.T) {
	t.Parallel()
	if path := os.Getenv(childKey); path != "" {
		db := open(t, sqlite.Options{Path: path})
		must(t, db, write(once("CREATE TABLE t (a)"), once("INSERT INTO t VALUES (1)")), nil)
		var call capability.Call
		big := abi.SQLStep{SQL: "INSERT INTO t VALUES (?)", Batch: call.Put(endlessRows{}), Params: columns(0)}
		must(t, db, write(big), &call)
		return
	}
	path := filepath.Join(t.TempDir(), "killed.db")
	cmd, lines := child(t, "TestKilled", path)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "in the middle") {
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	db := open(t, sqlite.Options{Path: path})
	if got := scalar(t, db, "SELECT group_concat(a) FROM t"); got != "1" {
		t.Errorf("table has %s", got)
	}
	if got := scalar(t, db, "PRAGMA integrity_check"); got != "ok" {
		t.Errorf("integrity check says %s", got)
	}
	must(t, db, write(once("INSERT INTO t VALUES (2)")), nil)
}

// endlessRows writes more than fits into the page cache, so that the log has pages of the transaction
// that never ends, and then waits to be killed.
type endlessRows struct{}

func (endlessRows) Len() int     { return 100_000 }
func (endlessRows) Columns() int { return 1 }

func (endlessRows) Value(row, _ int) abi.Value {
	if row == 10_000 {
		fmt.Println("in the middle")
		select {}
	}
	return abi.Blob(make([]byte, 1000))
}

// failing makes the writes of this process's SQLite fail.
var failing atomic.Bool

func writeOrFail(tls *libc.TLS, fd int32, buffer uintptr, n libc.Tsize_t, offset libc.Toff_t) libc.Tssize_t {
	if failing.Load() {
		*(*int32)(at(libc.X__errno_location(tls))) = int32(unix.EIO)
		return -1
	}
	return libc.Xpwrite(tls, fd, buffer, n, offset)
}

// TestFailedCommit makes COMMIT fail in the middle of writing: nobody can tell what is in the file.
func TestFailedCommit(t *testing.T) {
	t.Parallel()
	if path := os.Getenv(childKey); path != "" {
		replaceCall(t, "pwrite", functionAddress(writeOrFail))
		db := open(t, sqlite.Options{Path: path})
		must(t, db, write(once("CREATE TABLE t (a)"), once("INSERT INTO t VALUES (1)")), nil)
		failing.Store(true)
		failure := fails(t.Context(), t, db, write(once("INSERT INTO t VALUES (2)")), nil, abi.CodeUnknownOutcome, "may or may not be")
		if failure.Retryable {
			t.Error("an unknown outcome is not for anyone to retry")
		}
		failing.Store(false)
		must(t, db, write(once("INSERT INTO t VALUES (3)")), nil)
		if got := scalar(t, db, "SELECT group_concat(a) FROM t"); got != "1,3" {
			t.Errorf("table has %s", got)
		}
		fmt.Println("child is done")
		return
	}
	cmd, lines := child(t, "TestFailedCommit", filepath.Join(t.TempDir(), "test.db"))
	said := ""
	for lines.Scan() {
		said += lines.Text() + "\n"
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(said, "child is done") {
		t.Errorf("%v\n%s", err, said)
	}
}

// lockOrFail is fcntl of a file system without locks.
func lockOrFail(tls *libc.TLS, fd, cmd int32, args uintptr) int32 {
	if failing.Load() && (cmd == unix.F_SETLK || cmd == unix.F_SETLKW) {
		*(*int32)(at(libc.X__errno_location(tls))) = int32(unix.EOPNOTSUPP)
		return -1
	}
	return libc.Xfcntl(tls, fd, cmd, args)
}

// TestNoLocks tells a file system that can't lock, such as one over a network, from other failures.
func TestNoLocks(t *testing.T) {
	t.Parallel()
	if path := os.Getenv(childKey); path != "" {
		replaceCall(t, "fcntl", functionAddress(lockOrFail))
		db := open(t, sqlite.Options{Path: path})
		failing.Store(true)
		fails(t.Context(), t, db, write(once("CREATE TABLE t (a)")), nil, abi.CodeUnavailable, "can't lock the database file")
		failing.Store(false)
		must(t, db, write(once("CREATE TABLE t (a)")), nil)
		must(t, db, write(once("INSERT INTO t VALUES (2)")), nil)
		if got := scalar(t, db, "SELECT group_concat(a) FROM t"); got != "2" {
			t.Errorf("table has %s", got)
		}
		fmt.Println("child is done")
		return
	}
	cmd, lines := child(t, "TestNoLocks", filepath.Join(t.TempDir(), "test.db"))
	said := ""
	for lines.Scan() {
		said += lines.Text() + "\n"
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(said, "child is done") {
		t.Errorf("%v\n%s", err, said)
	}
}

// replaceCall puts a function in the place of one of the system's, for the whole process.
func replaceCall(t *testing.T, call string, function uintptr) {
	t.Helper()
	tls := libc.NewTLS()
	defer tls.Close()
	name, err := libc.CString(call)
	if err != nil {
		t.Fatal(err)
	}
	lib.Xsqlite3_initialize(tls)
	vfs := lib.Xsqlite3_vfs_find(tls, 0)
	set := (*lib.Tsqlite3_vfs)(at(vfs)).FxSetSystemCall
	replace := *(*func(*libc.TLS, uintptr, uintptr, uintptr) int32)(at(address(&set)))
	if rc := replace(tls, vfs, name, function); rc != lib.SQLITE_OK {
		t.Fatalf("replacing %s answered %d", call, rc)
	}
}

// TestFullDisk fills a small file system, if it may mount one.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"full", "normal"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
				t.Skipf("not run: mounting a file system of 2 MiB: %v", err)
			}
			t.Cleanup(func() {
				if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
					t.Error(err)
				}
			})
			fillDisk(t, dir, open(t, sqlite.Options{Path: filepath.Join(dir, "test.db"), Synchronous: mode}))
		})
	}
}

func fillDisk(t *testing.T, dir string, db *sqlite.DB) {
	t.Helper()
	must(t, db, write(once("CREATE TABLE t (a)"), once("INSERT INTO t VALUES ('first')")), nil)
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	insert := write(once("INSERT INTO t VALUES (randomblob(100000))"))
	committed := 0
	for {
		_, failure := db.Exec(t.Context(), insert, nil)
		if failure == nil {
			committed++
			continue
		}
		if failure.Code != abi.CodeUnavailable || !strings.Contains(failure.Message, "the disk is full") || !failure.Retryable {
			t.Errorf("full disk: %v", failure)
		}
		break
	}
	fails(t.Context(), t, db, insert, nil, abi.CodeUnavailable, "the disk is full")
	if got := scalar(t, db, "SELECT count(*) FROM t"); got != show(abi.Int(int64(1+committed))) {
		t.Errorf("%s rows after %d commits", got, committed)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	must(t, db, insert, nil)
	if got := scalar(t, db, "PRAGMA integrity_check"); got != "ok" {
		t.Errorf("integrity check says %s", got)
	}
}
