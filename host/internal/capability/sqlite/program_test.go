package sqlite_test

import (
	"reflect"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
)

const notes = `CREATE TABLE notes (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, size INTEGER CHECK (size < 1000), data BLOB)`

func TestProgram(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", sqlite.Memory} {
		t.Run("path="+path, func(t *testing.T) {
			t.Parallel()
			db := open(t, sqlite.Options{Path: path})
			reply := must(t, db, write(
				once(notes),
				once("INSERT INTO notes (name, size, data) VALUES (?, ?, ?)", abi.Text("a"), abi.Int(-7), abi.Blob([]byte{0, 1})),
				once("INSERT INTO notes (name, size, data) VALUES (?, ?, ?)", abi.Text(""), abi.Null, abi.Blob(nil)),
				query("SELECT id, name, size, data, 1.5, typeof(data) FROM notes ORDER BY id"),
				once("UPDATE notes SET size = 3"),
				once("CREATE INDEX by_size ON notes(size)"),
			), nil)
			want := [][]string{{"1", "a", "-7", "x'0001'", "1.5", "blob"}, {"2", "", "NULL", "x''", "1.5", "blob"}}
			if got := table(t, reply.Steps[3]); !reflect.DeepEqual(got, want) {
				t.Errorf("rows %v, want %v", got, want)
			}
			var affected []uint64
			for _, s := range reply.Steps {
				affected = append(affected, s.Affected)
			}
			if want := []uint64{0, 1, 1, 0, 2, 0}; !reflect.DeepEqual(affected, want) {
				t.Errorf("affected %v, want %v", affected, want)
			}
			if got := scalar(t, db, "SELECT sum(size) FROM notes"); got != "6" {
				t.Errorf("sum is %s, want 6", got)
			}
		})
	}
}

func TestBatch(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 3, 4, 5, 8, 11} {
		db := open(t, sqlite.Options{})
		rows := capability.NewPage(3)
		for i := range n {
			rows.AppendInt(int64(i))
			rows.AppendBytes(abi.KindText, []byte{byte('a' + i)})
			rows.AppendNull()
		}
		var call capability.Call
		reply := must(t, db, write(once(notes), abi.SQLStep{
			SQL:   "INSERT INTO notes (name, size, data) VALUES (?, ?, ?)",
			Batch: call.Put(rows), ManyRows: 4,
			ManySQL: "INSERT INTO notes (name, size, data) VALUES (?, ?, ?), (?, ?, ?), (?, ?, ?), (?, ?, ?)",
			Params:  append(columns(1, 0), abi.SQLParam{Value: abi.Text("z")}),
			Expect:  new(uint64(1)),
		}), &call)
		if got := reply.Steps[1].Affected; got != uint64(n) {
			t.Errorf("%d rows: %d affected", n, got)
		}
		want := "NULL"
		for i := range n {
			if i == 0 {
				want = ""
			}
			want += string(rune('a'+i)) + show(abi.Int(int64(i))) + "z"
		}
		if got := scalar(t, db, "SELECT group_concat(name || size || data, '' ORDER BY id) FROM notes"); got != want {
			t.Errorf("%d rows: table is %s, want %s", n, got, want)
		}
	}
}

func TestEarlierResults(t *testing.T) {
	t.Parallel()
	db := open(t, sqlite.Options{})
	var call capability.Call
	first := query("INSERT INTO notes (name) VALUES ('a') RETURNING id + 41, name")
	second := once("INSERT INTO notes (id, name) VALUES (?, ? || 'b')")
	second.Params = []abi.SQLParam{{Kind: abi.ParamResult, Step: 1}, {Kind: abi.ParamResult, Step: 1, Column: 1}}
	must(t, db, write(once(notes), first, second), &call)
	if got := scalar(t, db, "SELECT id || name FROM notes WHERE id > 1"); got != "42ab" {
		t.Errorf("row is %s, want 42ab", got)
	}

	for name, step := range map[string]abi.SQLStep{
		"later":   {SQL: "SELECT ?", Params: []abi.SQLParam{{Kind: abi.ParamResult, Step: 1}}},
		"no rows": {SQL: "SELECT ?", Params: []abi.SQLParam{{Kind: abi.ParamResult, Step: 0}}},
		"column":  {SQL: "SELECT ?", Params: []abi.SQLParam{{Kind: abi.ParamResult, Step: 0, Column: 9}}},
		"kind":    {SQL: "SELECT ?", Params: []abi.SQLParam{{Kind: 9}}},
		"batch":   {SQL: "SELECT ?", Params: columns(0)},
		"value":   {SQL: "SELECT ?", Params: []abi.SQLParam{{Value: abi.Value{Kind: 77}}}},
		"few":     {SQL: "SELECT ?"},
		"many":    {SQL: "SELECT 1", Params: []abi.SQLParam{{}}},
		"place":   {SQL: "SELECT 1", Result: 9},
	} {
		failure := fails(t.Context(), t, db, write(query("SELECT 1 WHERE 0"), step), &call, abi.CodeInvalid, "")
		if failure.Details[abi.DetailStep] != "1" {
			t.Errorf("%s: details are %v", name, failure.Details)
		}
	}
	fails(t.Context(), t, db, write(abi.SQLStep{SQL: "SELECT 1", Batch: 99}), &call, abi.CodeNotFound, "handle 99")
	fails(t.Context(), t, db, write(abi.SQLStep{SQL: "SELECT 1", Batch: 1}), nil, abi.CodeNotFound, "handle 1")
}

// TestFailingRow checks that a failure in a many-row form names its row, and that nothing stays.
func TestFailingRow(t *testing.T) {
	t.Parallel()
	insert := "INSERT INTO notes (name, size) VALUES (?, ?)"
	insert4 := "INSERT INTO notes (name, size) VALUES (?, ?), (?, ?), (?, ?), (?, ?)"
	update := "UPDATE notes SET size = ?2 WHERE name = ?1"
	cases := []struct {
		name   string
		step   abi.SQLStep
		spoil  func(name *abi.Value, size *abi.Value)
		code   abi.Code
		text   string
		expect *uint64
	}{
		{"check", abi.SQLStep{SQL: insert, ManySQL: insert4, ManyRows: 4}, func(_, size *abi.Value) { *size = abi.Int(1000) }, abi.CodeInvalid, "CHECK constraint", nil},
		{"null", abi.SQLStep{SQL: insert, ManySQL: insert4, ManyRows: 4}, func(name, _ *abi.Value) { *name = abi.Null }, abi.CodeInvalid, "NOT NULL constraint", nil},
		{"unique", abi.SQLStep{SQL: insert, ManySQL: insert4, ManyRows: 4}, func(name, _ *abi.Value) { *name = abi.Text("there") }, abi.CodeConflict, "UNIQUE constraint", nil},
		{"mismatch", abi.SQLStep{
			SQL: insert + " ON CONFLICT DO NOTHING", ManySQL: insert4 + " ON CONFLICT DO NOTHING", ManyRows: 4,
			MismatchCode: abi.CodeUnavailable, MismatchMessage: "superseded",
		}, func(name, _ *abi.Value) { *name = abi.Text("there") }, abi.CodeUnavailable, "superseded", new(uint64(1))},
		{"no many", abi.SQLStep{SQL: update}, func(_, _ *abi.Value) {}, abi.CodeConflict, "changed 0 rows where 1 were expected", new(uint64(1))},
	}
	for _, c := range cases {
		for _, bad := range []int{0, 1, 6, 7, 8} {
			if c.name == "no many" {
				bad = 0
			}
			db := open(t, sqlite.Options{})
			must(t, db, write(once(notes), once("INSERT INTO notes (name) VALUES ('there')")), nil)
			rows := capability.NewPage(2)
			for i := range 9 {
				name, size := abi.Text(string(rune('a'+i))), abi.Int(int64(i))
				if i == bad {
					c.spoil(&name, &size)
				}
				rows.AppendValue(name)
				rows.AppendValue(size)
			}
			var call capability.Call
			step := c.step
			step.Batch, step.Params, step.Expect = call.Put(rows), columns(0, 1), c.expect
			failure := fails(t.Context(), t, db, write(once("UPDATE notes SET size = 9"), step), &call, c.code, c.text)
			want := map[string]string{abi.DetailStep: "1", abi.DetailRow: show(abi.Int(int64(bad)))}
			if !reflect.DeepEqual(failure.Details, want) {
				t.Errorf("%s at %d: details are %v, want %v", c.name, bad, failure.Details, want)
			}
			if got := scalar(t, db, "SELECT count(*) || ' ' || total(size) FROM notes"); got != "1 0.0" {
				t.Errorf("%s at %d: the table has %s, want 1 0.0", c.name, bad, got)
			}
		}
	}
}

func TestExpect(t *testing.T) {
	t.Parallel()
	db := open(t, sqlite.Options{})
	must(t, db, write(once(notes), once("INSERT INTO notes (name) VALUES ('a'), ('b'), ('c')")), nil)
	cases := []struct {
		sql  string
		n    uint64
		fine bool
	}{
		{"SELECT * FROM notes", 3, true},
		{"SELECT * FROM notes", 2, false},
		{"SELECT * FROM notes", 4, false},
		{"SELECT * FROM notes WHERE 0", 0, true},
		{"UPDATE notes SET size = 1 RETURNING id", 3, true},
		{"UPDATE notes SET size = 1", 3, true},
		{"UPDATE notes SET size = 1 WHERE 0", 0, true},
		{"UPDATE notes SET size = 1", 1, false},
		{"CREATE TABLE IF NOT EXISTS other (x)", 0, true},
	}
	for _, c := range cases {
		for _, place := range []abi.SQLResult{abi.ResultNone, abi.ResultInline, abi.ResultHandle} {
			var call capability.Call
			step := abi.SQLStep{SQL: c.sql, Expect: &c.n, Result: place, MaxRows: 1}
			if c.fine {
				must(t, db, write(step), &call)
			} else {
				fails(t.Context(), t, db, write(step), &call, abi.CodeConflict, "expected")
			}
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	db := open(t, sqlite.Options{})
	must(t, db, write(once(notes), once("INSERT INTO notes (name, data) SELECT value, zeroblob(100) FROM json_each('[1,2,3,4,5,6,7,8]')")), nil)
	cases := []struct {
		rows, bytes uint64
		kept        uint64
		more        bool
	}{
		{0, 0, 8, false},
		{8, 0, 8, false},
		{7, 0, 7, true},
		{1, 0, 1, true},
		{0, 1, 1, true},
		{0, 105, 2, true}, // the row that passes it is kept
		{0, 1000, 8, false},
	}
	for _, c := range cases {
		for _, place := range []abi.SQLResult{abi.ResultInline, abi.ResultHandle} {
			var call capability.Call
			reply := must(t, db, read(abi.SQLStep{
				SQL: "SELECT data FROM notes ORDER BY id", Result: place, MaxRows: c.rows, MaxBytes: c.bytes,
			}), &call)
			if got := reply.Steps[0]; got.RowCount != c.kept || got.More != c.more {
				t.Errorf("%+v: kept %d, more %v", c, got.RowCount, got.More)
			}
		}
	}
	// A statement that writes is not cut short by the bounds of what is kept of it.
	reply := must(t, db, write(abi.SQLStep{SQL: "UPDATE notes SET size = 1 RETURNING id", Result: abi.ResultInline, MaxRows: 2}), nil)
	if got := reply.Steps[0]; got.RowCount != 2 || !got.More || got.Affected != 8 {
		t.Errorf("update kept %d, more %v, affected %d", got.RowCount, got.More, got.Affected)
	}
	fails(t.Context(), t, db, read(query("SELECT zeroblob(5000000)")), nil, abi.CodeResourceExhausted, "ask for a handle")
}

func TestHandle(t *testing.T) {
	t.Parallel()
	db := open(t, sqlite.Options{})
	var call capability.Call
	reply := must(t, db, read(
		abi.SQLStep{SQL: "SELECT value, 'text', zeroblob(100000) FROM json_each('[1,2,3]')", Result: abi.ResultHandle},
		abi.SQLStep{SQL: "SELECT 1 WHERE 0", Result: abi.ResultHandle},
	), &call)
	rows, ok := call.Get(reply.Steps[0].Handle)
	if !ok || rows.Len() != 3 || rows.Columns() != 3 || rows.Value(2, 0).Int != 3 || rows.Value(1, 1).String() != "text" || len(rows.Value(0, 2).Bytes) != 100000 {
		t.Errorf("rows behind the handle are wrong")
	}
	last, err := abi.ParseTable(reply.Steps[0].Last)
	if err != nil {
		t.Fatal(err)
	}
	// Cells too large for a cursor are left out of the last row.
	if last.Len() != 1 || last.Value(0, 0).Int != 3 || last.Value(0, 1).String() != "text" || last.Value(0, 2).Kind != abi.KindNull {
		t.Errorf("last row is %v", last)
	}
	if empty, ok := call.Get(reply.Steps[1].Handle); !ok || empty.Len() != 0 || len(reply.Steps[1].Last) != 0 {
		t.Errorf("empty result is wrong")
	}
	// A handle of one program is a batch of the next.
	step := abi.SQLStep{SQL: "INSERT INTO copies VALUES (?, ?)", Params: columns(0, 1), Batch: reply.Steps[0].Handle}
	must(t, db, write(once("CREATE TABLE copies (a, b)"), step), &call)
	if got := scalar(t, db, "SELECT group_concat(a || b) FROM copies"); got != "1text,2text,3text" {
		t.Errorf("copies are %s", got)
	}
	fails(t.Context(), t, db, read(abi.SQLStep{SQL: "SELECT 1", Result: abi.ResultHandle}), nil, abi.CodeInvalid, "no call")
}
