package sqlite

import (
	"errors"
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// SQLite writes its log in two calls a page, and brings it into the database file in a read and a write a
// page. The kernel takes as long for a page of 4 KiB that comes alone as for a dozen that come together, so
// between SQLite and its own layer for files (the VFS "unix") there is ours, which gathers what belongs
// together. The files, their format and their locks are SQLite's. What is written has reached the kernel
// before any other connection can learn of it, and before whoever wrote it is told of success: see
// vfslog_linux.go for the log and vfsfill_linux.go for checkpoints.

const (
	vfsName = "alineo"
	// gatherSize is how much is gathered at most, bytes. Of more at once the kernel makes pieces so large
	// that changing one page of them takes as long as writing many.
	gatherSize = 64 << 10
)

// The methods of a file, by SQLite's names.
type (
	closeMethod    = func(tls *libc.TLS, file uintptr) int32
	dataMethod     = func(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32
	truncateMethod = func(tls *libc.TLS, file uintptr, size int64) int32
	syncMethod     = func(tls *libc.TLS, file uintptr, flags int32) int32
	sizeMethod     = func(tls *libc.TLS, file, size uintptr) int32
	controlMethod  = func(tls *libc.TLS, file uintptr, op int32, argument uintptr) int32
	lockMethod     = func(tls *libc.TLS, file uintptr, slot, n, flags int32) int32
	barrierMethod  = func(tls *libc.TLS, file uintptr)
	openMethod     = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32
)

// method returns what C code calls by an address. It is functionPointer the other way round.
func method[T any](address uintptr) T {
	return *(*T)(unsafe.Pointer(&struct{ address uintptr }{address}))
}

// layer is SQLite's own VFS and what ours adds.
type layer struct {
	once    sync.Once
	err     error
	name    uintptr // in C memory
	open    openMethod
	stateAt uintptr // in a file, behind what SQLite's layer keeps there
	zeros   uintptr // gatherSize bytes of C memory

	mu      sync.Mutex
	methods map[methodsKey]uintptr
}

type methodsKey struct {
	own uintptr
	log bool
}

// files is the process's, as SQLite's list of such layers is.
var files layer

// vfsAddress returns the name of the layer that files are opened with, in C memory.
func vfsAddress() (uintptr, error) {
	files.once.Do(func() { files.err = files.register() })
	return files.name, files.err
}

func (l *layer) register() error {
	tls := libc.NewTLS()
	defer tls.Close()
	unix, err := allocateString(tls, "unix") // whatever the process's default is
	if err != nil {
		return err
	}
	defer free(tls, unix)
	base := lib.Xsqlite3_vfs_find(tls, unix)
	if base == 0 {
		return errors.New("SQLite has no layer for files")
	}
	if l.name, err = allocateString(tls, vfsName); err != nil {
		return err
	}
	if l.zeros, err = allocate(tls, gatherSize); err != nil {
		return err
	}
	clear(bytesAt(l.zeros, gatherSize))
	address, err := allocate(tls, int(unsafe.Sizeof(lib.Tsqlite3_vfs{})))
	if err != nil {
		return err
	}
	own := (*lib.Tsqlite3_vfs)(pointer(base))
	l.open, l.methods = method[openMethod](own.FxOpen), map[methodsKey]uintptr{}
	l.stateAt = (uintptr(own.FszOsFile) + 7) &^ 7
	v := (*lib.Tsqlite3_vfs)(pointer(address))
	*v = *own
	v.FszOsFile = int32(l.stateAt + unsafe.Sizeof(fileState{})) //nolint:gosec // some hundred bytes
	v.FzName, v.FpNext, v.FxOpen = l.name, 0, functionPointer(onOpen)
	if rc := lib.Xsqlite3_vfs_register(tls, address, 0); rc != lib.SQLITE_OK {
		return &sqliteError{code: rc, text: "registering the layer for files"}
	}
	// What fsync does beyond fdatasync is to write the time of the change.
	lib.Xmodernc_fdatasync(tls, 1)
	return nil
}

// fileState is what is kept of an open file beside what SQLite's layer keeps. It is in C memory, so it has
// no Go pointers. A file belongs to one connection, and that to one goroutine at a time.
type fileState struct {
	methods uintptr // SQLite's own
	other   uintptr // of a log its database file, and the other way round; 0 for none
	gathered
	tail  logTail // of a log
	fills filling // of a database file
	out   int64   // what SQLite's methods answer
}

func stateOf(file uintptr) *fileState {
	return (*fileState)(pointer(file + files.stateAt))
}

func (s *fileState) own() *lib.Tsqlite3_io_methods {
	return (*lib.Tsqlite3_io_methods)(pointer(s.methods))
}

func (s *fileState) write(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32 {
	return method[dataMethod](s.own().FxWrite)(tls, file, data, n, offset)
}

func (s *fileState) read(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32 {
	return method[dataMethod](s.own().FxRead)(tls, file, data, n, offset)
}

func (s *fileState) size(tls *libc.TLS, file uintptr) (int64, int32) {
	rc := method[sizeMethod](s.own().FxFileSize)(tls, file, uintptr(unsafe.Pointer(&s.out)))
	return s.out, rc
}

// onOpen is xOpen.
func onOpen(tls *libc.TLS, address, name, file uintptr, flags int32, outFlags uintptr) int32 {
	if rc := files.open(tls, address, name, file, flags, outFlags); rc != lib.SQLITE_OK {
		return rc
	}
	log := flags&lib.SQLITE_OPEN_WAL != 0
	if !log && flags&lib.SQLITE_OPEN_MAIN_DB == 0 {
		return lib.SQLITE_OK
	}
	opened := (*lib.Tsqlite3_file)(pointer(file))
	own := opened.FpMethods
	ours, rc := files.methodsFor(tls, methodsKey{own, log})
	if rc != lib.SQLITE_OK {
		_ = method[closeMethod]((*lib.Tsqlite3_io_methods)(pointer(own)).FxClose)(tls, file)
		return rc
	}
	s := stateOf(file)
	*s = fileState{methods: own}
	if log {
		if database := lib.Xsqlite3_database_file_object(tls, name); database != 0 {
			s.other = database
			stateOf(database).other = file
		}
	}
	opened.FpMethods = ours
	return lib.SQLITE_OK
}

// methodsFor returns SQLite's methods with ours in place of some.
func (l *layer) methodsFor(tls *libc.TLS, key methodsKey) (uintptr, int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if address, ok := l.methods[key]; ok {
		return address, lib.SQLITE_OK
	}
	address, err := allocate(tls, int(unsafe.Sizeof(lib.Tsqlite3_io_methods{})))
	if err != nil {
		return 0, lib.SQLITE_NOMEM
	}
	m := (*lib.Tsqlite3_io_methods)(pointer(address))
	*m = *(*lib.Tsqlite3_io_methods)(pointer(key.own))
	m.FxClose, m.FxTruncate, m.FxSync = functionPointer(onClose), functionPointer(onTruncate), functionPointer(onSync)
	if key.log {
		m.FxRead, m.FxWrite, m.FxFileSize = functionPointer(onLogRead), functionPointer(onLogWrite), functionPointer(onLogSize)
	} else {
		m.FxRead, m.FxWrite, m.FxFileControl = functionPointer(onFillRead), functionPointer(onFillWrite), functionPointer(onControl)
		if m.FxShmLock != 0 {
			m.FxShmLock, m.FxShmBarrier = functionPointer(onLock), functionPointer(onBarrier)
		}
	}
	l.methods[key] = address
	return address, lib.SQLITE_OK
}

// onClose is xClose.
func onClose(tls *libc.TLS, file uintptr) int32 {
	s := stateOf(file)
	// Only what no transaction has committed can be left.
	rc := s.flush(tls, file)
	free(tls, s.memory)
	free(tls, s.tail.ahead.memory)
	s.memory, s.tail.ahead.memory = 0, 0
	if s.other != 0 {
		stateOf(s.other).other = 0
	}
	if closed := method[closeMethod](s.own().FxClose)(tls, file); closed != lib.SQLITE_OK {
		return closed
	}
	return rc
}
