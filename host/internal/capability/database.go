package capability

import (
	"context"

	"github.com/alineo-labs/alineo-host/abi"
)

// Database is a granted database. It is safe for concurrent use.
type Database interface {
	// Exec runs a program in one transaction: all of it or nothing. Strings and bytes of the program
	// are only used until it returns. Handles that the program names are call's, which may be nil, and
	// its own are put there. The error is for the guest to see: it names no path and no DSN.
	Exec(ctx context.Context, program *abi.SQLExec, call *Call) (*abi.SQLExecReply, *abi.Error)
	// Info says what an operator wants to know; it creates nothing.
	Info(ctx context.Context) (DatabaseInfo, error)
	// Close waits for running programs and closes; programs that come later fail.
	Close() error
}

// DatabaseInfo describes a granted database to the operator. It is not for guests.
type DatabaseInfo struct {
	Driver      string // "sqlite" or "postgres"
	Version     string // of the database engine
	Path        string // absolute path of the file, or ":memory:"; host:port/database of a server
	Exists      bool   // false: it is made by the first program
	JournalMode string // as the engine reports it, empty while it does not exist
	Synchronous string // "normal", "full" or "extra"; synchronous_commit of a server
	Role        string // as which a server is used
	Transport   string // how a server is reached: "TLS 1.3", "no TLS", "a local socket"
	Pooled      bool   // a pooler stands between, which lends a process for each transaction
}
