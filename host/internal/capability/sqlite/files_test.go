package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
)

func TestOpenOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		opts sqlite.Options
		want []string
	}{
		{sqlite.Options{}, []string{"path is empty"}},
		{sqlite.Options{Path: "a\x00b"}, []string{"NUL"}},
		{sqlite.Options{Path: "a.db", Synchronous: "off", BusyTimeout: -1, Readers: -1}, []string{`"off" is not one of full, normal, extra`, "negative", "too few"}},
		{sqlite.Options{Path: "/" + strings.Repeat("long/", 101)}, []string{"path has 505 bytes, and SQLite takes 504"}},
	} {
		_, err := sqlite.Open(c.opts)
		if err == nil {
			t.Fatalf("%+v: no error", c.opts)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: error %q lacks %q", c.opts, err, want)
			}
		}
	}
}

// TestLazy checks that nothing exists before the first program and that a program that only reads
// makes the file too.
func TestLazy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "lazy.db")
	db := open(t, sqlite.Options{Path: path})
	info, err := db.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := (capability.DatabaseInfo{Driver: "sqlite", Version: info.Version, Path: path, Synchronous: "full"}); info != want {
		t.Errorf("info %+v, want %+v", info, want)
	}
	if !strings.HasPrefix(info.Version, "3.") {
		t.Errorf("version %q", info.Version)
	}
	must(t, db, write(), nil)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("%v exist before the first program (%v)", entries, err)
	}
	must(t, db, read(query("SELECT 1")), nil)
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	info, err = db.Info(t.Context())
	if err != nil || !info.Exists || info.JournalMode != "wal" {
		t.Errorf("info %+v, %v", info, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("after Close there are %v (%v), want the file alone", entries, err)
	}
	fails(t.Context(), t, db, write(once("SELECT 1")), nil, abi.CodeUnavailable, "closed")
	fails(t.Context(), t, db, read(query("SELECT 1")), nil, abi.CodeUnavailable, "closed")
	if _, err := db.Info(t.Context()); err == nil {
		t.Error("info of a closed database")
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func TestSynchronous(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"full", "Normal", "EXTRA"} {
		db := open(t, sqlite.Options{Synchronous: mode})
		must(t, db, write(once("CREATE TABLE t (a)")), nil)
		info, err := db.Info(t.Context())
		if want := strings.ToLower(mode); err != nil || info.Synchronous != want {
			t.Errorf("%s: info %+v, %v", mode, info, err)
		}
	}
}

// TestOpenFailures checks that each says what is wrong without the path, that the operator's log has
// the path, once, and that the next program after a repair succeeds.
func TestOpenFailures(t *testing.T) {
	t.Parallel()
	create := write(once("CREATE TABLE IF NOT EXISTS t (a)"))
	for _, c := range []struct {
		name   string
		spoil  func(path string) error
		repair func(path string) error
		code   abi.Code
		text   string
	}{
		{"folder in place of the file", func(path string) error { return os.Mkdir(path, 0o700) }, os.Remove, abi.CodeUnavailable, "a folder is in place of the database file"},
		{
			"file in place of the folder", func(path string) error { return os.WriteFile(filepath.Dir(path), nil, 0o600) },
			func(path string) error { return os.Remove(filepath.Dir(path)) }, abi.CodeUnavailable, "not a directory",
		},
		{
			"not a database", func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("text "), 1000), 0o600) },
			os.Remove, abi.CodeInvalid, "not an SQLite database",
		},
		{
			"dangling link", func(path string) error { return os.Symlink(filepath.Join(filepath.Dir(path), "no", "where"), path) },
			os.Remove, abi.CodeUnavailable, "symbolic link that leads nowhere",
		},
		{
			"links in a circle", func(path string) error { return os.Symlink(filepath.Base(path), path) },
			os.Remove, abi.CodeUnavailable, "go round in a circle",
		},
		{
			"pipe in place of the file", func(path string) error { return syscall.Mkfifo(path, 0o600) },
			os.Remove, abi.CodeUnavailable, "neither a file nor a folder",
		},
		{
			"damaged header", func(path string) error {
				return os.WriteFile(path, append([]byte("SQLite format 3\x00\x07\x07"), make([]byte, 8192)...), 0o600)
			}, os.Remove, abi.CodeInvalid, "not an SQLite database",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			path := filepath.Join(t.TempDir(), "folder", "test.db")
			db := open(t, sqlite.Options{Path: path, Logger: hclog.New(&hclog.LoggerOptions{Output: &log})})
			if c.name != "file in place of the folder" {
				if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.spoil(path); err != nil {
				t.Fatal(err)
			}
			for _, exec := range []*abi.SQLExec{create, read(query("SELECT 1")), create} {
				if failure := fails(t.Context(), t, db, exec, nil, c.code, c.text); strings.Contains(failure.Message, path) {
					t.Errorf("the guest sees the path: %s", failure.Message)
				}
			}
			if n := strings.Count(log.String(), "can't be opened; every"); n != 1 || !strings.Contains(log.String(), path) {
				t.Errorf("the log tells it %d times:\n%s", n, log.String())
			}
			if err := c.repair(path); err != nil {
				t.Fatal(err)
			}
			must(t, db, create, nil)
		})
	}
}

// TestDamaged checks that a file that is damaged behind its header is told apart.
func TestDamaged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	db := open(t, sqlite.Options{Path: path})
	must(t, db, write(once("CREATE TABLE t (a)"), once("INSERT INTO t SELECT hex(randomblob(500)) FROM json_each('[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]')")), nil)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(raw); i++ {
		raw[i] = 0x5a
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	again := open(t, sqlite.Options{Path: path})
	fails(t.Context(), t, again, read(query("SELECT * FROM t")), nil, abi.CodeInternal, "damaged")
	fails(t.Context(), t, again, write(once("INSERT INTO t VALUES (1)")), nil, abi.CodeInternal, "damaged")
}

// TestTornLog checks that of a log that ends in the middle of a commit, all commits before it are there,
// and the torn one is not, not even in part.
func TestTornLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "test.db")
	db := open(t, sqlite.Options{Path: path})
	must(t, db, write(once("CREATE TABLE t (a, b)")), nil)
	for i := range 20 {
		must(t, db, write(once("INSERT INTO t VALUES (?, randomblob(9000))", abi.Int(int64(i)))), nil)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	before := 20
	for size := len(log); size >= 0; size -= len(log)/17 + 1 {
		torn := filepath.Join(dir, fmt.Sprint("torn", size), "test.db")
		if err := errors.Join(os.Mkdir(filepath.Dir(torn), 0o700), os.WriteFile(torn, file, 0o600), os.WriteFile(torn+"-wal", log[:size], 0o600)); err != nil {
			t.Fatal(err)
		}
		again := open(t, sqlite.Options{Path: torn})
		if got := scalar(t, again, "PRAGMA integrity_check"); got != "ok" {
			t.Errorf("%d of %d bytes: integrity check says %s", size, len(log), got)
		}
		if scalar(t, again, "SELECT count(*) FROM sqlite_master") == "0" {
			break // not even the table
		}
		n, err := strconv.Atoi(scalar(t, again, "SELECT count(*) FROM t"))
		if err != nil || n > before || size == len(log) && n != 20 {
			t.Errorf("%d of %d bytes: %d rows, %v", size, len(log), n, err)
		}
		if n > 0 && scalar(t, again, "SELECT max(a) FROM t") != fmt.Sprint(n-1) {
			t.Errorf("%d of %d bytes: rows are missing in the middle", size, len(log))
		}
		before = n
		must(t, again, write(once("INSERT INTO t VALUES (100, 1)")), nil)
	}
	if before == 20 {
		t.Error("nothing was torn")
	}
}

// TestMoved checks that nothing is committed to a file that nobody can find any more, that no empty
// one takes its place, and that all goes on when it is put back, with everything in it.
func TestMoved(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(from, to string) error{
		"renamed": os.Rename,
		"removed": func(from, to string) error { return errors.Join(os.Link(from, to), os.Remove(from)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "test.db")
			db := open(t, sqlite.Options{Path: path})
			must(t, db, write(once("CREATE TABLE t (a)"), once("INSERT INTO t VALUES (7)")), nil)
			must(t, db, read(query("SELECT * FROM t")), nil)
			if err := move(path, path+".away"); err != nil {
				t.Fatal(err)
			}
			more := untilMoved(t, db)
			fails(t.Context(), t, db, write(once("INSERT INTO t VALUES (1)")), nil, abi.CodeUnavailable, "moved or removed")
			fails(t.Context(), t, db, read(query("SELECT * FROM t")), nil, abi.CodeUnavailable, "moved or removed")
			if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("another file is there: %v", err)
			}
			if err := os.Rename(path+".away", path); err != nil {
				t.Fatal(err)
			}
			must(t, db, write(once("INSERT INTO t VALUES (8)")), nil)
			if got, want := scalar(t, db, "SELECT group_concat(a) FROM t"), "7,"+strings.Repeat("1,", more)+"8"; got != want {
				t.Errorf("the table has %s, want %s", got, want)
			}
		})
	}
}

// untilMoved writes to a file that was taken away until that is noticed, and counts what was written
// until then.
func untilMoved(t *testing.T, db *sqlite.DB) (written int) {
	t.Helper()
	for {
		_, failure := db.Exec(t.Context(), write(once("INSERT INTO t VALUES (1)")), nil)
		switch {
		case failure == nil:
			written++
		case failure.Code != abi.CodeUnavailable || !strings.Contains(failure.Message, "moved or removed"):
			t.Fatal(failure)
		default:
			return written
		}
	}
}

// TestReplaced checks that a file that someone else put in the place of the one that was open is
// used, by readers too, and that the operator is told.
func TestReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, other := filepath.Join(dir, "test.db"), filepath.Join(dir, "other.db")
	for _, file := range []string{path, other} {
		first, err := sqlite.Open(sqlite.Options{Path: file})
		if err != nil {
			t.Fatal(err)
		}
		must(t, first, write(once("CREATE TABLE t (a)"), once("INSERT INTO t VALUES (?)", abi.Text(filepath.Base(file)))), nil)
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	db := open(t, sqlite.Options{Path: path, Logger: hclog.New(&hclog.LoggerOptions{Output: &log})})
	must(t, db, write(once("CREATE TABLE u (a)")), nil)
	must(t, db, read(query("SELECT * FROM t")), nil)
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	untilMoved(t, db)
	if got := scalar(t, db, "SELECT a FROM t"); got != "other.db" {
		t.Errorf("read %s", got)
	}
	if !strings.Contains(log.String(), "replaced while it was open") {
		t.Errorf("the log says %q", log.String())
	}
}

// TestMode checks that files are for nobody but their owner.
func TestMode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link, target := filepath.Join(dir, "link.db"), filepath.Join(dir, "target", "real.db")
	if err := errors.Join(os.Mkdir(filepath.Dir(target), 0o700), os.Symlink(filepath.Join("target", "real.db"), link)); err != nil {
		t.Fatal(err)
	}
	for path, file := range map[string]string{
		filepath.Join(dir, "folder", "deep", "test.db"): filepath.Join(dir, "folder", "deep", "test.db"),
		link: target,
	} {
		db := open(t, sqlite.Options{Path: path})
		must(t, db, write(once("CREATE TABLE t (a)")), nil)
		must(t, db, read(query("SELECT * FROM t")), nil)
		for name, want := range map[string]os.FileMode{
			file: 0o600, file + "-wal": 0o600, file + "-shm": 0o600, filepath.Dir(file): 0o700 | os.ModeDir,
		} {
			if info, err := os.Stat(name); err != nil || info.Mode() != want {
				t.Errorf("%s: %v, want mode %s", name, err, want)
			}
		}
		if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) != 3 {
			t.Errorf("beside the file there are %v, %v", entries, err)
		}
	}
}

// TestLargeCell stores 64 MiB from a batch, and reads it through a handle in ranges, as a guest of
// any size can.
func TestLargeCell(t *testing.T) {
	t.Parallel()
	db := open(t, sqlite.Options{Synchronous: "normal"})
	large := make([]byte, 64<<20)
	for i := range large {
		large[i] = byte('a' + i/4096%26)
	}
	must(t, db, write(once("CREATE TABLE t (id INTEGER PRIMARY KEY, line TEXT)")), nil)
	var call capability.Call
	step := abi.SQLStep{SQL: "INSERT INTO t (line) VALUES (?)", Batch: call.Put(page(1, abi.Text("small"), abi.JSON(large))), Params: columns(0)}
	must(t, db, write(step), &call)

	set := capability.NewSet(capability.SetOptions{Plugin: "p", Databases: map[string]capability.Database{"ledger": db}})
	ask := func(op abi.Op, req abi.Message, reply abi.Message) {
		t.Helper()
		out, failure := set.Handle(context.Background(), &call, op, req.AppendTo(nil), nil)
		if failure != nil {
			t.Fatal(failure)
		}
		if len(out) > capability.MaxReadBytes+1024 {
			t.Fatalf("%s answered %d bytes", op, len(out))
		}
		if err := reply.Unmarshal(out); err != nil {
			t.Fatal(err)
		}
	}
	exec := read(abi.SQLStep{SQL: "SELECT id, line FROM t ORDER BY id", Result: abi.ResultHandle})
	exec.Database = "ledger"
	var reply abi.SQLExecReply
	ask(abi.OpSQLExec, exec, &reply)
	handle := reply.Steps[0].Handle

	var rows abi.BatchRows
	ask(abi.OpBatchRead, &abi.BatchRead{Handle: handle}, &rows)
	if rows.Next != 1 || len(rows.Cut) != 0 {
		t.Fatalf("first page ends at %d, cut %v", rows.Next, rows.Cut)
	}
	ask(abi.OpBatchRead, &abi.BatchRead{Handle: handle, First: rows.Next}, &rows)
	if rows.Next != 2 || len(rows.Cut) != 1 || rows.Cut[0] != 1<<8|1 {
		t.Fatalf("second page ends at %d, cut %v", rows.Next, rows.Cut)
	}
	got := make([]byte, 0, len(large))
	for len(got) < len(large) {
		var cell abi.BatchBytes
		ask(abi.OpBatchCell, &abi.BatchCell{Handle: handle, Row: 1, Column: 1, Offset: uint64(len(got)), Length: 3 << 20}, &cell)
		if cell.Total != uint64(len(large)) || len(cell.Data) == 0 {
			t.Fatalf("cell of %d bytes, %d read", cell.Total, len(cell.Data))
		}
		got = append(got, cell.Data...)
	}
	if !bytes.Equal(got, large) {
		t.Error("the cell came back changed")
	}

	tooLarge := make([]byte, sqlite.MaxValue+1)
	step.Batch = call.Put(page(1, abi.Text("small"), abi.Blob(tooLarge)))
	failure := fails(t.Context(), t, db, write(step), &call, abi.CodeInvalid, "too large")
	if failure.Details[abi.DetailRow] != "1" {
		t.Errorf("details are %v", failure.Details)
	}
}

// TestRoom checks that a guest can't make the host hold results without bound.
func TestRoom(t *testing.T) {
	t.Parallel()
	db := open(t, sqlite.Options{Path: sqlite.Memory})
	var call capability.Call
	exec := read(abi.SQLStep{SQL: "SELECT zeroblob(30000000)", Result: abi.ResultHandle})
	for i := range 100 {
		_, failure := db.Exec(t.Context(), exec, &call)
		if failure == nil {
			continue
		}
		if failure.Code != abi.CodeResourceExhausted || i < 4 {
			t.Errorf("program %d failed with %v", i, failure)
		}
		return
	}
	t.Error("100 results of 30 MB were kept")
}
