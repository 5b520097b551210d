package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	lib "modernc.org/sqlite/lib"

	"github.com/alineo-labs/alineo-host/abi"
)

// Sentences for what an operator can do something about. They go to guests too, so they name no path.
const (
	sentenceFull      = "the disk is full, or the database reached its largest size"
	sentenceReadOnly  = "the database file is read-only"
	sentenceFolder    = "the folder of the database file is read-only"
	sentenceBeside    = "the database file can't be read: what was written last is in the log beside it, which needs a folder that can be written"
	sentenceMoved     = "the database file was moved or removed while it was open; put it back, or start the host again to begin with a new one"
	sentenceLogMoved  = "the log beside the database file (-wal) was moved or removed while it was open; what was committed to it is brought into the file"
	sentenceNoLog     = "the log beside the database file (-wal) was removed, and the last commits were in it alone; put it back, or remove what is left of it (-shm) to go on without them"
	sentenceChanged   = "the database file can only be read, and was changed while it was; read again"
	sentenceBusy      = "another process is writing to the database and did not finish in time"
	sentenceCorrupt   = "the database file is damaged; restore it from a copy, or save what can be read with sqlite3's .recover"
	sentenceNoDB      = "the file is not an SQLite database"
	sentenceDirectory = "a folder is in place of the database file"
	sentenceSpecial   = "something that is neither a file nor a folder is in place of the database file"
	sentenceLock      = "the file system can't lock the database file; an SQLite database belongs on a local disk, not on a network file system"
	sentenceCantOpen  = "the database file can't be opened; the host must be able to read and write it and its folder"
	sentenceMemory    = "SQLite ran out of memory"
	sentenceClosed    = "the database is closed"
)

func newError(code abi.Code, message string) *abi.Error {
	return &abi.Error{Code: code, Message: message, Retryable: code == abi.CodeUnavailable}
}

// translate gives an error of SQLite the form that guests know. Guests never see a path: SQLite's own
// texts have none, and errors of other origin become one sentence.
func translate(err error) *abi.Error {
	if known, ok := errors.AsType[*openError](err); ok {
		return newError(abi.CodeUnavailable, known.sentence)
	}
	var e *sqliteError
	if !errors.As(err, &e) {
		return newError(abi.CodeInternal, "the database failed")
	}
	switch e.code {
	case lib.SQLITE_CONSTRAINT_NOTNULL, lib.SQLITE_CONSTRAINT_CHECK, lib.SQLITE_CONSTRAINT_DATATYPE:
		return newError(abi.CodeInvalid, e.text)
	case lib.SQLITE_READONLY_DBMOVED:
		return newError(abi.CodeUnavailable, sentenceMoved)
	case lib.SQLITE_IOERR_LOCK, lib.SQLITE_IOERR_RDLOCK, lib.SQLITE_IOERR_UNLOCK, lib.SQLITE_IOERR_CHECKRESERVEDLOCK, lib.SQLITE_IOERR_SHMLOCK:
		return newError(abi.CodeUnavailable, sentenceLock)
	case lib.SQLITE_CANTOPEN_ISDIR:
		return newError(abi.CodeUnavailable, sentenceDirectory)
	case lib.SQLITE_READONLY_DIRECTORY, lib.SQLITE_READONLY_CANTINIT:
		return newError(abi.CodeUnavailable, sentenceFolder)
	case lib.SQLITE_IOERR_SHMSIZE:
		return newError(abi.CodeUnavailable, sentenceFull) // there is no room for the log's index
	case lib.SQLITE_IOERR_NOMEM:
		return newError(abi.CodeResourceExhausted, sentenceMemory)
	}
	switch e.primary() {
	case lib.SQLITE_CONSTRAINT:
		return newError(abi.CodeConflict, e.text)
	case lib.SQLITE_ERROR, lib.SQLITE_MISMATCH, lib.SQLITE_RANGE:
		return newError(abi.CodeInvalid, e.text)
	case lib.SQLITE_TOOBIG:
		return newError(abi.CodeInvalid, "a value, a row or a statement is too large: "+e.text)
	case lib.SQLITE_AUTH, lib.SQLITE_PERM:
		return newError(abi.CodeDenied, e.text)
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL:
		return newError(abi.CodeUnavailable, sentenceBusy)
	case lib.SQLITE_SCHEMA:
		return newError(abi.CodeUnavailable, "the database's schema changed meanwhile")
	case lib.SQLITE_INTERRUPT:
		return newError(abi.CodeDeadline, "interrupted")
	case lib.SQLITE_FULL:
		return newError(abi.CodeUnavailable, sentenceFull)
	case lib.SQLITE_READONLY:
		return newError(abi.CodeUnavailable, sentenceReadOnly)
	case lib.SQLITE_CANTOPEN:
		return newError(abi.CodeUnavailable, cantOpen(e.system))
	case lib.SQLITE_IOERR:
		return newError(abi.CodeUnavailable, "reading or writing the database file failed ("+strconv.Itoa(int(e.code))+")")
	case lib.SQLITE_CORRUPT:
		return newError(abi.CodeInternal, sentenceCorrupt)
	case lib.SQLITE_NOTADB:
		return newError(abi.CodeInvalid, sentenceNoDB)
	case lib.SQLITE_NOMEM:
		return newError(abi.CodeResourceExhausted, sentenceMemory)
	default:
		return newError(abi.CodeInternal, e.text)
	}
}

// cantOpen says why a file can't be opened, as far as the system told.
func cantOpen(errno syscall.Errno) string {
	switch errno { //nolint:exhaustive // of the others nothing better can be said than the system does
	case syscall.EMFILE, syscall.ENFILE:
		return "the database file can't be opened: too many files are open"
	case syscall.ENOSPC, syscall.EDQUOT:
		return sentenceFull
	}
	if why := reason(errno); why != "" {
		return "the database file can't be opened: " + why
	}
	return sentenceCantOpen
}

// reason puts what the system has against a path into words, without the path.
func reason(errno syscall.Errno) string {
	switch errno { //nolint:exhaustive // of the others nothing better can be said than the system does
	case syscall.EACCES, syscall.EPERM:
		return fmt.Sprintf("permission denied: user %d must be able to read and write it and its folder", os.Geteuid())
	case syscall.EROFS:
		return "its file system is read-only"
	case syscall.ELOOP:
		return "symbolic links in its path go round in a circle"
	case syscall.ENAMETOOLONG:
		return "a name in its path is too long"
	case syscall.ENOTDIR:
		return "a file is in place of a folder in its path (not a directory)"
	case syscall.ENOENT:
		return "its folder does not exist, or it is a symbolic link that leads nowhere"
	case syscall.ENOSPC, syscall.EDQUOT:
		return "the disk is full"
	}
	return ""
}

// cause is reason for an error of package os.
func cause(err error) string {
	errno, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		return "unknown reason"
	}
	if why := reason(errno); why != "" {
		return why
	}
	return errno.Error()
}

// breaks reports whether the connection that an error came from is not to be used again.
func breaks(err error) bool {
	var e *sqliteError
	if !errors.As(err, &e) {
		return false
	}
	switch e.primary() {
	case lib.SQLITE_IOERR, lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY,
		lib.SQLITE_PROTOCOL, lib.SQLITE_NOMEM, lib.SQLITE_INTERNAL, lib.SQLITE_MISUSE:
		return true
	default:
		return false
	}
}

// translateCommit is translate for COMMIT. When SQLite has ended the transaction by itself, only
// those errors tell what is in the file that come before its last write: after a failed sync, the
// commit may be there when the file is opened again.
func translateCommit(err error, stillOpen bool) *abi.Error {
	failure := translate(err)
	if stillOpen {
		return failure
	}
	if e, ok := errors.AsType[*sqliteError](err); ok {
		switch e.primary() {
		case lib.SQLITE_FULL, lib.SQLITE_READONLY, lib.SQLITE_CONSTRAINT:
			return failure
		}
	}
	return newError(abi.CodeUnknownOutcome, "the commit failed and may or may not be in the file: "+failure.Message)
}

// ended says why a context ended. Nothing was done, so the same request may be made again.
func ended(ctx context.Context, when string) *abi.Error {
	why := "the deadline passed "
	if errors.Is(ctx.Err(), context.Canceled) {
		why = "the call was cancelled "
	}
	return &abi.Error{Code: abi.CodeDeadline, Message: why + when + "; nothing was done", Retryable: true}
}

// at adds the place to an error.
func at(failure *abi.Error, step, row int) *abi.Error {
	if failure.Details == nil {
		failure.Details = make(map[string]string, 2)
	}
	failure.Details[abi.DetailStep] = strconv.Itoa(step)
	if row >= 0 {
		failure.Details[abi.DetailRow] = strconv.Itoa(row)
	}
	return failure
}

// openError is a file that can't be opened, for a reason that was found outside of SQLite.
type openError struct {
	sentence string // for anyone
	err      error  // for the operator, with the path
}

func (e *openError) Error() string { return e.sentence + ": " + e.err.Error() }
func (e *openError) Unwrap() error { return e.err }
