package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/alineo-labs/alineo-host/abi"
)

func testConn(t *testing.T) *conn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	if err := createFile(path); err != nil {
		t.Fatal(err)
	}
	c, err := openConn(connOptions{
		path: path, synchronous: "normal", hooks: hooks{timeout: time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// TestSynchronousConnection asks the connection that writes, not the options: nothing else would tell that commits
// don't wait for the disk, for a killed process leaves to the kernel what it wrote.
func TestSynchronousConnection(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{"": "2", "full": "2", "NORMAL": "1", "extra": "3"} {
		for _, others := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "test.db")
			if others { // made by a program that knows no write-ahead log
				if err := createFile(path); err != nil {
					t.Fatal(err)
				}
				c, err := openConn(connOptions{path: path, synchronous: "off", hooks: hooks{timeout: time.Second}})
				if err == nil {
					_, err = c.query("PRAGMA journal_mode = DELETE")
					err = errors.Join(err, c.pragma("user_version = 7"), c.close())
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			db, err := Open(Options{Path: path, Synchronous: mode})
			if err != nil {
				t.Fatal(err)
			}
			if _, failure := db.Exec(t.Context(), &abi.SQLExec{Steps: []abi.SQLStep{{SQL: "CREATE TABLE t (a)"}}}, nil); failure != nil {
				t.Fatal(failure)
			}
			s := <-db.writer
			got, err := s.conn.query("PRAGMA synchronous")
			journal, journalErr := s.conn.query("PRAGMA journal_mode")
			db.writer <- s
			if err := errors.Join(err, journalErr); err != nil || got != want || journal != "wal" {
				t.Errorf("%q, made by others %v: synchronous is %s, journal mode %s, %v; want %s, wal", mode, others, got, journal, err, want)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestCommitIsNotInterrupted commits so often after the context has ended that SQLite's count of
// steps passes the point where it asks whether to go on, which it does in COMMIT too.
func TestCommitIsNotInterrupted(t *testing.T) {
	t.Parallel()
	c := testConn(t)
	if _, err := c.query("CREATE TABLE t (a)"); err != nil {
		t.Fatal(err)
	}
	insert, err := c.prepare("INSERT INTO t VALUES (1)")
	if err != nil {
		t.Fatal(err)
	}
	defer c.finalize(insert)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 * progressSteps {
		p := program{conn: c, ctx: t.Context(), exec: new(abi.SQLExec)}
		if failure := p.start(); failure != nil {
			t.Fatal(failure)
		}
		if err := c.control(insert); err != nil {
			t.Fatal(err)
		}
		c.hooks.ctx = over //nolint:fatcontext // it is put back
		if failure := p.commit(); failure != nil {
			t.Fatal(failure)
		}
		c.hooks.ctx = nil
	}
}

func TestStatementCache(t *testing.T) {
	t.Parallel()
	c := testConn(t)
	for i := range maxStatements + 10 {
		if _, err := c.statement(fmt.Sprintf("SELECT %d", i)); err != nil {
			t.Fatal(err)
		}
		// The first one is asked for all the time and stays.
		if c.cache.get("SELECT 0") == nil {
			t.Fatalf("the statement in use was thrown out after %d", i)
		}
	}
	if n := len(c.cache.byText); n != maxStatements {
		t.Errorf("%d statements are kept, want %d", n, maxStatements)
	}
	if c.cache.get("SELECT 1") != nil {
		t.Error("the oldest statement is still there")
	}
	long := strings.Repeat(" ", MaxSQL-100)
	for i := range 10 {
		if _, err := c.statement(fmt.Sprintf("SELECT %d%s", i, long)); err != nil {
			t.Fatal(err)
		}
	}
	if c.cache.size > maxStatementText {
		t.Errorf("%d bytes of text are kept", c.cache.size)
	}
	size := 0
	for text := range c.cache.byText {
		size += len(text)
	}
	if size != c.cache.size {
		t.Errorf("the cache counts %d bytes and has %d", c.cache.size, size)
	}
}

func TestArena(t *testing.T) {
	t.Parallel()
	c := testConn(t)
	a := &arena{tls: c.tls}
	defer a.close()
	for round := range 3 {
		var addresses []uintptr
		sizes := []int{0, 1, 1000, arenaFirst, arenaFirst + 1, 3, arenaMost / 4, arenaMost/4 + 1, 3 * arenaMost, 0, 17}
		for i, size := range sizes {
			address, err := a.put([]byte(strings.Repeat(string(rune('a'+i)), size)))
			if err != nil || address == 0 {
				t.Fatal(address, err)
			}
			addresses = append(addresses, address)
		}
		for i, size := range sizes {
			if got := string(bytesAt(addresses[i], size)); got != strings.Repeat(string(rune('a'+i)), size) {
				t.Errorf("round %d: value %d of %d bytes changed", round, i, size)
			}
		}
		a.reset()
		if len(a.full) != 0 || a.size > arenaMost {
			t.Errorf("round %d: the arena keeps %d more chunks and %d bytes", round, len(a.full), a.size)
		}
	}
}

func TestTranslate(t *testing.T) {
	t.Parallel()
	cases := []struct {
		code      int32
		want      abi.Code
		sentence  string
		retryable bool
	}{
		{lib.SQLITE_BUSY, abi.CodeUnavailable, sentenceBusy, true},
		{lib.SQLITE_BUSY_SNAPSHOT, abi.CodeUnavailable, sentenceBusy, true},
		{lib.SQLITE_LOCKED, abi.CodeUnavailable, sentenceBusy, true},
		{lib.SQLITE_FULL, abi.CodeUnavailable, sentenceFull, true},
		{lib.SQLITE_READONLY, abi.CodeUnavailable, sentenceReadOnly, true},
		{lib.SQLITE_READONLY_DBMOVED, abi.CodeUnavailable, sentenceMoved, true},
		{lib.SQLITE_CANTOPEN, abi.CodeUnavailable, sentenceCantOpen, true},
		{lib.SQLITE_CANTOPEN_ISDIR, abi.CodeUnavailable, sentenceDirectory, true},
		{lib.SQLITE_IOERR_WRITE, abi.CodeUnavailable, "(778)", true},
		{lib.SQLITE_IOERR_NOMEM, abi.CodeResourceExhausted, sentenceMemory, false},
		{lib.SQLITE_NOMEM, abi.CodeResourceExhausted, sentenceMemory, false},
		{lib.SQLITE_CORRUPT, abi.CodeInternal, sentenceCorrupt, false},
		{lib.SQLITE_NOTADB, abi.CodeInvalid, sentenceNoDB, false},
		{lib.SQLITE_CONSTRAINT_UNIQUE, abi.CodeConflict, "its text", false},
		{lib.SQLITE_CONSTRAINT_PRIMARYKEY, abi.CodeConflict, "its text", false},
		{lib.SQLITE_CONSTRAINT_FOREIGNKEY, abi.CodeConflict, "its text", false},
		{lib.SQLITE_CONSTRAINT_NOTNULL, abi.CodeInvalid, "its text", false},
		{lib.SQLITE_CONSTRAINT_CHECK, abi.CodeInvalid, "its text", false},
		{lib.SQLITE_ERROR, abi.CodeInvalid, "its text", false},
		{lib.SQLITE_TOOBIG, abi.CodeInvalid, "too large", false},
		{lib.SQLITE_MISMATCH, abi.CodeInvalid, "its text", false},
		{lib.SQLITE_AUTH, abi.CodeDenied, "its text", false},
		{lib.SQLITE_INTERRUPT, abi.CodeDeadline, "interrupted", false},
		{lib.SQLITE_INTERNAL, abi.CodeInternal, "its text", false},
	}
	for _, c := range cases {
		got := translate(fmt.Errorf("wrapped: %w", &sqliteError{code: c.code, text: "its text"}))
		if got.Code != c.want || !strings.Contains(got.Message, c.sentence) || got.Retryable != c.retryable {
			t.Errorf("%d became %v (retryable %v)", c.code, got, got.Retryable)
		}
	}
	if got := translate(errors.New("/secret/path failed")); got.Code != abi.CodeInternal || strings.Contains(got.Message, "secret") {
		t.Errorf("an unknown error became %v", got)
	}
}

func TestTranslateCommit(t *testing.T) {
	t.Parallel()
	cases := []struct {
		code      int32
		stillOpen bool
		want      abi.Code
	}{
		{lib.SQLITE_BUSY, true, abi.CodeUnavailable},
		{lib.SQLITE_CONSTRAINT_FOREIGNKEY, true, abi.CodeConflict},
		{lib.SQLITE_FULL, false, abi.CodeUnavailable},
		{lib.SQLITE_READONLY, false, abi.CodeUnavailable},
		{lib.SQLITE_IOERR_FSYNC, false, abi.CodeUnknownOutcome},
		{lib.SQLITE_IOERR_WRITE, false, abi.CodeUnknownOutcome},
		{lib.SQLITE_CORRUPT, false, abi.CodeUnknownOutcome},
		{lib.SQLITE_NOMEM, false, abi.CodeUnknownOutcome},
	}
	for _, c := range cases {
		got := translateCommit(&sqliteError{code: c.code, text: "its text"}, c.stillOpen)
		if got.Code != c.want || got.Retryable != (c.want == abi.CodeUnavailable) {
			t.Errorf("%d, still open %v, became %v", c.code, c.stillOpen, got)
		}
	}
}

func TestCheckVersion(t *testing.T) {
	t.Parallel()
	if err := checkVersion(3_051_002); err == nil || !strings.Contains(err.Error(), "SQLite 3.51.2") || !strings.Contains(err.Error(), "needs 3.51.3 or later") {
		t.Errorf("3.51.2: %v", err)
	}
	for _, number := range []int{3_051_003, 3_052_000, 4_000_000, libraryVersion()} {
		if err := checkVersion(number); err != nil {
			t.Errorf("%d: %v", number, err)
		}
	}
}
