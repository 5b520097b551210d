package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
)

// vocabulary is what random programs are made of, beside the text that the fuzzer invents. The number
// is that of the statement's parameters.
var vocabulary = [...]struct {
	sql, many string
	params    int
}{
	{"INSERT INTO t (a, b) VALUES (?, ?)", "INSERT INTO t (a, b) VALUES (?, ?), (?, ?), (?, ?)", 2},
	{"INSERT INTO t (id, a) VALUES (?, ?)", "INSERT INTO t (id, a) VALUES (?, ?), (?, ?), (?, ?)", 2},
	{"INSERT OR ROLLBACK INTO t (id, a) VALUES (?, ?)", "", 2},
	{"INSERT INTO t (a, b) VALUES (?, ?) RETURNING id, a", "", 2},
	{"UPDATE t SET b = ? WHERE a = ?", "", 2},
	{"DELETE FROM t WHERE a = ?", "", 1},
	{"SELECT * FROM t", "", 0},
	{"SELECT id, a, b FROM t WHERE id > ?", "", 1},
	{"CREATE TABLE IF NOT EXISTS u (x)", "", 0},
	{"DROP TABLE IF EXISTS u", "", 0},
	{"INSERT INTO u VALUES (?)", "INSERT INTO u VALUES (?), (?), (?)", 1},
	{"PRAGMA user_version = 3", "", 0},
	{"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 3000) SELECT x, ? FROM c", "", 1},
	{"COMMIT", "", 0},
	{"ROLLBACK", "", 0},
	{"ATTACH ':memory:' AS x", "", 0},
}

// decoder makes choices from the fuzzer's bytes; it runs dry into zeroes.
type decoder struct{ b []byte }

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		return 0
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *decoder) below(n int) int { return int(d.byte()) % n }

func (d *decoder) value() abi.Value {
	switch d.below(8) {
	case 0:
		return abi.Null
	case 1:
		return abi.Value{Kind: abi.KindReal, Real: float64(d.byte()) / 3}
	case 2:
		return abi.Blob(make([]byte, int(d.byte())*40))
	case 3:
		return abi.Value{Kind: abi.Kind(d.byte()), Int: int64(d.byte())}
	case 4, 5:
		return abi.Text(string(rune('a' + d.below(4))))
	default:
		return abi.Int(int64(d.below(20)))
	}
}

func (d *decoder) step(number int, invented string) abi.SQLStep {
	word := vocabulary[d.below(len(vocabulary))]
	step := abi.SQLStep{
		SQL: word.sql, Batch: uint64(d.below(4)), Result: abi.SQLResult(d.below(4)),
		MaxRows: uint64(d.byte()), MaxBytes: uint64(d.byte()) * 50,
	}
	choices := d.byte()
	if choices&1 != 0 {
		step.ManySQL, step.ManyRows = word.many, 3
	}
	if choices&2 != 0 {
		step.Expect = new(uint64(d.below(3)))
		step.MismatchCode = abi.Code(d.below(12))
	}
	if choices&4 != 0 {
		step.SQL = invented
	}
	if choices&8 != 0 {
		step.ManySQL, step.ManyRows = vocabulary[d.below(len(vocabulary))].many, uint64(d.byte())
	}
	params := word.params
	if choices&16 != 0 {
		params = d.below(5)
	}
	for range params {
		param := abi.SQLParam{Kind: abi.ParamKind(d.below(3)), Value: d.value()}
		switch {
		case param.Kind == abi.ParamColumn && step.Batch == 0 && choices&32 == 0:
			param.Kind = abi.ParamLiteral
		case param.Kind == abi.ParamColumn:
			param.Column = uint32(d.below(3))
		case param.Kind == abi.ParamResult:
			param.Column, param.Step = uint32(d.below(3)), uint32(d.below(number+1))
		}
		step.Params = append(step.Params, param)
	}
	return step
}

// FuzzProgram runs random programs. None may panic, leave a transaction open or a part of itself
// behind, or make the next program fail.
func FuzzProgram(f *testing.F) {
	f.Add([]byte{}, "SELECT 1")
	f.Add([]byte{2, 0, 1, 1, 0, 0, 3, 1, 0, 1, 1, 9, 9, 2, 0, 0, 1}, "INSERT INTO t (a) VALUES (1); COMMIT")
	f.Add([]byte{1, 3, 2, 0, 1, 1, 1, 3, 1, 1, 2, 2, 1, 6, 0, 1, 200, 200, 2}, "SELECT load_extension('x')")
	f.Add([]byte{3, 1, 1, 0, 0, 0, 3, 1, 1, 1, 1, 1, 2, 0, 3, 0, 2, 0, 0, 0, 5, 1, 0, 7, 7}, "PRAGMA journal_mode = DELETE")
	path := filepath.Join(f.TempDir(), "fuzz.db")
	db := open(f, sqlite.Options{Path: path, Synchronous: "normal"})
	other := open(f, sqlite.Options{Path: path, Synchronous: "normal", BusyTimeout: time.Millisecond})
	start := write(once("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, a UNIQUE, b CHECK (b IS NOT 'c'))"), once("DELETE FROM t WHERE id > 50 OR id % 3 = 0"))
	must(f, db, start, nil)
	state := read(
		query("SELECT count(*), total(id), group_concat(quote(a)), group_concat(quote(b)) FROM (SELECT * FROM t ORDER BY id)"),
		query("SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_master ORDER BY name)"),
		query("PRAGMA user_version"),
	)
	look := func(t *testing.T) string {
		reply := must(t, db, state, nil)
		return string(reply.Steps[0].Rows) + string(reply.Steps[1].Rows) + string(reply.Steps[2].Rows)
	}
	f.Fuzz(func(t *testing.T, raw []byte, invented string) {
		if _, failure := other.Exec(t.Context(), start, nil); failure != nil {
			// An invented statement put something else in the table's place.
			_, _ = other.Exec(t.Context(), write(once("DROP VIEW IF EXISTS t")), nil)
			_, _ = other.Exec(t.Context(), write(once("DROP TABLE IF EXISTS t")), nil)
			must(t, other, start, nil)
		}
		d := &decoder{b: raw}
		exec := &abi.SQLExec{ReadOnly: d.below(8) == 7}
		for i := range 1 + d.below(5) {
			exec.Steps = append(exec.Steps, d.step(i, invented))
		}
		var call capability.Call
		call.Put(page(2, d.value(), d.value(), d.value(), d.value(), d.value(), d.value(), d.value(), d.value()))
		call.Put(page(1, abi.Int(1), abi.Text("z"), abi.Null))
		call.Put(page(0))

		before := look(t)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		reply, failure := db.Exec(ctx, exec, &call)
		if failure == nil {
			checkReply(t, exec, reply, &call)
		} else if failure.Message == "" || failure.Code == abi.CodeOK || failure.Code > abi.CodeInternal {
			t.Errorf("failure %+v", failure)
		}
		// Another process can write at once, so no transaction is open.
		must(t, other, write(query("SELECT 1")), nil)
		if failure != nil || exec.ReadOnly {
			if after := look(t); after != before {
				t.Errorf("a program that failed with %v changed the file:\n%q\n%q", failure, before, after)
			}
		}
	})
}

func checkReply(t *testing.T, exec *abi.SQLExec, reply *abi.SQLExecReply, call *capability.Call) {
	t.Helper()
	if len(reply.Steps) != len(exec.Steps) {
		t.Fatalf("%d results of %d steps", len(reply.Steps), len(exec.Steps))
	}
	for i, result := range reply.Steps {
		switch exec.Steps[i].Result {
		case abi.ResultInline:
			rows, err := abi.ParseTable(result.Rows)
			if err != nil || uint64(rows.Len()) != result.RowCount {
				t.Errorf("step %d: %v, %d rows where %d are told", i, err, rows.Len(), result.RowCount)
			}
		case abi.ResultNone:
		case abi.ResultHandle:
			rows, ok := call.Get(result.Handle)
			if !ok || uint64(rows.Len()) != result.RowCount {
				t.Errorf("step %d: handle %d is wrong", i, result.Handle)
			}
			if _, err := abi.ParseTable(result.Last); result.RowCount > 0 && err != nil {
				t.Errorf("step %d: last row: %v", i, err)
			}
		}
	}
}
