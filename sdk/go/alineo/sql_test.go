//go:build !wasip1 && !tinygo.wasm

package alineo

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
)

func TestSteps(t *testing.T) {
	t.Parallel()
	one := uint64(1)
	for name, c := range map[string]struct {
		step Step
		want abi.SQLStep
	}{
		"statement": {
			Statement("INSERT INTO t VALUES (?, ?)", Columns(3, 1)...).ForEach(9).Many(3),
			abi.SQLStep{
				SQL: "INSERT INTO t VALUES (?, ?)", Params: []abi.SQLParam{{Kind: abi.ParamColumn, Column: 3}, {Kind: abi.ParamColumn, Column: 1}},
				Batch: 9, ManySQL: "INSERT INTO t VALUES (?, ?), (?, ?), (?, ?)", ManyRows: 3,
			},
		},
		"query": {
			Query("SELECT ?", Int(-1), Text("a"), Blob([]byte{1}), JSON([]byte("{}")), Real(1.5), Bool(true), Null(), Result(2, 3)).Limit(10, 20),
			abi.SQLStep{SQL: "SELECT ?", Result: abi.ResultInline, MaxRows: 10, MaxBytes: 20, Params: []abi.SQLParam{
				{Value: abi.Int(-1)},
				{Value: abi.Text("a")},
				{Value: abi.Blob([]byte{1})},
				{Value: abi.JSON([]byte("{}"))},
				{Value: abi.Real(1.5)},
				{Value: abi.Bool(true)},
				{},
				{Kind: abi.ParamResult, Step: 2, Column: 3},
			}},
		},
		"keep": {
			Keep("UPDATE t SET a = 1 RETURNING a").Expect(1, abi.CodeNotFound, "gone"),
			abi.SQLStep{
				SQL: "UPDATE t SET a = 1 RETURNING a", Result: abi.ResultHandle,
				Expect: &one, MismatchCode: abi.CodeNotFound, MismatchMessage: "gone",
			},
		},
		"not repeatable": {Statement("DELETE FROM t").Many(2), abi.SQLStep{SQL: "DELETE FROM t"}},
	} {
		if got := c.step.Raw(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	// A step is a value: what is made of it leaves it alone.
	base := Statement("INSERT INTO t VALUES (?)", Column(0))
	base.ForEach(7).Many(2).Expect(1, 0, "").Limit(1, 1)
	if !reflect.DeepEqual(base.Raw(), Statement("INSERT INTO t VALUES (?)", Column(0)).Raw()) {
		t.Errorf("the step has changed: %+v", base.Raw())
	}
}

func TestPrograms(t *testing.T) {
	t.Parallel()
	var asked []string
	host := &double{sql: func(p *abi.SQLExec) (*abi.SQLExecReply, *abi.Error) {
		kind := "write"
		if p.ReadOnly {
			kind = "read"
		}
		asked = append(asked, kind+" "+strings.Clone(p.Database))
		if strings.Contains(p.Steps[0].SQL, "fail") {
			return nil, &abi.Error{Code: abi.CodeConflict, Message: "no", Details: map[string]string{abi.DetailStep: "0", abi.DetailRow: "4"}}
		}
		reply := new(abi.SQLExecReply)
		for i := range p.Steps {
			if strings.Contains(p.Steps[i].SQL, "short") {
				continue
			}
			w := abi.NewTableWriter(nil, 2)
			w.Row(abi.Text(p.Steps[i].SQL), abi.Int(int64(i)))
			reply.Steps = append(reply.Steps, abi.SQLStepResult{RowCount: 1, Rows: w.Bytes()})
		}
		return reply, nil
	}}
	serveTest(t, Plugin{Health: func() (string, error) {
		first, err := SQL("db").Read(Query("one"), Query("two"))
		if err != nil {
			return "", err
		}
		// Many more answers do not disturb the first.
		for range 50 {
			if _, err := SQL("db").Read(Query(strings.Repeat("x", 1000))); err != nil {
				return "", err
			}
		}
		second, err := SQL("other").Exec(false, abi.SQLStep{SQL: "three"})
		if err != nil {
			return "", err
		}
		var words []string
		for _, rows := range [][]byte{first.Steps[0].Rows, first.Steps[1].Rows, second.Steps[0].Rows} {
			var text, n abi.Value
			if ok, err := FirstRow(rows, &text, &n); !ok || err != nil {
				return "", errors.New("no row")
			}
			words = append(words, text.String())
		}
		return strings.Join(words, " "), nil
	}}, host)
	var reply abi.HealthReply
	if err := Dispatch(abi.OpHealth, nil, &reply); err != nil || reply.Message != "one two three" {
		t.Errorf("%q, %v", reply.Message, err)
	}
	if len(asked) != 52 || asked[0] != "read db" || asked[51] != "write other" {
		t.Errorf("the host was asked for %q", asked)
	}

	_, err := SQL("db").Write(Statement("fail"))
	var e *abi.Error
	if !errors.As(err, &e) || e.Code != abi.CodeConflict || e.Details[abi.DetailRow] != "4" {
		t.Errorf("a failing step: %v", err)
	}
	if _, err := SQL("db").Write(Statement("short")); code(t, err) != abi.CodeInternal {
		t.Errorf("a reply with too few steps: %v", err)
	}
	if _, err := Batch(1).Read(0, 0, 0); code(t, err) != abi.CodeUnsupported {
		t.Errorf("an operation that the host lacks: %v", err)
	}
}

func TestPreparedProgram(t *testing.T) {
	t.Parallel()
	var asked [][]uint64
	host := &double{sql: func(p *abi.SQLExec) (*abi.SQLExecReply, *abi.Error) {
		var batches []uint64
		for _, s := range p.Steps {
			batches = append(batches, s.Batch)
		}
		asked = append(asked, batches)
		if p.Database != "db" || p.ReadOnly {
			return nil, &abi.Error{Code: abi.CodeInvalid}
		}
		return &abi.SQLExecReply{Steps: make([]abi.SQLStepResult, len(p.Steps))}, nil
	}}
	serveTest(t, Plugin{}, host)
	base := Statement("c")
	p := SQL("db").Program(false, Statement("a").Over(1), Statement("b"), base.Over(0), Statement("d").Over(1), Statement("e").ForEach(9))
	for _, batches := range [][]uint64{{1, 2}, {1, 2}, {3, 4}, {3, 4, 5}, {1, 2}} {
		reply, err := p.Run(batches...)
		if err != nil || len(reply.Steps) != 5 {
			t.Fatalf("running for %d: %v", batches, err)
		}
		want := []uint64{batches[1], 0, batches[0], batches[1], 9}
		if got := asked[len(asked)-1]; !reflect.DeepEqual(got, want) {
			t.Errorf("running for %d asked for %d, want %d", batches, got, want)
		}
	}
	if _, err := p.Run(1); code(t, err) != abi.CodeInternal {
		t.Errorf("too few batches: %v", err)
	}
	if base.Raw().Batch != 0 {
		t.Error("the step has changed")
	}
}

func TestWithoutAHost(t *testing.T) {
	t.Parallel()
	serveTest(t, Plugin{}, nil)
	Log(Info, "nobody listens")
	if _, err := SQL("db").Read(Query("x")); code(t, err) != abi.CodeUnavailable {
		t.Errorf("%v", err)
	}
}

func TestFirstRow(t *testing.T) {
	t.Parallel()
	var v abi.Value
	for name, table := range map[string][]byte{"no table": nil, "no rows": abi.AppendTableHeader(nil, 0, 1)} {
		if ok, err := FirstRow(table, &v); ok || err != nil {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
	for name, table := range map[string][]byte{"no header": {1}, "cut off": append(abi.AppendTableHeader(nil, 1, 1), 1)} {
		if ok, err := FirstRow(table, &v); ok || !errors.Is(err, abi.ErrMalformed) {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
}

func TestMultiRow(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"INSERT INTO t(a, b) VALUES (?, ?)":                            "INSERT INTO t(a, b) VALUES (?, ?), (?, ?)",
		"insert into t values(?)":                                      "insert into t values(?), (?)",
		"INSERT INTO t(a) VALUES (?) ON CONFLICT DO NOTHING":           "INSERT INTO t(a) VALUES (?), (?) ON CONFLICT DO NOTHING",
		"INSERT INTO t(a) VALUES (?) ON CONFLICT(a) DO UPDATE SET a=1": "INSERT INTO t(a) VALUES (?), (?) ON CONFLICT(a) DO UPDATE SET a=1",
		"INSERT INTO t VALUES (coalesce(?, 'x)'), ?) RETURNING id":     "INSERT INTO t VALUES (coalesce(?, 'x)'), ?), (coalesce(?, 'x)'), ?) RETURNING id",
		"INSERT INTO \"values (?)\" VALUES (?)":                        "INSERT INTO \"values (?)\" VALUES (?), (?)",
		"INSERT INTO [a)] VALUES (?, 'it''s')":                         "INSERT INTO [a)] VALUES (?, 'it''s'), (?, 'it''s')",
		"INSERT INTO t VALUES (? /* ) */, -- )\n ?)":                   "INSERT INTO t VALUES (? /* ) */, -- )\n ?), (? /* ) */, -- )\n ?)",
		"INSERT INTO t VALUES (?::jsonb)":                              "INSERT INTO t VALUES (?::jsonb), (?::jsonb)",
		"INSERT INTO t VALUES (unixepoch())":                           "INSERT INTO t VALUES (unixepoch()), (unixepoch())",

		"INSERT INTO t VALUES (?), (?)":                               "",
		"INSERT INTO t VALUES (?1)":                                   "",
		"INSERT INTO t VALUES ($1)":                                   "",
		"INSERT INTO t VALUES (:a)":                                   "",
		"INSERT INTO t VALUES (@a)":                                   "",
		"INSERT INTO t(a) VALUES (?) ON CONFLICT DO UPDATE SET a = ?": "",
		"INSERT INTO t SELECT ?":                                      "",
		"UPDATE t SET a = ?":                                          "",
		"INSERT INTO t VALUES (?":                                     "",
		"INSERT INTO t VALUES ?":                                      "",
		"INSERT INTO t DEFAULT VALUES":                                "",
		"":                                                            "",
	} {
		got, ok := MultiRow(sql, 2)
		if got != want || ok != (want != "") {
			t.Errorf("%s\ngave %q, %v\nwant %q", sql, got, ok, want)
		}
	}
	if _, ok := MultiRow("INSERT INTO t VALUES (?)", 1); ok {
		t.Error("one row is not several")
	}
	if sql, ok := MultiRow("INSERT INTO t VALUES (?)", 64); !ok || strings.Count(sql, "(?)") != 64 {
		t.Errorf("64 rows: %s", sql)
	}
}

func FuzzMultiRow(f *testing.F) {
	f.Add("INSERT INTO t(a) VALUES (?, 'x') RETURNING id")
	f.Add("insert values (\"")
	f.Fuzz(func(t *testing.T, sql string) {
		many, ok := MultiRow(sql, 3)
		if ok && strings.Count(many, "?") < strings.Count(sql, "?") {
			t.Errorf("%q became %q", sql, many)
		}
	})
}
