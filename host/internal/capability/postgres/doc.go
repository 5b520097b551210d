// Package postgres is the granted database that is a PostgreSQL server.
//
//	db, err := postgres.Open(postgres.Options{DSN: "postgres://alineo@db.internal/alineo"})
//	…
//	defer db.Close()
//	reply, failure := db.Exec(ctx, &abi.SQLExec{Steps: []abi.SQLStep{
//		{SQL: "INSERT INTO notes(text) VALUES ($1)", Params: []abi.SQLParam{{Value: abi.Text("hello")}}},
//		{SQL: "SELECT id, text FROM notes", Result: abi.ResultInline},
//	}}, nil)
//
// Open only reads its options. Connections are made by the programs that need them, and made anew
// when one was lost: a program whose connection ends before its COMMIT was sent has done nothing, and
// is run once more on a fresh connection when the old one had been idle. One that was idle for half a
// minute is asked for a sign of life before it is used again: firewalls forget connections without a
// word. Refused are roles that can leave the database, and databases that don't store text as UTF8.
//
// A program is one transaction: READ COMMITTED, or REPEATABLE READ and READ ONLY for one that only
// reads. Its statements are sent without waiting for the answer to the one before (a pipeline), so
// that a program takes two round trips, and one that reads takes one. Waited for are a statement that
// this connection does not know yet, a parameter that is an earlier step's result, a step without a
// batch that has an expectation, and COMMIT.
//
// A step over a batch that has an array form (ManySQL with ManyRows 0) is one statement for all of its
// rows, whose column parameters are arrays; otherwise the form for one row is sent for each row. What
// fails in the array form is run again row by row, which finds out at which row.
//
// Statements stay prepared on a connection that leads to one server process. Where a pooler stands
// between, which lends another process for each transaction, they are prepared for the transaction
// only; the two are told apart by asking the process for its number.
//
// JSON with a NUL in it, which PostgreSQL can't hold, is escaped on its way in and unescaped on its
// way out (see nul.go).
//
// imports: abi, host/internal/capability.
package postgres
