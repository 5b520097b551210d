package postgres_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/postgres"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
)

const notes = "CREATE TABLE notes (id bigserial PRIMARY KEY, n integer UNIQUE CHECK (n <> 13), doc jsonb, text text NOT NULL DEFAULT '', raw bytea, yes boolean, x float8)"

func TestKindsComeBack(t *testing.T) {
	t.Parallel()
	db, _ := fresh(t)
	write(t, db, nil, abi.SQLStep{SQL: notes})
	values := []abi.Value{abi.Int(-7), abi.JSON([]byte(`{"a": "é"}`)), abi.Text("text"), abi.Blob([]byte{0, 1, 255}), abi.Bool(true), abi.Real(1.5)}
	write(t, db, nil, abi.SQLStep{SQL: "INSERT INTO notes(n, doc, text, raw, yes, x) VALUES ($1, $2, $3, $4, $5, $6)", Params: literals(values...)})
	write(t, db, nil, abi.SQLStep{SQL: "INSERT INTO notes(n, doc, raw, yes, x) VALUES ($1, $2, $3, $4, $5)", Params: literals(abi.Null, abi.Null, abi.Null, abi.Null, abi.Null)})
	const lone = "SELECT n, doc, text, raw, yes, x FROM notes ORDER BY id"
	for round, sql := range []string{
		lone, // without a parameter, as text
		lone, // prepared by now
		lone,
		"SELECT n, doc, text, raw, yes, x FROM notes WHERE id > $1::bigint ORDER BY id",
	} {
		var params []abi.Value
		if round == 3 {
			params = append(params, abi.Int(0))
		}
		got := ask(t, db, sql, params...)
		for column, want := range values {
			if v := got.Value(0, column); v.Kind != want.Kind || v.Int != want.Int || v.Real != want.Real || !bytes.Equal(v.Bytes, want.Bytes) {
				t.Errorf("column %d came back as %s %v, want %s %v", column, v.Kind, v, want.Kind, want)
			}
			if v := got.Value(1, column); column != 2 && v.Kind != abi.KindNull {
				t.Errorf("column %d: NULL came back as %s", column, v.Kind)
			}
		}
	}
	if v := ask(t, db, "SELECT 12.50::numeric, '2026-01-02'::date").Value(0, 0); v.Kind != abi.KindText || v.String() != "12.50" {
		t.Errorf("a numeric is %s %q", v.Kind, v.String())
	}
}

// TestBatchForms checks that the array form and the form for one row do the same, also at their ends.
func TestBatchForms(t *testing.T) {
	t.Parallel()
	db, _ := fresh(t)
	write(t, db, nil, abi.SQLStep{SQL: notes})
	single := "INSERT INTO notes(n, doc, text, raw, yes, x) VALUES ($1, $2, $3, $4, $5, $6)"
	many := "INSERT INTO notes(n, doc, text, raw, yes, x) SELECT * FROM unnest($1::int[], $2::jsonb[], $3::text[], $4::bytea[], $5::bool[], $6::float8[])"
	for _, form := range []string{"", many} {
		for _, rows := range []int{0, 1, 2, 3, 700} {
			t.Run(fmt.Sprintf("%v/%d", form != "", rows), func(t *testing.T) {
				write(t, db, nil, abi.SQLStep{SQL: "TRUNCATE notes RESTART IDENTITY"})
				page := capability.NewPage(6)
				for i := range rows {
					for _, v := range []abi.Value{abi.Int(int64(100 + i)), abi.JSON(fmt.Appendf(nil, `{"i": %d}`, i)), abi.Text("é"), abi.Blob([]byte{byte(i)}), abi.Bool(i%2 == 0), abi.Real(float64(i))} {
						if i%5 == 4 && v.Kind != abi.KindText {
							v = abi.Null
						}
						page.AppendValue(v)
					}
				}
				var call capability.Call
				step := abi.SQLStep{SQL: single, ManySQL: form, Batch: call.Put(page), Params: columns(6), Expect: new(uint64(1))}
				if got := write(t, db, &call, step).Steps[0].Affected; got != uint64(rows) {
					t.Errorf("affected %d", got)
				}
				back := ask(t, db, "SELECT n, doc, text, raw, yes, x FROM notes ORDER BY id")
				if back.Len() != rows {
					t.Fatalf("%d rows", back.Len())
				}
				for r := range rows {
					for c := range 6 {
						if got, want := back.Value(r, c), page.Value(r, c); got.Kind != want.Kind || got.Int != want.Int || got.Real != want.Real || !bytes.Equal(got.Bytes, want.Bytes) {
							t.Fatalf("row %d column %d is %v, want %v", r, c, got, want)
						}
					}
				}
			})
		}
	}
}

func TestFailuresNameTheirRow(t *testing.T) {
	t.Parallel()
	db, _ := fresh(t)
	write(t, db, nil, abi.SQLStep{SQL: notes}, abi.SQLStep{SQL: "INSERT INTO notes(n) VALUES (5)"})
	insert := func(form string) abi.SQLStep {
		step := abi.SQLStep{SQL: "INSERT INTO notes(n, doc) VALUES ($1, $2)", Params: columns(2)}
		if form == "array" {
			step.ManySQL = "INSERT INTO notes(n, doc) SELECT * FROM unnest($1::int[], $2::jsonb[])"
		}
		return step
	}
	update := func(form string) abi.SQLStep {
		step := abi.SQLStep{SQL: "UPDATE notes SET text = 'x' WHERE n = $1", Params: columns(1), Expect: new(uint64(1)), MismatchCode: abi.CodeNotFound, MismatchMessage: "no such note"}
		if form == "array" {
			step.ManySQL = "UPDATE notes SET text = 'x' FROM unnest($1::int[]) AS u(n) WHERE notes.n = u.n"
		}
		return step
	}
	ok := abi.JSON([]byte("{}"))
	for _, form := range []string{"rows", "array"} {
		for _, c := range []struct {
			name string
			step abi.SQLStep
			rows *capability.Page
			code abi.Code
			row  string
		}{
			{"unique", insert(form), batch(2, abi.Int(1), ok, abi.Int(2), ok, abi.Int(5), ok), abi.CodeConflict, "2"},
			{"check", insert(form), batch(2, abi.Int(13), ok, abi.Int(2), ok), abi.CodeInvalid, "0"},
			{"not JSON", insert(form), batch(2, abi.Int(1), ok, abi.Int(2), abi.JSON([]byte("{"))), abi.CodeInvalid, "1"},
			{"too large", insert(form), batch(2, abi.Int(1), ok, abi.Int(1<<40), ok), abi.CodeInvalid, "1"},
			{"not a number", insert(form), batch(2, abi.Text("x"), ok, abi.Int(1), ok), abi.CodeInvalid, "0"},
			{"expectation", update(form), batch(1, abi.Int(5), abi.Int(6)), abi.CodeNotFound, "1"},
			{"one row", update(form), batch(1, abi.Int(6)), abi.CodeNotFound, "0"},
		} {
			var call capability.Call
			c.step.Batch = call.Put(c.rows)
			failure := refused(t, db, false, &call, c.code, "", abi.SQLStep{SQL: "INSERT INTO notes(n) VALUES (99)"}, c.step)
			if failure.Details[abi.DetailStep] != "1" || failure.Details[abi.DetailRow] != c.row {
				t.Errorf("%s, %s: details %v, want step 1, row %s", form, c.name, failure.Details, c.row)
			}
		}
	}
	if n := ask(t, db, "SELECT count(*) FROM notes").Value(0, 0).Int; n != 1 {
		t.Errorf("%d rows after programs that failed", n)
	}
}

// TestArrayFormTooNarrow checks a batch of which two rows are about one row of a table: an UPDATE with
// FROM sees it once, row by row it is changed twice.
func TestArrayFormTooNarrow(t *testing.T) {
	t.Parallel()
	db, _ := fresh(t)
	write(t, db, nil, abi.SQLStep{SQL: notes}, abi.SQLStep{SQL: "INSERT INTO notes(n) VALUES (5)"})
	var call capability.Call
	write(t, db, &call, abi.SQLStep{
		SQL: "UPDATE notes SET text = text || $1 WHERE n = 5", ManySQL: "UPDATE notes SET text = text || u.x FROM unnest($1::text[]) AS u(x) WHERE n = 5",
		Params: columns(1), Expect: new(uint64(1)), Batch: call.Put(batch(1, abi.Text("a"), abi.Text("b"))),
	})
	if got := ask(t, db, "SELECT text FROM notes").Value(0, 0).String(); got != "ab" {
		t.Errorf("text is %q", got)
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	db, _ := fresh(t)
	var call capability.Call
	numbers := "SELECT i, repeat('x', 100) FROM generate_series(1, 50) i"
	reply := write(t, db, &call,
		abi.SQLStep{SQL: numbers, Result: abi.ResultHandle, MaxRows: 7},
		abi.SQLStep{SQL: numbers, Result: abi.ResultHandle, MaxBytes: 250},
		abi.SQLStep{SQL: numbers + " WHERE i < 0", Result: abi.ResultInline},
		abi.SQLStep{SQL: "SELECT $1::int + $2::int", Result: abi.ResultInline, Params: []abi.SQLParam{
			{Kind: abi.ParamResult, Step: 0, Column: 0}, {Value: abi.Int(41)},
		}},
		abi.SQLStep{SQL: numbers},
	)
	if s := reply.Steps[0]; s.RowCount != 7 || !s.More || s.Handle == 0 {
		t.Errorf("bounded by rows: %+v", s)
	} else if last, err := abi.ParseTable(s.Last); err != nil || last.Value(0, 0).Int != 7 {
		t.Errorf("last row: %v, %v", last, err)
	}
	if s := reply.Steps[1]; s.RowCount != 3 || !s.More {
		t.Errorf("bounded by bytes: %+v", s)
	}
	if table, err := abi.ParseTable(reply.Steps[2].Rows); err != nil || table.Len() != 0 || table.Columns() != 2 {
		t.Errorf("no rows: %v, %v", table, err)
	}
	if table, err := abi.ParseTable(reply.Steps[3].Rows); err != nil || table.Value(0, 0).Int != 42 {
		t.Errorf("from an earlier result: %v, %v", table, err)
	}
	if rows, ok := call.Get(reply.Steps[0].Handle); !ok || rows.Len() != 7 {
		t.Errorf("behind the handle: %v", rows)
	}
	big := abi.SQLStep{SQL: "SELECT repeat('x', 5000000)", Result: abi.ResultInline}
	refused(t, db, true, nil, abi.CodeResourceExhausted, "ask for a handle", big)
	refused(t, db, true, nil, abi.CodeInvalid, "no call", abi.SQLStep{SQL: "SELECT 1", Result: abi.ResultHandle})
	refused(t, db, true, &call, abi.CodeInvalid, "returned none",
		abi.SQLStep{SQL: "SELECT 1 WHERE false", Result: abi.ResultInline}, abi.SQLStep{SQL: "SELECT $1::int", Params: []abi.SQLParam{{Kind: abi.ParamResult}}})
	refused(t, db, true, &call, abi.CodeNotFound, "handle 99", abi.SQLStep{SQL: "SELECT 1", Batch: 99})
}

// TestEnough checks that a page ends a query that goes on for long.
func TestEnough(t *testing.T) {
	t.Parallel()
	db, _ := fresh(t)
	for range 3 {
		var call capability.Call
		reply, failure := db.Exec(t.Context(), &abi.SQLExec{ReadOnly: true, Steps: []abi.SQLStep{
			{SQL: "SELECT i, repeat('x', 1000) FROM generate_series(1, 10000) i, generate_series(1, 10000) k", Result: abi.ResultHandle, MaxRows: 3},
		}}, &call)
		if failure != nil || reply.Steps[0].RowCount != 3 || !reply.Steps[0].More {
			t.Fatalf("%+v, %v", reply, failure)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	db, _ := fresh(t)
	write(t, db, nil, abi.SQLStep{SQL: notes})
	for sql, want := range map[string]struct {
		code abi.Code
		text string
	}{
		"COMMIT":                                     {abi.CodeDenied, "COMMIT"},
		"/* a /* b */ */ -- c\n rollback":            {abi.CodeDenied, "ROLLBACK"},
		"COPY notes TO PROGRAM 'id'":                 {abi.CodeDenied, "COPY"},
		"SET search_path = x":                        {abi.CodeDenied, "SET"},
		"DO $$ BEGIN END $$":                         {abi.CodeDenied, "DO"},
		"":                                           {abi.CodeInvalid, "empty"},
		"; SELECT 1":                                 {abi.CodeInvalid, "no word"},
		"SELECT 1; SELECT 2":                         {abi.CodeInvalid, "multiple commands"},
		"SELECT nothing FROM nowhere":                {abi.CodeInvalid, "nowhere"},
		"SELECT pg_read_file('/etc/passwd')":         {abi.CodeDenied, "permission denied"},
		"INSERT INTO notes(text) VALUES (NULL)":      {abi.CodeInvalid, "null value"},
		"INSERT INTO notes(n) VALUES (13)":           {abi.CodeInvalid, "check constraint"},
		"INSERT INTO notes(id) VALUES (1), (1)":      {abi.CodeConflict, "unique constraint"},
		"SELECT 1/0":                                 {abi.CodeInvalid, "division by zero"},
		"SELECT " + strings.Repeat(" ", 1<<20) + "1": {abi.CodeInvalid, "too long"},
		"INSERT INTO notes(doc) VALUES ('{\"a\":1')": {abi.CodeInvalid, "json"},
		"CREATE EXTENSION adminpack":                 {abi.CodeDenied, "permission denied"},
	} {
		failure := refused(t, db, false, nil, want.code, want.text, abi.SQLStep{SQL: sql})
		if failure.Details[abi.DetailStep] != "0" {
			t.Errorf("%.30q: details %v", sql, failure.Details)
		}
	}
	refused(t, db, true, nil, abi.CodeInvalid, "read-only", abi.SQLStep{SQL: "INSERT INTO notes(n) VALUES (1)"})
	refused(t, db, false, nil, abi.CodeInvalid, "NUL", abi.SQLStep{SQL: "INSERT INTO notes(text) VALUES ($1)", Params: literals(abi.Text("a\x00b"))})
	refused(t, db, false, nil, abi.CodeInvalid, "UTF-8", abi.SQLStep{SQL: "INSERT INTO notes(text) VALUES ($1)", Params: literals(abi.Text("\xff"))})
	refused(t, db, false, nil, abi.CodeInvalid, "2 parameters", abi.SQLStep{SQL: "SELECT $1::int, $2::int", Params: literals(abi.Int(1))})
	if n := ask(t, db, "SELECT count(*) FROM notes").Value(0, 0).Int; n != 0 {
		t.Errorf("%d rows", n)
	}
}

// TestSchemaChanges checks a statement that stays prepared while its table changes.
func TestSchemaChanges(t *testing.T) {
	t.Parallel()
	db, _ := fresh(t)
	write(t, db, nil, abi.SQLStep{SQL: "CREATE TABLE t (a int)"}, abi.SQLStep{SQL: "INSERT INTO t VALUES ($1)", Params: literals(abi.Int(1))})
	all := func() int { table := ask(t, db, "SELECT * FROM t WHERE a = $1", abi.Int(1)); return table.Columns() }
	if n := all(); n != 1 {
		t.Errorf("%d columns", n)
	}
	write(t, db, nil, abi.SQLStep{SQL: "ALTER TABLE t ADD COLUMN b text"})
	if n := all(); n != 2 {
		t.Errorf("%d columns after the change", n)
	}
	// A program that makes what its later statements need, twice.
	for range 2 {
		write(t, db, nil, abi.SQLStep{SQL: "CREATE TABLE u (a int)"},
			abi.SQLStep{SQL: "INSERT INTO u VALUES ($1)", Params: literals(abi.Int(1))}, abi.SQLStep{SQL: "DROP TABLE u"})
	}
}

func TestManyStatements(t *testing.T) {
	t.Parallel()
	db, _ := fresh(t)
	for round := range 2 {
		for i := range 300 {
			table := ask(t, db, fmt.Sprintf("SELECT %d + $1::int", i), abi.Int(1))
			if got := table.Value(0, 0).Int; got != int64(i+1) {
				t.Fatalf("round %d: statement %d answered %d", round, i, got)
			}
		}
	}
}

func TestRoles(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	name, _ := server.Database(t)
	db := open(t, postgres.Options{DSN: server.Admin(name)})
	failure := refused(t, db, true, nil, abi.CodeDenied, "allow_superuser", abi.SQLStep{SQL: "SELECT 1"})
	if strings.Contains(failure.Message, server.Dir) {
		t.Errorf("%q names the server", failure.Message)
	}
	allowed := open(t, postgres.Options{DSN: server.Admin(name), AllowSuperuser: true})
	ask(t, allowed, "SELECT 1")
	admin := server.Conn(t, name)
	if _, err := admin.Exec(t.Context(), "CREATE ROLE filer LOGIN; GRANT pg_execute_server_program TO filer"); err != nil {
		t.Fatal(err)
	}
	filer := open(t, postgres.Options{DSN: server.DSN("filer", name)})
	refused(t, filer, true, nil, abi.CodeDenied, "allow_superuser", abi.SQLStep{SQL: "SELECT 1"})
	for dsn, text := range map[string]string{
		server.DSN("nobody", name):                             "refuses the role",
		server.DSN(pgtest.Role, "nothing"):                     "does not exist",
		"postgres://u:secret@127.0.0.1:1/db?sslmode=disable":   "can't be reached",
		server.DSN(pgtest.Role, name) + "&sslmode=verify-full": "", // a socket has no TLS: pgconn ignores it
	} {
		if text == "" {
			continue
		}
		db := open(t, postgres.Options{DSN: dsn})
		_, failure := db.Exec(context.Background(), &abi.SQLExec{Steps: []abi.SQLStep{{SQL: "SELECT 1"}}}, nil)
		if failure == nil || !strings.Contains(failure.Message, text) {
			t.Errorf("%s: %v, want …%s…", text, failure, text)
			continue
		}
		for _, private := range []string{"secret", "127.0.0.1", server.Dir, "nobody", "nothing"} {
			if strings.Contains(failure.Message, private) {
				t.Errorf("%q names %q", failure.Message, private)
			}
		}
	}
}
