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

	lib "modernc.org/sqlite/lib"
)

// open opens a connection; the writer makes what is missing, unless it was there before.
func (db *DB) open(ctx context.Context, reader bool) (*conn, error) {
	ends, _ := ctx.Deadline()
	opts := connOptions{
		path: db.path, queryOnly: reader, synchronous: db.synchronous,
		hooks: hooks{ctx: ctx, ends: ends, timeout: db.timeout},
	}
	if db.path == Memory {
		return openConn(opts)
	}
	if !reader {
		if err := db.provide(); err != nil {
			return nil, err
		}
	}
	if logRemoved(db.path) {
		return nil, &openError{sentence: sentenceNoLog, err: errors.New(db.path)}
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
	case errors.Is(statErr, fs.ErrNotExist) && db.hadFile() != nil:
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
	if was := db.hadFile(); was != nil {
		is, err := os.Stat(db.path)
		if errors.Is(err, fs.ErrNotExist) {
			return &openError{sentence: sentenceMoved, err: err}
		}
		if err == nil && !os.SameFile(was, is) {
			return db.replaced()
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

// beside are the files that SQLite keeps beside a file in WAL mode.
var beside = [...]string{"-wal", "-shm"}

// remember keeps which file the path led to, and which were beside it.
func (db *DB) remember() {
	if db.path == Memory {
		return
	}
	info, err := os.Stat(db.path)
	if err != nil {
		return
	}
	var others [len(beside)]os.FileInfo
	for i, suffix := range beside {
		others[i], _ = os.Stat(db.path + suffix)
	}
	db.trouble.Lock()
	defer db.trouble.Unlock()
	db.file, db.beside = info, others
}

// replaced makes way for another file: the log of the one before lies beside it, and SQLite would take
// it for the new one's. What was committed to it last may be in it alone, so it is kept.
func (db *DB) replaced() error {
	db.trouble.Lock()
	others := db.beside
	db.trouble.Unlock()
	kept := ""
	for i, suffix := range beside {
		is, err := os.Stat(db.path + suffix)
		if err != nil || others[i] == nil || !os.SameFile(others[i], is) {
			continue
		}
		kept = db.path + ".replaced"
		if err := os.Rename(db.path+suffix, kept+suffix); err != nil {
			return &openError{sentence: "the database file was replaced, and the log of the one before can't be put aside: " + cause(err), err: err}
		}
	}
	db.logger.Warn("database file was replaced while it was open", "path", db.path, "log_of_the_one_before", kept)
	return nil
}

// hadFile returns which file the path led to when it was opened last, nil when it was not yet.
func (db *DB) hadFile() os.FileInfo {
	db.trouble.Lock()
	defer db.trouble.Unlock()
	return db.file
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
	for _, suffix := range []string{"-wal", "-journal"} {
		if info, err := os.Stat(db.path + suffix); err == nil && info.Size() > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
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

// lost is called when the file was moved, removed or damaged: what is open is of another file than what
// the path may lead to next. The lender's own connection is closed by the lender.
func (db *DB) lost() {
	db.epoch.Add(1)
	db.ready.Store(false)
	db.dropIdle()
}

// settled reports whether every connection to an earlier file is closed. Before, none may be opened
// under the same name: SQLite would take the log that is still beside the file for the new one's.
func (db *DB) settled() bool {
	db.trouble.Lock()
	defer db.trouble.Unlock()
	if db.alive == 0 {
		db.aliveOf = db.epoch.Load()
	}
	return db.aliveOf == db.epoch.Load()
}

// count keeps how many connections are open.
func (db *DB) count(more int) {
	db.trouble.Lock()
	defer db.trouble.Unlock()
	db.alive += more
}
