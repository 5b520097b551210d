package sqlite_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
)

// copyFiles copies what lies beside each other under one name, as a host that was killed leaves it.
func copyFiles(t *testing.T, path string, suffixes ...string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy.db")
	for _, suffix := range suffixes {
		b, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to+suffix, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// A log that was removed while no host had it open can't be brought back: going on without it would lose
// what was committed without a word. Who wants to go on says so by removing what is left of it.
func TestLogRemovedAfterAKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	db := open(t, sqlite.Options{Path: path})
	must(t, db, write(once("CREATE TABLE t (a)"), once("INSERT INTO t VALUES (1)")), nil)

	killed := copyFiles(t, path, "", "-shm")
	copied := open(t, sqlite.Options{Path: killed})
	for range 2 {
		fails(t.Context(), t, copied, read(query("SELECT a FROM t")), nil, abi.CodeUnavailable, "(-wal) was removed")
		fails(t.Context(), t, copied, write(once("CREATE TABLE t (a)")), nil, abi.CodeUnavailable, "(-wal) was removed")
	}
	log, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(killed+"-wal", log, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := scalar(t, copied, "SELECT a FROM t"); got != "1" {
		t.Errorf("with the log put back there is %s", got)
	}

	abandoned := copyFiles(t, path, "", "-shm")
	if err := os.Remove(abandoned + "-shm"); err != nil {
		t.Fatal(err)
	}
	without := open(t, sqlite.Options{Path: abandoned})
	must(t, without, write(once("CREATE TABLE t (a)")), nil) // what was committed is gone

	// A log that has nothing of its own is not missed.
	must(t, db, write(once("INSERT INTO t VALUES (2)")), nil)
	if err := checkpoint(path); err != nil {
		t.Fatal(err)
	}
	whole := open(t, sqlite.Options{Path: copyFiles(t, path, "", "-shm")})
	if got := scalar(t, whole, "SELECT count(*) FROM t"); got != "2" {
		t.Errorf("%s rows", got)
	}
}

// A log that is removed under a host that runs is noticed, and what was committed to it is not lost.
func TestLogRemovedWhileOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	db := open(t, sqlite.Options{Path: path})
	must(t, db, write(once("CREATE TABLE t (a)")), nil)
	rows := 0
	insert := func() *abi.Error {
		_, failure := db.Exec(t.Context(), write(once("INSERT INTO t VALUES (1)")), nil)
		if failure == nil {
			rows++
		}
		return failure
	}
	for range 10 {
		if failure := insert(); failure != nil {
			t.Fatal(failure)
		}
	}
	if err := os.Remove(path + "-wal"); err != nil {
		t.Fatal(err)
	}
	var noticed *abi.Error
	for began := time.Now(); noticed == nil && time.Since(began) < 30*time.Second; {
		noticed = insert()
	}
	if noticed == nil || noticed.Code != abi.CodeUnavailable || !noticed.Retryable {
		t.Fatalf("nobody noticed: %v", noticed)
	}
	for range 10 {
		if failure := insert(); failure != nil {
			t.Fatal(failure)
		}
	}
	if got := scalar(t, db, "SELECT count(*) FROM t"); got != strconv.Itoa(rows) {
		t.Errorf("%s rows, %d were acknowledged", got, rows)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, sqlite.Options{Path: path})
	if got := scalar(t, again, "SELECT count(*) FROM t"); got != strconv.Itoa(rows) {
		t.Errorf("%s rows in the end, %d were acknowledged", got, rows)
	}
	if got := scalar(t, again, "PRAGMA quick_check"); got != "ok" {
		t.Error(got)
	}
}

// checkpoint brings the whole log into the file, as another process.
func checkpoint(path string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	_, err = db.Exec("PRAGMA wal_checkpoint(FULL)") //nolint:noctx // of a test
	return errors.Join(err, db.Close())
}
