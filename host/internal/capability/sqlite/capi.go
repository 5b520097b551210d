package sqlite

import (
	"fmt"
	"syscall"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	lib "modernc.org/sqlite/lib"
)

// minVersion is the first SQLite whose WAL mode does not lose a checkpoint to a race between a
// commit and a log that starts over.
const minVersion = 3_051_003

// checkVersion refuses an SQLite that is too old, by its number as sqlite3_libversion_number has it.
func checkVersion(number int) error {
	if number < minVersion {
		return fmt.Errorf("this program was built with SQLite %s, whose WAL mode can damage a file; it needs %s or later",
			versionText(number), versionText(minVersion))
	}
	return nil
}

func versionText(number int) string {
	return fmt.Sprintf("%d.%d.%d", number/1_000_000, number/1000%1000, number%1000)
}

// libraryVersion returns the number of the SQLite that is linked.
func libraryVersion() int { return lib.SQLITE_VERSION_NUMBER }

// pointer turns an address that C code holds into a pointer. The address is of memory of libc, or of
// a Go object that something else keeps alive: Go's heap does not move.
func pointer(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// bytesAt views n bytes of C memory.
func bytesAt(address uintptr, n int) []byte {
	return unsafe.Slice((*byte)(pointer(address)), n)
}

// functionPointer returns what modernc's C code calls a function by. f must be declared as a
// function, not a closure.
func functionPointer[T any](f T) uintptr {
	return *(*uintptr)(unsafe.Pointer(&struct{ f T }{f}))
}

// allocate returns n bytes of C memory.
func allocate(tls *libc.TLS, n int) (uintptr, error) {
	if address := libc.Xmalloc(tls, types.Size_t(n)); address != 0 {
		return address, nil
	}
	return 0, &sqliteError{code: lib.SQLITE_NOMEM, text: "out of memory"}
}

// allocateString returns a copy of s in C memory that ends in a NUL.
func allocateString(tls *libc.TLS, s string) (uintptr, error) {
	address, err := allocate(tls, len(s)+1)
	if err != nil {
		return 0, err
	}
	b := bytesAt(address, len(s)+1)
	copy(b, s)
	b[len(s)] = 0
	return address, nil
}

func free(tls *libc.TLS, address uintptr) {
	if address != 0 {
		libc.Xfree(tls, address)
	}
}

// sqliteError is what SQLite answered.
type sqliteError struct {
	code   int32 // extended result code
	text   string
	system syscall.Errno // why a file can't be opened, 0 when that is not known
}

// Error returns SQLite's text and code.
func (e *sqliteError) Error() string { return fmt.Sprintf("%s (SQLite %d)", e.text, e.code) }

// primary returns the code without its extension.
func (e *sqliteError) primary() int32 { return e.code & 0xff }
