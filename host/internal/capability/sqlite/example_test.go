package sqlite_test

import (
	"context"
	"fmt"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
)

// A batch of rows stays on the host; the program says what to do for each of them.
func ExampleDB_Exec() {
	db, err := sqlite.Open(sqlite.Options{Path: sqlite.Memory})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()

	rows := capability.NewPage(2)
	for i, name := range []string{"one", "two", "three"} {
		rows.AppendInt(int64(i + 1))
		rows.AppendBytes(abi.KindText, []byte(name))
	}
	var call capability.Call
	reply, failure := db.Exec(context.Background(), &abi.SQLExec{Steps: []abi.SQLStep{
		{SQL: "CREATE TABLE numbers (value INTEGER PRIMARY KEY, name TEXT NOT NULL)"},
		{
			SQL:   "INSERT INTO numbers (value, name) VALUES (?, ?)",
			Batch: call.Put(rows),
			Params: []abi.SQLParam{
				{Kind: abi.ParamColumn, Column: 0},
				{Kind: abi.ParamColumn, Column: 1},
			},
		},
		{SQL: "SELECT name FROM numbers ORDER BY name", Result: abi.ResultHandle},
	}}, &call)
	if failure != nil {
		fmt.Println(failure)
		return
	}
	names, _ := call.Get(reply.Steps[2].Handle)
	for row := range names.Len() {
		fmt.Println(names.Value(row, 0).String())
	}
	// Output:
	// one
	// three
	// two
}
