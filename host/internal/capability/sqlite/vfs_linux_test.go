package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// layered is a database whose connections go through the layer, and what its files hold.
type layered struct {
	t    *testing.T
	path string
	*conn
}

func openLayered(t *testing.T, synchronous string) *layered {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	if err := createFile(path); err != nil {
		t.Fatal(err)
	}
	l := &layered{t: t, path: path}
	l.conn = l.another(synchronous)
	l.do("CREATE TABLE t (id INTEGER PRIMARY KEY, a BLOB)")
	l.do("CREATE INDEX i ON t (a)")
	l.do("PRAGMA wal_autocheckpoint = 0")
	return l
}

func (l *layered) another(synchronous string) *conn {
	c, err := openConn(connOptions{path: l.path, synchronous: synchronous, hooks: hooks{timeout: time.Second}})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if err := c.close(); err != nil {
			l.t.Error(err)
		}
	})
	return c
}

func (l *layered) do(sql string) {
	l.t.Helper()
	if _, err := l.query(sql); err != nil {
		l.t.Fatal(err)
	}
}

const contents = `SELECT count(*) || ' ' || total(id * length(a)) || ' ' || ifnull(max(hex(substr(a, 1, 8))), '') || ' ' || ifnull(group_concat(id % 97), '') FROM t`

// survives returns what SQLite alone finds in the files as they are now, which is what is left when this
// process is killed.
func (l *layered) survives() string {
	l.t.Helper()
	copied := filepath.Join(l.t.TempDir(), "copy.db")
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(l.path + suffix)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			l.t.Fatal(err)
		}
		if err := os.WriteFile(copied+suffix, data, 0o600); err != nil {
			l.t.Fatal(err)
		}
	}
	db, err := sql.Open("sqlite", "file:"+copied+"?_pragma=synchronous(0)")
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var check, found string
	if err := errors.Join(db.QueryRow("PRAGMA integrity_check").Scan(&check), db.QueryRow(contents).Scan(&found)); err != nil || check != "ok" {
		l.t.Fatalf("integrity check says %q, %v", check, err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(copied + suffix)
	}
	return found
}

// TestLayerKilled lets transactions of every kind run, most of which are larger than the page cache so that
// their pages are written and replaced before they are committed, with checkpoints that are kept from coming
// to the end. Whatever happens, the files hold what was committed and nothing else.
func TestLayerKilled(t *testing.T) {
	t.Parallel()
	seeds := uint64(4)
	if underRace {
		seeds = 1
	}
	for seed := range seeds {
		synchronous := []string{"normal", "full", "off"}[seed%3]
		t.Run(fmt.Sprint(synchronous, seed), func(t *testing.T) {
			t.Parallel()
			l := openLayered(t, synchronous)
			reader, viewer := l.another(synchronous), l.another(synchronous)
			if _, err := viewer.query("PRAGMA cache_size = 1"); err != nil {
				t.Fatal(err)
			}
			l.do("PRAGMA cache_size = 10")
			random := rand.New(rand.NewPCG(seed, 1))
			for range 24 {
				committed, err := l.query(contents)
				if err != nil {
					t.Fatal(err)
				}
				l.do("BEGIN IMMEDIATE")
				for range 1 + random.IntN(6) {
					switch random.IntN(7) {
					case 0:
						l.do(fmt.Sprintf("DELETE FROM t WHERE id %% %d = 0", 2+random.IntN(9)))
					case 1:
						l.do(fmt.Sprintf("UPDATE t SET a = randomblob(length(a) + %d) WHERE id %% 3 = 0", random.IntN(200)))
					case 2:
						l.do("SAVEPOINT s")
						l.do("UPDATE t SET a = randomblob(300)")
						l.do("ROLLBACK TO s")
						l.do("RELEASE s")
					default:
						l.do(fmt.Sprintf("WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < %d) "+
							"INSERT INTO t (a) SELECT randomblob(%d) FROM n", 1+random.IntN(30), 1+random.IntN(6000)))
					}
				}
				if found := l.survives(); found != committed {
					t.Fatalf("before a commit the files hold %.80s; want %.80s", found, committed)
				}
				if random.IntN(4) == 0 {
					l.do("ROLLBACK")
				} else {
					l.do("COMMIT")
					if committed, err = l.query(contents); err != nil {
						t.Fatal(err)
					}
				}
				if found := l.survives(); found != committed {
					t.Fatalf("after a commit the files hold %.80s; want %.80s", found, committed)
				}
				switch random.IntN(8) {
				case 0: // from now on checkpoints don't reach the end
					_, _ = reader.query("COMMIT")
					if _, err := reader.query("BEGIN"); err != nil {
						t.Fatal(err)
					}
					if seen, err := reader.query(contents); err != nil || seen != committed {
						t.Fatalf("another connection sees %.80s, %v; want %.80s", seen, err, committed)
					}
				case 1:
					_, _ = reader.query("COMMIT")
				case 2, 3, 4:
					l.do("PRAGMA wal_checkpoint(" + []string{"PASSIVE", "PASSIVE", "TRUNCATE"}[random.IntN(3)] + ")")
					if found := l.survives(); found != committed {
						t.Fatalf("after a checkpoint the files hold %.80s; want %.80s", found, committed)
					}
					// Of pages that are in the database file nobody looks at the log's any more.
					if seen, err := viewer.query(contents); err != nil || seen != committed {
						t.Fatalf("after a checkpoint another connection sees %.80s, %v; want %.80s", seen, err, committed)
					}
				}
			}
			_, _ = reader.query("COMMIT")
		})
	}
}

// failure makes one write to a file fail, or several.
type failure struct {
	own         uintptr // what writes
	count       int
	first, last int
}

var failures sync.Map // of files; their addresses

func failingWrite(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32 {
	found, _ := failures.Load(file)
	f, _ := found.(*failure)
	write := method[dataMethod](f.own)
	f.count++
	if f.count < f.first || f.count > f.last {
		return write(tls, file, data, n, offset)
	}
	_ = write(tls, file, data, n/2, offset)
	return lib.SQLITE_FULL
}

// fail lets writes first to last to the log or the database file fail, which are counted from 1.
func (l *layered) fail(op, first, last int32) *failure {
	l.t.Helper()
	if rc := lib.Xsqlite3_file_control(l.tls, l.db, 0, op, l.scratch); rc != lib.SQLITE_OK {
		l.t.Fatalf("no file: %d", rc)
	}
	file := *(*uintptr)(pointer(l.scratch))
	s := stateOf(file)
	address, err := allocate(l.tls, int(unsafe.Sizeof(lib.Tsqlite3_io_methods{})))
	if err != nil {
		l.t.Fatal(err)
	}
	f := &failure{own: s.own().FxWrite, first: int(first), last: int(last)}
	m := (*lib.Tsqlite3_io_methods)(pointer(address))
	*m = *s.own()
	m.FxWrite = functionPointer(failingWrite)
	s.methods = address
	failures.Store(file, f)
	return f
}

// TestLayerFailures lets each write of a workload fail in turn, in the log and in the database file. A
// transaction that was committed stays, one that wasn't leaves nothing, and afterwards all goes on.
func TestLayerFailures(t *testing.T) {
	t.Parallel()
	for _, file := range []struct {
		name string
		op   int32
	}{{"log", lib.SQLITE_FCNTL_JOURNAL_POINTER}, {"database", lib.SQLITE_FCNTL_FILE_POINTER}} {
		for _, times := range []int32{1, 3} {
			t.Run(fmt.Sprint(file.name, times), func(t *testing.T) {
				t.Parallel()
				failed, step := 0, times
				if underRace { // of one goroutine there is not much to see
					step *= 20
				}
				for first := int32(1); ; first += step {
					l := openLayered(t, "normal")
					l.do("PRAGMA cache_size = 10")
					f := l.fail(file.op, first, first+times-1)
					failed += l.insist()
					if f.count < f.first {
						break
					}
				}
				if file.name == "log" && failed == 0 {
					t.Error("no transaction failed")
				}
			})
		}
	}
}

// insist runs transactions, each until it is committed, and returns how often one failed.
func (l *layered) insist() (failed int) {
	l.t.Helper()
	for round := range 3 {
		before, err := l.query(contents)
		if err != nil {
			l.t.Fatal(err)
		}
		for {
			var errs []error
			for _, sql := range []string{
				"BEGIN IMMEDIATE",
				fmt.Sprintf("WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO t (a) SELECT zeroblob(3000) || i FROM n", 1+25*round),
				"UPDATE t SET a = a || 'x' WHERE id % 5 = 0",
				"COMMIT",
			} {
				_, err := l.query(sql)
				if errs = append(errs, err); err != nil {
					break
				}
			}
			if errors.Join(errs...) == nil {
				break
			}
			if failed++; failed > 10 {
				l.t.Fatal(errors.Join(errs...))
			}
			if l.inTransaction() {
				l.do("ROLLBACK")
			}
			if found := l.survives(); found != before {
				l.t.Fatalf("after a failed transaction the files hold %.80s; want %.80s", found, before)
			}
		}
		after, err := l.query(contents)
		if err != nil {
			l.t.Fatal(err)
		}
		for range 3 {
			if found := l.survives(); found != after || found == before {
				l.t.Fatalf("the files hold %.80s; want %.80s", found, after)
			}
			if _, err := l.query("PRAGMA wal_checkpoint(PASSIVE)"); err == nil {
				break
			}
		}
		if found, err := l.query(contents); err != nil || found != after {
			l.t.Fatalf("after a checkpoint there is %.80s, %v; want %.80s", found, err, after)
		}
	}
	return failed
}

// TestLayerLength looks at how long the log is: commits in the beginning of a process, which are all that
// many have, need not wait for the file's length as well.
func TestLayerLength(t *testing.T) {
	t.Parallel()
	l := openLayered(t, "full")
	lengths := map[int64]int{}
	for range 50 {
		l.do("INSERT INTO t (a) VALUES (randomblob(100))")
		info, err := os.Stat(l.path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		lengths[info.Size()]++
	}
	if len(lengths) > 5 {
		t.Errorf("the log had %d lengths in 50 commits: %v", len(lengths), lengths)
	}
	if found, err := l.query(contents); err != nil || found != l.survives() {
		t.Errorf("the files hold %.80s; want %.80s, %v", l.survives(), found, err)
	}
}

// TestLayerGathers counts what reaches the kernel of a transaction and a checkpoint of some 280 pages, two
// thirds of which the file did not have before.
func TestLayerGathers(t *testing.T) {
	t.Parallel()
	l := openLayered(t, "normal")
	l.do("PRAGMA cache_size = 1000")
	insert := "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO t (a) SELECT randomblob(3000) FROM n"
	l.do(insert)
	l.do("PRAGMA wal_checkpoint(TRUNCATE)")
	log := l.fail(lib.SQLITE_FCNTL_JOURNAL_POINTER, 0, 0)
	database := l.fail(lib.SQLITE_FCNTL_FILE_POINTER, 0, 0)
	l.do(insert)
	frames, err := os.Stat(l.path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	pages := int(frames.Size() / (4096 + frameHeader))
	if pages < 150 || log.count > pages/10+5 {
		t.Errorf("%d writes to a log of %d pages", log.count, pages)
	}
	l.do("PRAGMA wal_checkpoint(PASSIVE)")
	if database.count > pages/3 {
		t.Errorf("%d writes of %d pages to the database file", database.count, pages)
	}
	t.Logf("%d pages: %d writes to the log, %d to the database file", pages, log.count, database.count)
}
