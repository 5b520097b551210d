package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
)

// open returns a database that the test closes at its end.
func open(t testing.TB, opts sqlite.Options) *sqlite.DB {
	t.Helper()
	if opts.Path == "" {
		opts.Path = filepath.Join(t.TempDir(), "folder", "test.db")
	}
	db, err := sqlite.Open(opts)
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

// once is a step of one statement with literal parameters.
func once(sql string, params ...abi.Value) abi.SQLStep {
	step := abi.SQLStep{SQL: sql}
	for _, v := range params {
		step.Params = append(step.Params, abi.SQLParam{Value: v})
	}
	return step
}

// query is once with its rows in the reply.
func query(sql string, params ...abi.Value) abi.SQLStep {
	step := once(sql, params...)
	step.Result = abi.ResultInline
	return step
}

func columns(numbers ...uint32) []abi.SQLParam {
	var params []abi.SQLParam
	for _, n := range numbers {
		params = append(params, abi.SQLParam{Kind: abi.ParamColumn, Column: n})
	}
	return params
}

func write(steps ...abi.SQLStep) *abi.SQLExec { return &abi.SQLExec{Steps: steps} }

func read(steps ...abi.SQLStep) *abi.SQLExec { return &abi.SQLExec{ReadOnly: true, Steps: steps} }

// must runs a program that has to succeed.
func must(t testing.TB, db *sqlite.DB, exec *abi.SQLExec, call *capability.Call) *abi.SQLExecReply {
	t.Helper()
	reply, failure := db.Exec(t.Context(), exec, call)
	if failure != nil {
		t.Fatalf("program failed: %v %v", failure, failure.Details)
	}
	return reply
}

// fails runs a program that has to fail with a code and a message that contains a text.
func fails(ctx context.Context, t testing.TB, db *sqlite.DB, exec *abi.SQLExec, call *capability.Call, code abi.Code, text string) *abi.Error {
	t.Helper()
	_, failure := db.Exec(ctx, exec, call)
	if failure == nil {
		t.Fatalf("program succeeded; want %s: %s", code, text)
	}
	if failure.Code != code || !strings.Contains(failure.Message, text) {
		t.Fatalf("program failed with %v; want %s: …%s…", failure, code, text)
	}
	return failure
}

// table returns the inline rows of a step as texts.
func table(t testing.TB, result abi.SQLStepResult) [][]string {
	t.Helper()
	parsed, err := abi.ParseTable(result.Rows)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for r := range parsed.Len() {
		var row []string
		for c := range parsed.Columns() {
			row = append(row, show(parsed.Value(r, c)))
		}
		out = append(out, row)
	}
	return out
}

func page(columns int, values ...abi.Value) *capability.Page {
	p := capability.NewPage(columns)
	for _, v := range values {
		p.AppendValue(v)
	}
	return p
}

// show writes a value as SQL does.
func show(v abi.Value) string {
	switch v.Kind {
	case abi.KindNull:
		return "NULL"
	case abi.KindInt, abi.KindBool:
		return strconv.FormatInt(v.Int, 10)
	case abi.KindReal:
		return strconv.FormatFloat(v.Real, 'g', -1, 64)
	case abi.KindBlob:
		return fmt.Sprintf("x'%x'", v.Bytes)
	default:
		return string(v.Bytes)
	}
}

// scalar returns the one cell of a query.
func scalar(t testing.TB, db *sqlite.DB, sql string) string {
	t.Helper()
	rows := table(t, must(t, db, read(query(sql)), nil).Steps[0])
	if len(rows) != 1 || len(rows[0]) != 1 {
		t.Fatalf("%s: %v is not one cell", sql, rows)
	}
	return rows[0][0]
}
