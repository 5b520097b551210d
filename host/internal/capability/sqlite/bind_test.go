package sqlite_test

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
)

// TestBindingsFollowTheRows runs one many-row statement again and again, for columns that mostly say what
// they said before and sometimes do not: in the first row of a run, within it, by another kind, by a
// text too long to be kept, after a run that failed and after the table has changed.
func TestBindingsFollowTheRows(t *testing.T) {
	t.Parallel()
	const group, insert = 4, "INSERT INTO t (a, b, c) VALUES "
	values := []abi.Value{
		abi.Text("one"), abi.Text("one"), abi.Text("one"), abi.Text("two"), abi.Text("owt"), abi.Text(""), abi.Null, abi.Int(1), abi.Int(2),
		abi.Real(1), abi.Blob([]byte("one")), abi.JSON([]byte("one")), abi.Text(strings.Repeat("x", 100)), abi.Text(strings.Repeat("y", 64)),
	}
	db := open(t, sqlite.Options{Path: sqlite.Memory})
	must(t, db, write(once("CREATE TABLE t (id INTEGER PRIMARY KEY, a, b, c CHECK (c <> 'no'))")), nil)
	random := rand.New(rand.NewPCG(1, 2))
	pick := func() abi.Value {
		v := values[random.IntN(len(values))]
		v.Bytes = append(make([]byte, 0, 128), v.Bytes...) // mostly somewhere else
		return v
	}
	for range 300 {
		rows := capability.NewPage(3)
		var want [][]string
		now := [3]abi.Value{pick(), pick(), pick()}
		for range random.IntN(4 * group) {
			if random.IntN(3) == 0 {
				now[random.IntN(3)] = pick()
			}
			for _, v := range now {
				rows.AppendValue(v)
			}
			want = append(want, []string{show(now[0]), show(now[1]), show(now[2])})
		}
		failing := random.IntN(8) == 0
		if failing {
			for range group {
				rows.AppendValue(now[1])
				rows.AppendValue(now[0])
				rows.AppendValue(abi.Text("no"))
			}
		}
		var call capability.Call
		program := write(abi.SQLStep{
			SQL: insert + "(?, ?, ?)", ManySQL: insert + "(?, ?, ?)" + strings.Repeat(", (?, ?, ?)", group-1),
			Batch: call.Put(rows), ManyRows: group, Params: columns(0, 1, 2),
		}, query("SELECT a, b, c FROM t ORDER BY id"), once("DELETE FROM t"))
		if failing {
			fails(t.Context(), t, db, program, &call, abi.CodeInvalid, "CHECK constraint")
			continue
		}
		if got := table(t, must(t, db, program, &call).Steps[1]); !reflect.DeepEqual(got, want) {
			t.Fatalf("rows\n%v, want\n%v", got, want)
		}
		if random.IntN(20) == 0 {
			must(t, db, write(once("CREATE INDEX IF NOT EXISTS i ON t(a)")), nil)
			must(t, db, write(once("DROP INDEX i")), nil)
		}
	}
}
