package postgres_test

import (
	"context"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/postgres"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
)

// open opens a database until the test ends.
func open(t testing.TB, opts postgres.Options) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// fresh opens an empty database.
func fresh(t testing.TB) (db *postgres.DB, name string) {
	t.Helper()
	name, dsn := pgtest.Server(t).Database(t)
	return open(t, postgres.Options{DSN: dsn}), name
}

// write runs a program that has to succeed.
func write(t testing.TB, db *postgres.DB, call *capability.Call, steps ...abi.SQLStep) *abi.SQLExecReply {
	t.Helper()
	reply, failure := db.Exec(context.Background(), &abi.SQLExec{Steps: steps}, call)
	if failure != nil {
		t.Fatalf("writing: %v %v", failure, failure.Details)
	}
	return reply
}

// refused runs a program that has to fail.
func refused(t testing.TB, db *postgres.DB, readOnly bool, call *capability.Call, code abi.Code, text string, steps ...abi.SQLStep) *abi.Error {
	t.Helper()
	_, failure := db.Exec(context.Background(), &abi.SQLExec{ReadOnly: readOnly, Steps: steps}, call)
	if failure == nil || failure.Code != code || !strings.Contains(failure.Message, text) {
		t.Errorf("%s ended with %v, want %s: …%s…", steps[len(steps)-1].SQL, failure, code, text)
		return &abi.Error{}
	}
	return failure
}

// ask reads with one statement.
func ask(t testing.TB, db *postgres.DB, sql string, params ...abi.Value) *abi.Table {
	t.Helper()
	step := abi.SQLStep{SQL: sql, Result: abi.ResultInline, Params: literals(params...)}
	reply, failure := db.Exec(context.Background(), &abi.SQLExec{ReadOnly: true, Steps: []abi.SQLStep{step}}, nil)
	if failure != nil {
		t.Fatalf("%s: %v", sql, failure)
	}
	table, err := abi.ParseTable(reply.Steps[0].Rows)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func literals(values ...abi.Value) []abi.SQLParam {
	params := make([]abi.SQLParam, len(values))
	for i, v := range values {
		params[i] = abi.SQLParam{Value: v}
	}
	return params
}

func columns(n int) []abi.SQLParam {
	params := make([]abi.SQLParam, n)
	for i := range params {
		params[i] = abi.SQLParam{Kind: abi.ParamColumn, Column: uint32(i)}
	}
	return params
}

// batch makes rows of these cells.
func batch(columns int, cells ...abi.Value) *capability.Page {
	page := capability.NewPage(columns)
	for _, v := range cells {
		page.AppendValue(v)
	}
	return page
}
