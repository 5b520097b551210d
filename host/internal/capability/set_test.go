package capability_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
)

// newSet returns a set with an SQLite database in memory, granted as "ledger".
func newSet(t testing.TB) *capability.Set {
	t.Helper()
	db, err := sqlite.Open(sqlite.Options{Path: sqlite.Memory})
	if err != nil {
		t.Fatal(err)
	}
	set := capability.NewSet(capability.SetOptions{Plugin: "my-ledger", Databases: map[string]capability.Database{"ledger": db}})
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	return set
}

// ask runs an operation that has to succeed.
func ask(t testing.TB, set *capability.Set, call *capability.Call, op abi.Op, req, reply abi.Message) {
	t.Helper()
	out, failure := set.Handle(t.Context(), call, op, req.AppendTo(nil), []byte("before"))
	if failure != nil {
		t.Fatalf("%s: %v", op, failure)
	}
	body, ok := bytes.CutPrefix(out, []byte("before"))
	if !ok {
		t.Fatalf("%s: the reply replaced what was there", op)
	}
	if err := reply.Unmarshal(body); err != nil {
		t.Fatal(err)
	}
}

// refused runs an operation that has to fail.
func refused(t testing.TB, set *capability.Set, call *capability.Call, op abi.Op, req []byte, code abi.Code, text string) {
	t.Helper()
	out, failure := set.Handle(t.Context(), call, op, req, []byte("before"))
	if failure == nil || failure.Code != code || !strings.Contains(failure.Message, text) {
		t.Errorf("%s ended with %v, want %s: …%s…", op, failure, code, text)
	}
	if string(out) != "before" {
		t.Errorf("%s failed and changed the reply to %q", op, out)
	}
}

func TestGranted(t *testing.T) {
	t.Parallel()
	set := newSet(t)
	for _, c := range []struct {
		want abi.Want
		text []string
	}{
		{abi.Want{Name: "sql", Resource: "ledger", Reason: "storage"}, nil},
		{abi.Want{Name: "log"}, nil},
		{abi.Want{Name: "sql", Resource: "runs", Reason: "to keep runs"}, []string{`"my-ledger"`, `"runs"`, "to keep runs", "\n[plugins.my-ledger.sql.runs]\n", `"./runs.db"`}},
		{abi.Want{Name: "sql", Resource: "../a b"}, []string{"gives no reason", `[plugins.my-ledger.sql."../a b"]`, `"./data.db"`}},
		{abi.Want{Name: "tcp", Resource: "x:1"}, []string{`"tcp"`, "does not have"}},
	} {
		err := set.Granted(c.want)
		if (err == nil) != (c.text == nil) {
			t.Errorf("%+v: %v", c.want, err)
		}
		for _, text := range c.text {
			if err != nil && !strings.Contains(err.Error(), text) {
				t.Errorf("%+v: error %q lacks %q", c.want, err, text)
			}
		}
	}
	if set.Plugin() != "my-ledger" || set.Logger() == nil || !slices.Equal(set.Databases(), []string{"ledger"}) {
		t.Errorf("set is %s, %v", set.Plugin(), set.Databases())
	}
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	set := newSet(t)
	refused(t, set, nil, 0x9999, nil, abi.CodeUnsupported, "0x9999")
	refused(t, set, nil, abi.OpLedgerRead, nil, abi.CodeUnsupported, "ledger.read")
	for _, op := range []abi.Op{abi.OpSQLExec, abi.OpBatchRead, abi.OpBatchCell} {
		refused(t, set, nil, op, []byte{0xff}, abi.CodeInvalid, "request of "+op.String())
	}
	exec := abi.SQLExec{Database: "other", Steps: []abi.SQLStep{{SQL: "SELECT 1"}}}
	refused(t, set, nil, abi.OpSQLExec, exec.AppendTo(nil), abi.CodeDenied, `database "other" is not granted to plugin "my-ledger"; [plugins.my-ledger.sql.other]`)
	refused(t, set, nil, abi.OpBatchRead, (&abi.BatchRead{Handle: 1}).AppendTo(nil), abi.CodeNotFound, "handle 1")
	refused(t, set, new(capability.Call), abi.OpBatchCell, (&abi.BatchCell{}).AppendTo(nil), abi.CodeNotFound, "handle 0")
}

// TestRepeatedProgram checks that a program that is kept decoded stays what it was, also when the
// memory that it came in is written over, and next to others.
func TestRepeatedProgram(t *testing.T) {
	t.Parallel()
	set := newSet(t)
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			buffer := make([]byte, 0, 4096)
			for i := range 300 {
				want := fmt.Sprint(worker, i%5)
				exec := abi.SQLExec{Database: "ledger", ReadOnly: true, Steps: []abi.SQLStep{{
					SQL: "SELECT ? || ' '", Params: []abi.SQLParam{{Value: abi.Text(want)}}, Result: abi.ResultInline,
				}}}
				buffer = exec.AppendTo(buffer[:0])
				out, failure := set.Handle(context.Background(), nil, abi.OpSQLExec, buffer, nil)
				if failure != nil {
					t.Error(failure)
					return
				}
				for b := range buffer {
					buffer[b] = 0xee
				}
				var reply abi.SQLExecReply
				if err := reply.Unmarshal(out); err != nil {
					t.Error(err)
					return
				}
				rows, err := abi.ParseTable(reply.Steps[0].Rows)
				if err != nil {
					t.Error(err)
				} else if got := rows.Value(0, 0).String(); got != want+" " {
					t.Errorf("got %q, want %q", got, want)
				}
			}
		})
	}
	group.Wait()
	// More programs than are kept.
	for round := range 3 {
		for i := range 200 {
			exec := abi.SQLExec{Database: "ledger", Steps: []abi.SQLStep{{SQL: fmt.Sprintf("SELECT %d", i), Result: abi.ResultInline}}}
			var reply abi.SQLExecReply
			ask(t, set, nil, abi.OpSQLExec, &exec, &reply)
			rows, err := abi.ParseTable(reply.Steps[0].Rows)
			if err != nil || rows.Value(0, 0).Int != int64(i) {
				t.Fatalf("round %d: program %d answered %v, %v", round, i, rows, err)
			}
		}
	}
}

// brokenDatabase can't be closed.
type brokenDatabase struct{ capability.Database }

var errBroken = errors.New("broken")

func (brokenDatabase) Close() error { return errBroken }

func TestCloseJoins(t *testing.T) {
	t.Parallel()
	set := capability.NewSet(capability.SetOptions{Plugin: "p", Databases: map[string]capability.Database{"a": brokenDatabase{}, "b": brokenDatabase{}}})
	err := set.Close()
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), `"a"`) || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("closing: %v", err)
	}
}
