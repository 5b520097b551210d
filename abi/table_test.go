package abi_test

import (
	"bytes"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
)

func TestTables(t *testing.T) {
	t.Parallel()
	for _, s := range tables() {
		table, err := abi.ParseTable(s.wire)
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
			continue
		}
		rows, err := readTable(s.wire)
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
			continue
		}
		for i, want := range s.values {
			r, c := i/s.columns, i%s.columns
			if got := table.Value(r, c); !sameValue(got, want) {
				t.Errorf("%s: row %d column %d is %v, want %v", s.name, r, c, got, want)
			}
			if got := rows[r][c]; !sameValue(got, want) {
				t.Errorf("%s: streamed row %d column %d is %v, want %v", s.name, r, c, got, want)
			}
		}
		for _, cell := range [][2]int{{-1, 0}, {0, -1}, {table.Len(), 0}, {0, table.Columns()}} {
			if got := table.Value(cell[0], cell[1]); got.Kind != abi.KindNull {
				t.Errorf("%s: cell %v outside of the table is %v", s.name, cell, got)
			}
		}
	}
}

func TestTableWriter(t *testing.T) {
	t.Parallel()
	w := abi.NewTableWriter([]byte("before"), 2)
	w.Row(abi.Int(1), abi.Text("one"))
	w.Value(abi.Int(2))
	if w.Rows() != 1 || w.Size() != abi.TableHeader+9+8+9 {
		t.Errorf("%d rows, %d bytes", w.Rows(), w.Size())
	}
	b := w.Bytes()
	if !bytes.HasPrefix(b, []byte("before")) {
		t.Fatalf("what was there before has changed: %x", b)
	}
	table, err := abi.ParseTable(b[len("before"):])
	if err != nil {
		t.Fatal(err)
	}
	if table.Len() != 2 || table.Value(1, 0).Int != 2 || table.Value(1, 1).Kind != abi.KindNull {
		t.Errorf("an unfinished row is not filled up with nulls: %d rows", table.Len())
	}
	w.Row(abi.Int(3), abi.Bool(true))
	if err := table.Parse(w.Bytes()[len("before"):]); err != nil || table.Len() != 3 {
		t.Errorf("going on after Bytes: %d rows, %v", table.Len(), err)
	}
}

func TestTableReaderFitsTheRowGiven(t *testing.T) {
	t.Parallel()
	w := abi.NewTableWriter(nil, 2)
	w.Row(abi.Int(1), abi.Int(2), abi.Int(3), abi.Int(4))
	r, err := abi.NewTableReader(w.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	wide, narrow := []abi.Value{{}, {}, abi.Int(9)}, []abi.Value{{}}
	if !r.Next(wide) || wide[1].Int != 2 || wide[2].Kind != abi.KindNull {
		t.Errorf("a wide row is %v", wide)
	}
	if !r.Next(narrow) || narrow[0].Int != 3 {
		t.Errorf("a narrow row is %v", narrow)
	}
	if r.Next(narrow) || r.Err() != nil {
		t.Errorf("after the end: %v", r.Err())
	}
}
