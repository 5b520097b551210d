package sqlite

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	lib "modernc.org/sqlite/lib"
)

// The log's index, the file -shm, as SQLite's wal.c has it, in the machine's byte order: two copies of a
// header, of which one is good, and then how much of the log was brought into the database file.
const (
	indexVersion   = 3007000
	indexHeader    = 48 // bytes of a copy
	indexMaxFrame  = 16 // offset in it: frames that are committed
	indexBackfill  = 2 * indexHeader
	indexSizeLeast = indexBackfill + 4
)

// logRemoved tells whether the write-ahead log of a file was removed by somebody who is not SQLite, while
// commits were in it alone. SQLite makes the log before its index and removes it after that, so an index
// without a log is of one that was taken away; the index says what was in it. Where both are gone, nothing
// tells.
func logRemoved(path string) bool {
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	index, err := os.Open(path + "-shm")
	if err != nil {
		return false
	}
	defer func() { _ = index.Close() }()
	head := make([]byte, indexSizeLeast)
	if _, err := io.ReadFull(index, head); err != nil || binary.NativeEndian.Uint32(head) != indexVersion {
		return false
	}
	committed, done := binary.NativeEndian.Uint32(head[indexMaxFrame:]), binary.NativeEndian.Uint32(head[indexBackfill:])
	if committed <= done {
		return false
	}
	// Another process may have made the log, or have closed the database, in between.
	_, logErr := os.Stat(path + "-wal")
	_, indexErr := os.Stat(path + "-shm")
	return errors.Is(logErr, fs.ErrNotExist) && indexErr == nil
}

// movedCheck is how often a connection asks whether its files are still where they were. It takes some
// microseconds; whoever removes the file loses what was committed before, whenever that was.
const movedCheck = 50 * time.Millisecond

// moved reports whether the file, or the log beside it, was renamed or removed since it was opened. It
// looks now and then, and returns the sentence that says which. What was committed to a log that was
// removed is not lost yet: SQLite brings it into the file when the last connection closes.
func (c *conn) moved() string {
	if c.memory || c.frozen != nil {
		return ""
	}
	now := time.Now()
	if c.log != nil && now.Sub(c.checked) < movedCheck {
		return ""
	}
	is, err := os.Stat(c.path + "-wal")
	if c.log == nil && err == nil {
		c.log = is // it is made by the first transaction
	}
	if now.Sub(c.checked) < movedCheck {
		return ""
	}
	c.checked = now
	*(*int32)(pointer(c.scratch)) = 0
	lib.Xsqlite3_file_control(c.tls, c.db, 0, lib.SQLITE_FCNTL_HAS_MOVED, c.scratch)
	switch {
	case *(*int32)(pointer(c.scratch)) != 0:
		return sentenceMoved
	case c.log == nil, err != nil && !errors.Is(err, fs.ErrNotExist):
		return "" // there is none, or it can't be told
	case err != nil || !os.SameFile(c.log, is):
		return sentenceLogMoved
	}
	return ""
}

// gone is lost for what moved has found. It returns what is the matter with the database from then on,
// nil when the next program finds it well.
func (db *DB) gone(sentence string) error {
	db.lost()
	if sentence != sentenceLogMoved {
		return errMoved
	}
	db.logger.Warn("the log beside a database file was moved or removed while it was open; what was committed to it is brought into the file", "path", db.path)
	return nil
}
