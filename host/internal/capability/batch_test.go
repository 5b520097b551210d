package capability_test

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
)

func page(columns int, values ...abi.Value) *capability.Page {
	p := capability.NewPage(columns)
	for _, v := range values {
		p.AppendValue(v)
	}
	return p
}

func TestPage(t *testing.T) {
	t.Parallel()
	values := []abi.Value{
		abi.Null, abi.Int(math.MinInt64),
		{Kind: abi.KindReal, Real: -0.5},
		{Kind: abi.KindBool, Int: 1},
		abi.Text("text"), abi.JSON([]byte(`{}`)), abi.Blob([]byte{0, 255}), abi.Text(""),
	}
	p := page(4, values...)
	for round := range 2 {
		if p.Len() != 2 || p.Columns() != 4 {
			t.Fatalf("round %d: %d rows of %d columns", round, p.Len(), p.Columns())
		}
		for i, want := range values {
			got := p.Value(i/4, i%4)
			if got.Kind != want.Kind || got.Int != want.Int || got.Real != want.Real || !bytes.Equal(got.Bytes, want.Bytes) {
				t.Errorf("round %d: value %d is %+v, want %+v", round, i, got, want)
			}
		}
		raw := p.AppendTable(nil)
		if int64(len(raw)) != abi.TableHeader+p.WireSize() {
			t.Errorf("the table has %d bytes, WireSize says %d", len(raw), p.WireSize())
		}
		table, err := abi.ParseTable(raw)
		if err != nil || table.Len() != 2 || table.Value(1, 0).String() != "text" {
			t.Errorf("table %v, %v", table, err)
		}
		if p.Memory() < 8*16 {
			t.Errorf("memory is %d", p.Memory())
		}
		p.Reset(4)
		if p.Len() != 0 || p.WireSize() != 0 {
			t.Error("Reset left something")
		}
		for _, v := range values {
			p.AppendValue(v)
		}
	}
	row, err := abi.ParseTable(p.AppendRow(nil, 1, 3))
	if err != nil || row.Len() != 1 || row.Value(0, 0).Kind != abi.KindNull || string(row.Value(0, 1).Bytes) != "{}" {
		t.Errorf("row %v, %v", row, err)
	}
	if n := capability.NewPage(0).Len(); n != 0 {
		t.Errorf("a page without columns has %d rows", n)
	}
}

// TestBatchRead reads batches page by page and checks that every cell comes exactly once, cut or whole.
func TestBatchRead(t *testing.T) {
	t.Parallel()
	set := newSet(t)
	long := strings.Repeat("long ", 100)
	mixed := page(3)
	for i := range 40 {
		mixed.AppendInt(int64(i))
		mixed.AppendBytes(abi.KindText, []byte(long[:i*13%len(long)]))
		if i%7 == 0 {
			mixed.AppendBytes(abi.KindJSON, []byte(long))
		} else {
			mixed.AppendNull()
		}
	}
	for name, rows := range map[string]capability.Rows{
		"empty": page(2), "no columns": page(0), "one": page(1, abi.Text(long)), "mixed": mixed,
	} {
		for _, limit := range []abi.BatchRead{{}, {MaxRows: 1}, {MaxRows: 3}, {MaxBytes: 1}, {MaxBytes: 60}, {MaxBytes: 600}, {MaxRows: math.MaxUint64, MaxBytes: math.MaxUint64}} {
			var call capability.Call
			limit.Handle, limit.First = call.Put(rows), 0
			for limit.First < uint64(rows.Len()) {
				var reply abi.BatchRows
				ask(t, set, &call, abi.OpBatchRead, &limit, &reply)
				checkPage(t, set, &call, rows, &limit, &reply)
				if reply.Next <= limit.First {
					t.Fatalf("%s, %+v: no progress", name, limit)
				}
				limit.First = reply.Next
			}
			for _, past := range []uint64{uint64(rows.Len()), uint64(rows.Len()) + 1, math.MaxUint64} {
				limit.First = past
				var reply abi.BatchRows
				ask(t, set, &call, abi.OpBatchRead, &limit, &reply)
				if reply.Next != uint64(rows.Len()) {
					t.Errorf("%s, %+v: past the end the next row is %d", name, limit, reply.Next)
				}
			}
		}
	}
}

func checkPage(t *testing.T, set *capability.Set, call *capability.Call, rows capability.Rows, limit *abi.BatchRead, reply *abi.BatchRows) {
	t.Helper()
	table, err := abi.ParseTable(reply.Table)
	if err != nil {
		t.Fatal(err)
	}
	if uint64(table.Len()) != reply.Next-limit.First || limit.MaxRows > 0 && uint64(table.Len()) > limit.MaxRows {
		t.Fatalf("%+v: %d rows, next is %d", limit, table.Len(), reply.Next)
	}
	if limit.MaxBytes > 100 && uint64(len(reply.Table)) > limit.MaxBytes {
		t.Errorf("%+v: the table has %d bytes", limit, len(reply.Table))
	}
	cut := make(map[[2]int]bool)
	for _, c := range reply.Cut {
		cut[[2]int{int(c >> 8), int(c & 0xff)}] = true
	}
	for r := range table.Len() {
		row := int(limit.First) + r
		for column := range table.Columns() {
			got, want := table.Value(r, column), rows.Value(row, column)
			if cut[[2]int{row, column}] {
				if got.Kind != abi.KindNull {
					t.Errorf("cut cell is %+v", got)
				}
				var cell abi.BatchBytes
				ask(t, set, call, abi.OpBatchCell, &abi.BatchCell{Handle: limit.Handle, Row: uint64(row), Column: uint64(column)}, &cell)
				got = abi.Value{Kind: want.Kind, Bytes: cell.Data}
			}
			if got.Kind != want.Kind || got.Int != want.Int || !bytes.Equal(got.Bytes, want.Bytes) {
				t.Errorf("%+v: row %d, column %d is %+v, want %+v", limit, row, column, got, want)
			}
		}
	}
}

// TestWideRow checks what can't be said: a cut cell beyond the columns that Cut can name.
func TestWideRow(t *testing.T) {
	t.Parallel()
	set := newSet(t)
	wide := capability.NewPage(300)
	for range 300 {
		wide.AppendBytes(abi.KindText, []byte("0123456789"))
	}
	var call capability.Call
	handle := call.Put(wide)
	var reply abi.BatchRows
	ask(t, set, &call, abi.OpBatchRead, &abi.BatchRead{Handle: handle}, &reply)
	if len(reply.Cut) != 0 || reply.Next != 1 {
		t.Errorf("a wide row that fits was cut: %v", reply.Cut)
	}
	refused(t, set, &call, abi.OpBatchRead, (&abi.BatchRead{Handle: handle, MaxBytes: 500}).AppendTo(nil), abi.CodeUnsupported, "more than 256 columns")
}

func TestBatchCell(t *testing.T) {
	t.Parallel()
	set := newSet(t)
	var call capability.Call
	handle := call.Put(page(2, abi.Int(1), abi.Text("hello"), abi.Null, abi.Blob(make([]byte, capability.MaxReadBytes+10))))
	for _, c := range []struct {
		offset, length uint64
		want           string
	}{{0, 0, "hello"}, {0, 5, "hello"}, {1, 2, "el"}, {4, 100, "o"}, {5, 1, ""}, {2, math.MaxUint64, "llo"}} {
		var reply abi.BatchBytes
		ask(t, set, &call, abi.OpBatchCell, &abi.BatchCell{Handle: handle, Column: 1, Offset: c.offset, Length: c.length}, &reply)
		if string(reply.Data) != c.want || reply.Total != 5 {
			t.Errorf("%+v: %q of %d", c, reply.Data, reply.Total)
		}
	}
	var reply abi.BatchBytes
	ask(t, set, &call, abi.OpBatchCell, &abi.BatchCell{Handle: handle, Row: 1, Column: 1, Length: math.MaxUint64}, &reply)
	if len(reply.Data) != capability.MaxReadBytes || reply.Total != capability.MaxReadBytes+10 {
		t.Errorf("%d bytes of %d", len(reply.Data), reply.Total)
	}
	for _, c := range []struct {
		cell abi.BatchCell
		text string
	}{
		{abi.BatchCell{Row: 2}, "no cell at row 2"},
		{abi.BatchCell{Column: 2}, "column 2"},
		{abi.BatchCell{Row: math.MaxUint64, Column: math.MaxUint64}, "no cell"},
		{abi.BatchCell{}, "neither text nor json nor blob"},
		{abi.BatchCell{Row: 1}, "neither text"},
		{abi.BatchCell{Column: 1, Offset: 6}, "offset 6 is past the 5 bytes"},
	} {
		c.cell.Handle = handle
		refused(t, set, &call, abi.OpBatchCell, c.cell.AppendTo(nil), abi.CodeInvalid, c.text)
	}
}

func TestCall(t *testing.T) {
	t.Parallel()
	var none *capability.Call
	if _, ok := none.Get(1); ok || none.Room(1, 0) {
		t.Error("no call has something")
	}
	var call capability.Call
	first, second := page(1), page(2)
	handles := []uint64{call.Put(first), call.Keep(second, capability.MaxKept/2)}
	if !reflect.DeepEqual(handles, []uint64{1, 2}) {
		t.Errorf("handles are %v", handles)
	}
	if got, ok := call.Get(2); !ok || got != capability.Rows(second) {
		t.Error("handle 2 names something else")
	}
	for _, handle := range []uint64{0, 3, math.MaxUint64} {
		if _, ok := call.Get(handle); ok {
			t.Errorf("handle %d names something", handle)
		}
	}
	if !call.Room(1, capability.MaxKept/4) || call.Room(1, capability.MaxKept/2) || call.Room(1<<20, 0) || call.Room(1, math.MaxInt64) {
		t.Error("the room is wrong")
	}
}

// FuzzHandle feeds requests of guests: whatever comes, the answer is a reply or an error.
func FuzzHandle(f *testing.F) {
	exec := abi.SQLExec{Database: "ledger", Steps: []abi.SQLStep{
		{SQL: "SELECT ?", Params: []abi.SQLParam{{Kind: abi.ParamColumn}}, Batch: 1, Result: abi.ResultHandle},
	}}
	f.Add(uint32(abi.OpSQLExec), exec.AppendTo(nil))
	f.Add(uint32(abi.OpBatchRead), (&abi.BatchRead{Handle: 1, MaxRows: 2, MaxBytes: 30}).AppendTo(nil))
	f.Add(uint32(abi.OpBatchCell), (&abi.BatchCell{Handle: 1, Row: 1, Column: 1, Offset: 1, Length: 2}).AppendTo(nil))
	set := newSet(f)
	f.Fuzz(func(t *testing.T, op uint32, req []byte) {
		var call capability.Call
		call.Put(page(2, abi.Int(1), abi.Text("one"), abi.Null, abi.Blob([]byte("two"))))
		for range 3 { // the third time it may be a kept program
			out, failure := set.Handle(t.Context(), &call, abi.Op(op), req, nil)
			if failure != nil {
				if failure.Code == abi.CodeOK || failure.Message == "" || len(out) > 0 {
					t.Errorf("failure %+v with %d bytes of reply", failure, len(out))
				}
				continue
			}
			var reply abi.Message
			switch abi.Op(op) {
			case abi.OpSQLExec:
				reply = new(abi.SQLExecReply)
			case abi.OpBatchRead:
				reply = new(abi.BatchRows)
			case abi.OpBatchCell:
				reply = new(abi.BatchBytes)
			default:
				t.Fatalf("operation %d succeeded", op)
			}
			if err := reply.Unmarshal(out); err != nil {
				t.Error(err)
			}
		}
	})
}
