package sqlite

import (
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// gathered is what is to be written to a file in one piece.
type gathered struct {
	memory uintptr // gatherSize bytes, 0 before they are needed
	start  int64   // where in the file it belongs
	length int64
	failed int32 // why some of it was not written; nothing is taken until that is cleared
}

// end is where what follows would begin, -1 when nothing is gathered.
func (g *gathered) end() int64 {
	if g.length == 0 {
		return -1
	}
	return g.start + g.length
}

// fits says whether more can be added at an offset.
func (g *gathered) fits(n int32, offset int64) bool {
	return (g.length == 0 || offset == g.end()) && g.length+int64(n) <= gatherSize
}

// add takes what fits. It reports whether there is memory for it.
func (g *gathered) add(tls *libc.TLS, data uintptr, n int32, offset int64) bool {
	if g.memory == 0 {
		if g.memory = libc.Xmalloc(tls, gatherSize); g.memory == 0 {
			return false
		}
	}
	if g.length == 0 {
		g.start = offset
	}
	copy(bytesAt(g.memory+uintptr(g.length), int(n)), bytesAt(data, int(n))) //nolint:gosec // not negative
	g.length += int64(n)
	return true
}

// flush writes what is gathered. What can't be written is dropped, and the file takes nothing until somebody
// has cleared failed.
func (s *fileState) flush(tls *libc.TLS, file uintptr) int32 {
	if s.length > 0 {
		n := s.length
		s.length = 0
		if rc := s.write(tls, file, s.memory, int32(n), s.start); rc != lib.SQLITE_OK {
			s.failed = rc
		}
	}
	return s.failed
}

// onTruncate is xTruncate.
func onTruncate(tls *libc.TLS, file uintptr, size int64) int32 {
	s := stateOf(file)
	if rc := s.flush(tls, file); rc != lib.SQLITE_OK {
		return rc
	}
	s.tail.length = 0
	return method[truncateMethod](s.own().FxTruncate)(tls, file, size)
}

// onSync is xSync.
func onSync(tls *libc.TLS, file uintptr, flags int32) int32 {
	s := stateOf(file)
	if rc := s.flush(tls, file); rc != lib.SQLITE_OK {
		return rc
	}
	return method[syncMethod](s.own().FxSync)(tls, file, flags)
}
