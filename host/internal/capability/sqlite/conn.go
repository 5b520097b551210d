package sqlite

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/alineo-labs/alineo-host/abi"
)

// scratchSize is enough for two out-parameters and for a list of two variable arguments.
const scratchSize = 16

// journalLimit is what the write-ahead log is cut to when it starts over, bytes.
const journalLimit = 64 << 20

// conn is one connection. It is used by one goroutine at a time.
type conn struct {
	tls     *libc.TLS
	db      uintptr
	scratch uintptr
	hooks   *hooks
	arena   arena
	cache   statements
	total   int64       // sqlite3_total_changes after the last run
	late    bool        // the journal mode is set by the first program that writes
	memory  bool        // there is no file
	checked time.Time   // when moved looked last
	path    string      // of the file
	log     os.FileInfo // beside the file when moved looked first and there was one
	frozen  os.FileInfo // of a file that must not change, nil for others

	begin, beginImmediate, commit, rollback *stmt

	// Of the running program; their memory serves the next one.
	results []result
	sources []source
	cells   []abi.Value

	pages sync.Pool // of *capability.Page, of results that nobody needs any more
}

// rest lets go of what the last program left: rows, and views of its text.
func (c *conn) rest() {
	c.hooks.ctx, c.hooks.denied = nil, ""
	clear(c.results)
	clear(c.sources)
	clear(c.cells)
}

// connOptions say what kind of connection to open.
type connOptions struct {
	path        string // of a file that is there, or Memory; a URI when it is immutable
	queryOnly   bool
	readOnly    bool // the file may be one that can't be written
	immutable   bool // the file does not change, and nothing is written beside it
	synchronous string
	hooks       hooks
}

// openConn opens a connection that is ready for a guest's statements.
func openConn(opts connOptions) (*conn, error) {
	h := opts.hooks
	c := &conn{tls: libc.NewTLS(), hooks: &h, memory: opts.path == Memory, path: opts.path, checked: time.Now()}
	c.arena.tls = c.tls
	c.hooks.trusted = true
	defer func() { c.hooks.trusted = false }()
	if err := c.open(opts); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *conn) open(opts connOptions) (err error) {
	if c.scratch, err = allocate(c.tls, scratchSize); err != nil {
		return err
	}
	path, err := allocateString(c.tls, opts.path)
	if err != nil {
		return err
	}
	defer free(c.tls, path)
	flags := int32(lib.SQLITE_OPEN_NOMUTEX | lib.SQLITE_OPEN_EXRESCODE)
	if opts.immutable {
		flags |= lib.SQLITE_OPEN_READONLY | lib.SQLITE_OPEN_URI
	} else {
		flags |= lib.SQLITE_OPEN_READWRITE
	}
	layer, err := vfsAddress()
	if err != nil {
		return fmt.Errorf("opening: %w", err)
	}
	rc := lib.Xsqlite3_open_v2(c.tls, path, c.scratch, flags, layer)
	c.db = *(*uintptr)(pointer(c.scratch)) // also set by most failures
	if rc != lib.SQLITE_OK {
		return fmt.Errorf("opening: %w", c.failure(rc))
	}
	if !opts.readOnly && !opts.immutable && !c.memory && lib.Xsqlite3_db_readonly(c.tls, c.db, 0) == 1 {
		// SQLite falls back to reading, and would make files beside it that nobody may write either.
		return &sqliteError{code: lib.SQLITE_READONLY, text: "the file can only be read"}
	}
	if rc := lib.Xsqlite3_busy_handler(c.tls, c.db, functionPointer(onBusy), c.hooksAddress()); rc != lib.SQLITE_OK {
		return fmt.Errorf("setting busy handler: %w", c.failure(rc))
	}
	lib.Xsqlite3_progress_handler(c.tls, c.db, progressSteps, functionPointer(onProgress), c.hooksAddress())
	if err := c.configure(opts); err != nil {
		return err
	}
	if err := c.guard(); err != nil {
		return err
	}
	for _, own := range []struct {
		st  **stmt
		sql string
	}{{&c.begin, "BEGIN"}, {&c.beginImmediate, "BEGIN IMMEDIATE"}, {&c.commit, "COMMIT"}, {&c.rollback, "ROLLBACK"}} {
		if *own.st, err = c.prepare(own.sql); err != nil {
			return fmt.Errorf("preparing %s: %w", own.sql, err)
		}
	}
	return nil
}

// configure sets what belongs to the grant.
func (c *conn) configure(opts connOptions) error {
	if opts.queryOnly {
		_, err := c.query("PRAGMA schema_version") // which finds out whether the file can be read
		return errors.Join(err, c.pragma("query_only = 1"))
	}
	// A file that is there keeps its mode, which is part of it, until something is written: a guest may
	// find that the file is not for it and leave it as it is.
	mode, err := c.query("PRAGMA journal_mode")
	if err != nil {
		return err
	}
	pages, err := c.query("PRAGMA page_count")
	if err != nil {
		return err
	}
	if c.late = mode != "wal" && pages != "0"; !c.late {
		if err := c.logAhead(); err != nil {
			return err
		}
	}
	return errors.Join(
		c.pragma("synchronous = "+opts.synchronous),
		c.pragma(fmt.Sprintf("journal_size_limit = %d", journalLimit)),
	)
}

// logAhead makes the file one with a write-ahead log.
func (c *conn) logAhead() error {
	// Asking for WAL fails at once when another process is doing the same.
	for tries := int32(0); ; tries++ {
		err := c.pragma("journal_mode = WAL")
		failed := new(sqliteError)
		switch {
		case err == nil:
		case errors.As(err, &failed) && failed.primary() == lib.SQLITE_BUSY && c.hooks.wait(tries):
			continue
		case errors.As(err, &failed) && failed.primary() == lib.SQLITE_READONLY:
			// It can still be read as it is; writing says that it is read-only.
		default:
			return err
		}
		c.late = false
		return nil
	}
}

// pragma runs one of the host's own.
func (c *conn) pragma(setting string) error {
	_, err := c.query("PRAGMA " + setting)
	return err
}

// query runs one of the host's own statements and returns the first cell of its first row as text.
func (c *conn) query(sql string) (first string, err error) {
	trusted := c.hooks.trusted
	c.hooks.trusted = true
	defer func() { c.hooks.trusted = trusted }()
	st, err := c.prepare(sql)
	if err != nil {
		return "", fmt.Errorf("%s: %w", sql, err)
	}
	defer c.finalize(st)
	rc := lib.Xsqlite3_step(c.tls, st.handle)
	if rc == lib.SQLITE_ROW {
		first = strings.Clone(text(lib.Xsqlite3_column_text(c.tls, st.handle, 0)))
		rc = lib.Xsqlite3_step(c.tls, st.handle)
	}
	for rc == lib.SQLITE_ROW {
		rc = lib.Xsqlite3_step(c.tls, st.handle)
	}
	if rc != lib.SQLITE_DONE {
		return "", fmt.Errorf("%s: %w", sql, c.failure(rc))
	}
	return first, nil
}

// control runs one of the four statements of a transaction.
func (c *conn) control(st *stmt) error {
	c.hooks.trusted = true
	rc := lib.Xsqlite3_step(c.tls, st.handle)
	c.hooks.trusted = false
	if rc == lib.SQLITE_DONE {
		lib.Xsqlite3_reset(c.tls, st.handle)
		return nil
	}
	err := c.failure(rc)
	lib.Xsqlite3_reset(c.tls, st.handle)
	return err
}

// inTransaction reports whether a transaction is open.
func (c *conn) inTransaction() bool {
	return lib.Xsqlite3_get_autocommit(c.tls, c.db) == 0
}

// failure returns the error of a call that answered rc.
func (c *conn) failure(rc int32) error {
	if c.db == 0 {
		return &sqliteError{code: rc, text: text(lib.Xsqlite3_errstr(c.tls, rc))}
	}
	e := &sqliteError{code: lib.Xsqlite3_extended_errcode(c.tls, c.db), text: text(lib.Xsqlite3_errmsg(c.tls, c.db))}
	if e.primary() != rc&0xff { // the handle remembers another one
		e.code, e.text = rc, text(lib.Xsqlite3_errstr(c.tls, rc))
	}
	if e.primary() == lib.SQLITE_CANTOPEN {
		e.system = syscall.Errno(lib.Xsqlite3_system_errno(c.tls, c.db)) //nolint:gosec // as the C library has it
	}
	return e
}

func (c *conn) hooksAddress() uintptr { return uintptr(unsafe.Pointer(c.hooks)) }

// close releases everything; an open transaction is rolled back by SQLite.
func (c *conn) close() error {
	for _, st := range c.cache.byText {
		c.finalize(st)
	}
	c.cache = statements{}
	for _, st := range []*stmt{c.begin, c.beginImmediate, c.commit, c.rollback} {
		c.finalize(st)
	}
	var err error
	if c.db != 0 {
		c.hooks.trusted, c.hooks.ctx = true, nil
		if rc := lib.Xsqlite3_close(c.tls, c.db); rc != lib.SQLITE_OK {
			err = fmt.Errorf("closing: %w", c.failure(rc))
			lib.Xsqlite3_close_v2(c.tls, c.db) // lets go of it when its last statement does
		}
		c.db = 0
	}
	c.arena.close()
	free(c.tls, c.scratch)
	c.scratch = 0
	c.tls.Close()
	return err
}
