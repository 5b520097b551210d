package sqlite

import (
	"syscall"
	"time"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// A checkpoint brings pages from the log into the database file, in the order of their numbers. Until it says
// how far it has come, everybody reads those pages from the log, so that pages that the file did not have
// before may be gathered. Their place is made first: a disk that is full is found out before anything is
// gathered, and a page that can't be written is then a disk that fails. Pages that the file had are written
// as they come.

// filling is a checkpoint that runs.
type filling struct {
	on       bool
	from, to int64 // what was added to the file for it
}

// onControl is xFileControl of a database file.
func onControl(tls *libc.TLS, file uintptr, op int32, argument uintptr) int32 {
	s := stateOf(file)
	switch op {
	case lib.SQLITE_FCNTL_CKPT_START:
		s.fills, s.failed = filling{on: true}, lib.SQLITE_OK
		s.forgetLog()
	case lib.SQLITE_FCNTL_SIZE_HINT:
		if s.fills.on {
			s.makePlace(tls, file, *(*int64)(pointer(argument)))
		}
	case lib.SQLITE_FCNTL_CKPT_DONE:
		s.settle(tls, file)
		s.fills = filling{}
		s.forgetLog()
	}
	return method[controlMethod](s.own().FxFileControl)(tls, file, op, argument)
}

func (s *fileState) forgetLog() {
	if s.other != 0 {
		stateOf(s.other).tail.ahead.forget()
	}
}

// makePlace lets the file grow to a size. What can't be had is written as it comes.
func (s *fileState) makePlace(tls *libc.TLS, file uintptr, size int64) {
	has, rc := s.size(tls, file)
	if rc != lib.SQLITE_OK || size-has < gatherSize {
		return
	}
	fd := int((*lib.TunixFile)(pointer(file)).Fh)
	if syscall.Fallocate(fd, 0, has, size-has) == nil {
		s.fills.from, s.fills.to = has, size
	}
}

// settle writes what is left when a checkpoint is done. SQLite does not ask whether that went well before it
// tells everybody to read the file, so this does not return before it did: it waits, as for a disk that does
// not answer.
func (s *fileState) settle(tls *libc.TLS, file uintptr) {
	const longest = time.Second
	for wait := time.Millisecond; s.failed == lib.SQLITE_OK && s.length > 0; wait = min(2*wait, longest) {
		if s.write(tls, file, s.memory, int32(s.length), s.start) == lib.SQLITE_OK { //nolint:gosec // gatherSize at most
			s.length = 0
			return
		}
		time.Sleep(wait)
	}
	s.length, s.failed = 0, lib.SQLITE_OK
}

// onFillWrite is xWrite of a database file.
func onFillWrite(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32 {
	s := stateOf(file)
	if !s.fills.on || offset < s.fills.from || offset+int64(n) > s.fills.to {
		return s.through(tls, file, data, n, offset)
	}
	if !s.fits(n, offset) {
		if rc := s.flush(tls, file); rc != lib.SQLITE_OK {
			return rc
		}
	}
	if !s.add(tls, data, n, offset) {
		return s.through(tls, file, data, n, offset)
	}
	if s.end()%gatherSize == 0 {
		return s.flush(tls, file)
	}
	return lib.SQLITE_OK
}

// onFillRead is xRead of a database file.
func onFillRead(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32 {
	s := stateOf(file)
	if rc := s.flush(tls, file); rc != lib.SQLITE_OK {
		return rc
	}
	return s.read(tls, file, data, n, offset)
}
