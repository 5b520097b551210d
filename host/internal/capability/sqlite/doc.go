// Package sqlite is the granted database that is an SQLite file.
//
//	db, err := sqlite.Open(sqlite.Options{Path: "./.alineo/ledger.db"})
//	…
//	defer db.Close()
//	reply, failure := db.Exec(ctx, &abi.SQLExec{Steps: []abi.SQLStep{
//		{SQL: "CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL)"},
//		{SQL: "INSERT INTO notes (text) VALUES (?)", Params: []abi.SQLParam{{Value: abi.Text("hello")}}},
//		{SQL: "SELECT id, text FROM notes", Result: abi.ResultInline},
//	}}, nil)
//
// Open only checks its options. The folder and the file are made by the first program; when that
// fails, the next program tries again.
//
// # One program, one transaction
//
// A program that writes runs on the one writer connection, in a transaction that is immediate from
// its start; programs wait in a queue in the order in which they came, and stop waiting when their
// context ends. A program that only reads runs on one of a few reader connections, which the writer
// does not block (the file is in WAL mode). The database ":memory:" has one connection for both.
//
// A step of a program that names a batch runs for each of its rows, and runs its many-row form for
// every full group of rows. When a group fails, the program is run again row by row and rolled back,
// only to say which row it was: errors carry abi.DetailStep and, for a batch, abi.DetailRow.
//
// # Time
//
// The end of the context stops a running statement within a thousand of SQLite's virtual machine's
// steps, without a goroutine: SQLite asks from time to time. What stays is one call of a built-in
// function on one value, which can't be stopped; values are bounded ([MaxValue]) to keep that short.
// Whatever ends before COMMIT is rolled back, and the error says so: abi.CodeDeadline. COMMIT itself
// is not stopped. When it fails in a way that leaves open what is in the file, the error is
// abi.CodeUnknownOutcome.
//
// # What a guest may not do
//
// The grant is one file. ATTACH, DETACH, VACUUM INTO, extensions, temporary tables, transaction
// control, writing to the schema table and every PRAGMA but a list of harmless ones are refused with
// abi.CodeDenied. The journal mode (WAL), synchronous and the busy timeout belong to the grant.
// A statement is one statement: text behind it is refused.
//
// # How it is fast
//
// The package calls the C interface of modernc.org/sqlite/lib, not database/sql: texts are copied
// once, into memory of libc (SQLite's code is not allowed to walk Go's memory under -race),
// statements stay prepared, and nothing is allocated per row. What SQLite writes page by page is gathered
// on its way to the kernel, where that is Linux (vfs_linux.go, decision 0025). That interface is not covered by the
// driver's promise of compatibility, so everything that uses it is in capi.go, conn.go, stmt.go,
// hooks.go, guard.go, result.go and vfs*.go.
//
// imports: abi, host/internal/capability.
package sqlite
