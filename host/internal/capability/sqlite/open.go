package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	lib "modernc.org/sqlite/lib"
)

// open opens a connection; the writer makes what is missing, unless it was there before.
func (db *DB) open(ctx context.Context, reader bool) (*conn, error) {
	ends, _ := ctx.Deadline()
	opts := connOptions{
		path: db.path, queryOnly: reader, synchronous: db.synchronous,
		hooks: hooks{done: ctx.Done(), ends: ends, timeout: db.timeout},
	}
	if db.path == Memory {
		return openConn(opts)
	}
	if !reader {
		if err := db.provide(); err != nil {
			return nil, err
		}
	}
	c, err := openConn(opts)
	if err == nil {
		return c, nil
	}
	if !reader {
		db.dropIdle()
	}
	if reader && ctx.Err() == nil {
		if frozen := db.openFrozen(opts); frozen != nil {
			return frozen, nil
		}
		opts.readOnly = true
		if c, err = openConn(opts); err == nil {
			return c, nil
		}
	}
	info, statErr := os.Stat(db.path)
	switch {
	case errors.Is(statErr, fs.ErrNotExist) && db.hadFile():
		db.lost()
		return nil, &openError{sentence: sentenceMoved, err: statErr}
	case statErr != nil:
		return nil, &openError{sentence: "the database file can't be opened: " + cause(statErr), err: statErr}
	case info.IsDir():
		return nil, &openError{sentence: sentenceDirectory, err: fmt.Errorf("%s: %w", db.path, err)}
	case db.unfinished() && cantOpenBeside(err):
		return nil, &openError{sentence: sentenceBeside, err: fmt.Errorf("%s: %w", db.path, err)}
	case !info.Mode().IsRegular():
		return nil, &openError{sentence: sentenceSpecial, err: fmt.Errorf("%s: %w", db.path, err)}
	}
	return nil, fmt.Errorf("opening %s: %w", db.path, err)
}

// provide makes the file, for nobody but its owner, and its folder, when there was none before. A
// file that was there and is gone is not made anew: what was written to it would seem never to have
// been.
func (db *DB) provide() error {
	db.trouble.Lock()
	was := db.file
	db.trouble.Unlock()
	if was != nil {
		is, err := os.Stat(db.path)
		if errors.Is(err, fs.ErrNotExist) {
			return &openError{sentence: sentenceMoved, err: err}
		}
		if err == nil && !os.SameFile(was, is) {
			db.logger.Warn("database file was replaced while it was open", "path", db.path)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(db.path), 0o700); err != nil {
		return &openError{sentence: "the folder of the database file can't be made: " + cause(err), err: err}
	}
	if err := createFile(db.path); err != nil {
		return &openError{sentence: "the database file can't be made in its folder: " + cause(err), err: err}
	}
	return nil
}

// remember keeps which file the path led to.
func (db *DB) remember() {
	if db.path == Memory {
		return
	}
	if info, err := os.Stat(db.path); err == nil {
		db.trouble.Lock()
		db.file = info
		db.trouble.Unlock()
	}
}

func (db *DB) hadFile() bool {
	db.trouble.Lock()
	defer db.trouble.Unlock()
	return db.file != nil
}

// createFile makes an empty file that only its owner may read and write, when there is none. SQLite
// gives the same mode to the files that it puts beside it.
func createFile(path string) error {
	const mostLinks = 40
	for range mostLinks { // one that leads to where no file is yet
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // SQLite says what is wrong with it
	}
	// The file must not be opened under its own name: closing it would end every lock that this
	// process has on it by then.
	temp, err := os.CreateTemp(filepath.Dir(path), ".alineo-*")
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		failed.Path = path
	}
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	if err := temp.Close(); err != nil {
		return err
	}
	err = os.Link(temp.Name(), path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		// A file system without links.
		var file *os.File
		if file, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err == nil {
			err = file.Close()
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// openFrozen opens a file that can't be opened otherwise because nothing can be written beside it,
// as one that does not change; nil when that can't be done either. What it reads is good as long as
// frozen says so.
func (db *DB) openFrozen(opts connOptions) *conn {
	info, err := os.Stat(db.path)
	if err != nil || !info.Mode().IsRegular() || db.unfinished() {
		return nil
	}
	opts.immutable = true
	opts.path = (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: db.path}).EscapedPath(), RawQuery: "immutable=1"}).String()
	c, err := openConn(opts)
	if err != nil {
		return nil
	}
	c.frozen = info
	return c
}

// cantOpenBeside tells whether SQLite found the file, and could not make the one with the log's index.
func cantOpenBeside(err error) bool {
	failed, ok := errors.AsType[*sqliteError](err)
	return ok && failed.primary() == lib.SQLITE_CANTOPEN && failed.system == syscall.ENOENT
}

// dropIdle closes the readers that nobody uses: SQLite lets all connections of a process share what
// one of them could open only for reading.
func (db *DB) dropIdle() {
	for range cap(db.readers) {
		select {
		case s := <-db.readers:
			db.disconnect(s)
			db.readers <- s
		default:
			return
		}
	}
}

// unfinished tells whether beside the file there is something that belongs to it.
func (db *DB) unfinished() bool {
	for _, beside := range []string{"-wal", "-journal"} {
		if info, err := os.Stat(db.path + beside); err == nil && info.Size() > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// unchanged tells whether a file is still as it was when a connection to it was opened that takes
// this for granted.
func (db *DB) unchanged(was os.FileInfo) bool {
	is, err := os.Stat(db.path)
	return err == nil && os.SameFile(was, is) && was.Size() == is.Size() && was.ModTime().Equal(is.ModTime()) && !db.unfinished()
}

// moved asks now and then whether a connection's file is still where it was.
func (s *slot) moved(now time.Time) bool {
	if now.Sub(s.checked) < movedCheck {
		return false
	}
	s.checked = now
	return s.conn.moved()
}

// readableError is a failure to open for writing of what can be read.
type readableError struct{ err error }

func (e *readableError) Error() string { return e.err.Error() }

// errMoved is for the operator; the log has the path.
var errMoved = errors.New(sentenceMoved)

// report tells the operator about a failure to open, once per change.
func (db *DB) report(err error) {
	if err == nil && !db.troubled.Load() {
		return
	}
	db.trouble.Lock()
	defer db.trouble.Unlock()
	now := ""
	if err != nil {
		now = err.Error()
	}
	if now == db.last {
		return
	}
	if _, readable := errors.AsType[*readableError](err); readable {
		db.logger.Warn("database can only be read", "path", db.path, "err", err)
	} else if err != nil {
		db.logger.Error("database can't be opened; every program tries again", "path", db.path, "err", err)
	} else {
		db.logger.Info("database is open again", "path", db.path)
	}
	db.last = now
	db.troubled.Store(err != nil)
}

// lost is called when the file was moved or removed: all connections are of another one, or of none.
func (db *DB) lost() {
	db.epoch.Add(1)
	db.ready.Store(false)
}
