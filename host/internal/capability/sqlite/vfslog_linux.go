package sqlite

import (
	"encoding/binary"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// A log is a header and then frames, each a header of 24 bytes and a page, and whoever looks for a
// transaction goes by the page count in the header of its last frame. SQLite writes a transaction's frames
// one behind the other. They are gathered until the last one has come, and then written before that write
// returns; so a failure is a failure of the write, as before. Everything else is written as it comes:
// a log's own header, a page of the running transaction that is replaced, and the frames' headers when that
// changed their checksums.

const (
	frameHeader = 24
	frameCommit = 4 // offset of the page count, 0 in all but the last frame of a transaction
	leastPage   = 512
	writeSlot   = 0 // of the index: the lock of who writes to the log
)

// logTail is where a log stands.
type logTail struct {
	written int64 // the end of what the running transaction has put into it
	page    bool  // a frame's header was gathered last
	commit  bool  // it was the last of its transaction
	length  int64 // that the file has at least, as far as is known
	ahead   lookahead
}

// onLogWrite is xWrite of a log.
func onLogWrite(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32 {
	s := stateOf(file)
	t := &s.tail
	if s.failed != lib.SQLITE_OK {
		return s.failed
	}
	begins := n == frameHeader && !t.page && offset >= t.written
	goesOn := t.page && n >= leastPage && offset == s.end()
	t.page = begins
	t.written = max(t.written, offset+int64(n))
	if !begins && !goesOn || n > gatherSize-frameHeader {
		t.page = false
		return s.through(tls, file, data, n, offset)
	}
	if !s.fits(n, offset) {
		if rc := s.flush(tls, file); rc != lib.SQLITE_OK {
			return rc
		}
	}
	if !s.add(tls, data, n, offset) {
		t.page = false
		return s.through(tls, file, data, n, offset)
	}
	if begins {
		t.commit = binary.BigEndian.Uint32(bytesAt(data+frameCommit, 4)) != 0
		return lib.SQLITE_OK
	}
	if !t.commit {
		return lib.SQLITE_OK
	}
	rc := s.flush(tls, file)
	if rc == lib.SQLITE_OK {
		s.lengthen(tls, file, offset+int64(n))
	}
	return rc
}

// lengthen makes the log longer than what is in it. A commit that has to confirm the file's new length as
// well takes twice as long, and so did all of them until the log began anew. SQLite takes zeros for what
// they are, no frames.
func (s *fileState) lengthen(tls *libc.TLS, file uintptr, end int64) {
	t := &s.tail
	if end <= t.length {
		return
	}
	size, rc := s.size(tls, file)
	if rc != lib.SQLITE_OK {
		return
	}
	t.length = size
	if size > end {
		return
	}
	to := end - end%gatherSize + min(max(gatherSize, size-size%gatherSize), 4*gatherSize)
	for t.length < to {
		n := gatherSize - t.length%gatherSize
		if s.write(tls, file, files.zeros, int32(n), t.length) != lib.SQLITE_OK { //nolint:gosec // gatherSize at most
			return // there is no room; what was committed has its own
		}
		t.length += n
	}
}

// through writes at once, after what is gathered.
func (s *fileState) through(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32 {
	if rc := s.flush(tls, file); rc != lib.SQLITE_OK {
		return rc
	}
	return s.write(tls, file, data, n, offset)
}

// onLogRead is xRead of a log.
func onLogRead(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32 {
	s := stateOf(file)
	if rc := s.flush(tls, file); rc != lib.SQLITE_OK {
		return rc
	}
	if s.other != 0 && stateOf(s.other).fills.on && s.lookUp(tls, file, data, n, offset) {
		return lib.SQLITE_OK
	}
	return s.read(tls, file, data, n, offset)
}

// onLogSize is xFileSize of a log.
func onLogSize(tls *libc.TLS, file, size uintptr) int32 {
	s := stateOf(file)
	if rc := s.flush(tls, file); rc != lib.SQLITE_OK {
		return rc
	}
	return method[sizeMethod](s.own().FxFileSize)(tls, file, size)
}

// onLock is xShmLock, of the database file: its log's index is locked through it. Between the two locks of
// who writes, all that is written to the log is one transaction's.
func onLock(tls *libc.TLS, file uintptr, slot, n, flags int32) int32 {
	s := stateOf(file)
	rc := method[lockMethod](s.own().FxShmLock)(tls, file, slot, n, flags)
	if rc == lib.SQLITE_OK && slot == writeSlot && flags&lib.SQLITE_SHM_EXCLUSIVE != 0 && s.other != 0 {
		// What is left when a transaction ends was not committed.
		log := stateOf(s.other)
		log.length, log.failed = 0, lib.SQLITE_OK
		log.tail.written, log.tail.page, log.tail.commit = 0, false, false
	}
	return rc
}

// onBarrier is xShmBarrier, which comes before others are shown what a transaction has written.
func onBarrier(tls *libc.TLS, file uintptr) {
	s := stateOf(file)
	if s.other != 0 {
		_ = stateOf(s.other).flush(tls, s.other) // of a transaction that was committed nothing is left
	}
	method[barrierMethod](s.own().FxShmBarrier)(tls, file)
}

// lookahead is what was read of a log beyond what was asked for. While a checkpoint runs nobody writes over
// what it brings into the database file.
type lookahead struct {
	memory uintptr // gatherSize bytes, 0 before they are needed
	start  int64
	length int64
	last   int64 // the end of what was asked for last
}

// forget is for the begin and the end of a checkpoint.
func (a *lookahead) forget() { a.length, a.last = 0, -1 }

// lookUp reads what was read ahead. When pages are asked for one behind the other, it reads ahead.
func (s *fileState) lookUp(tls *libc.TLS, file, data uintptr, n int32, offset int64) bool {
	a := &s.tail.ahead
	next := offset == a.last+frameHeader
	a.last = offset + int64(n)
	if offset < a.start || a.last > a.start+a.length {
		if !next || !s.lookAhead(tls, file, n, offset) {
			return false
		}
	}
	at := a.memory + uintptr(offset-a.start) //nolint:gosec // not before start
	copy(bytesAt(data, int(n)), bytesAt(at, int(n)))
	return true
}

func (s *fileState) lookAhead(tls *libc.TLS, file uintptr, n int32, offset int64) bool {
	a := &s.tail.ahead
	a.length = 0
	if a.memory == 0 {
		if a.memory = libc.Xmalloc(tls, gatherSize); a.memory == 0 {
			return false
		}
	}
	size, rc := s.size(tls, file)
	if rc != lib.SQLITE_OK {
		return false
	}
	length := min(gatherSize, size-offset)
	if length < int64(n) || s.read(tls, file, a.memory, int32(length), offset) != lib.SQLITE_OK { //nolint:gosec // gatherSize at most
		return false
	}
	a.start, a.length = offset, length
	return true
}
