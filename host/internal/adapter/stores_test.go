package adapter_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/adapter"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/host/store/storetest"
)

// floor is the bundled plugin as one that has no more than what applications keep themselves.
type floor struct{ adapter.Guest }

func (f floor) Manifest() abi.Manifest {
	m := f.Guest.Manifest()
	m.Kinds, m.Optional = []string{"instances", "runs"}, nil
	return m
}

// TestStoresOfTheFloor: a plugin that has only instances and runs, with nothing optional, keeps all rules
// of those, and what it does not have is refused.
func TestStoresOfTheFloor(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t)
	storetest.Run(t, func(t storetest.T) storetest.Storage {
		file := filepath.Join(t.TempDir(), "ledger.db")
		return storetest.Storage{OpenStores: func(ctx context.Context) (storetest.Stores, error) {
			l, err := openSQLite(ctx, rt, file, "normal")
			if err != nil {
				return storetest.Stores{}, err
			}
			s := adapter.NewStores(floor{l.(opened).guest})
			if s.Log != nil || s.Locks != nil {
				err = errors.New("a plugin without log and locks has them")
			}
			return storetest.Stores{Instances: s.Instances, Runs: s.Runs, Close: l.Close}, err
		}}
	}, storetest.FeatureStoresOnly, storetest.FeatureHandles, storetest.FeatureInstances, storetest.FeatureRuns)
}

// liar is a guest that answers one operation with a reply of its own.
type liar struct {
	adapter.Guest
	op    abi.Op
	reply abi.Message
}

func (l liar) Call(ctx context.Context, op abi.Op, req abi.Message, call *capability.Call, reply abi.Message) error {
	if op != l.op {
		return l.Guest.Call(ctx, op, req, call, reply)
	}
	if failure, ok := l.reply.(*abi.Error); ok {
		return &plugin.Error{Plugin: l.Name(), Op: op, Kind: plugin.KindGuest, Sent: true, Err: failure}
	}
	return reply.Unmarshal(l.reply.AppendTo(nil))
}

func rowsOf(columns int, values ...abi.Value) []byte {
	w := abi.NewTableWriter(nil, columns)
	w.Row(values...)
	return w.Bytes()
}

// runRow is a right row of run-1, with changes.
func runRow(change map[uint32]abi.Value) []abi.Value {
	row := make([]abi.Value, abi.RunColumns)
	row[abi.RunID], row[abi.RunThread], row[abi.RunStatus], row[abi.RunStarted] = abi.Text("run-1"), abi.Text("t"), abi.Text("running"), abi.Int(1)
	for column, v := range change {
		row[column] = v
	}
	return row
}

func runTable(rows ...[]abi.Value) []byte {
	return rowsOf(int(abi.RunColumns), slices.Concat(rows...)...)
}

// TestStoresDoNotBelieve: whatever a guest answers, nonsense is an error of the plugin that names it.
func TestStoresDoNotBelieve(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(t.TempDir(), "x.db"), Synchronous: "normal"})
	if err != nil {
		t.Fatal(err)
	}
	guest := guestOn(t, newRuntime(t), "sqlite", db, patient)
	if _, _, err := adapter.NewStores(guest).Runs.CreateOrGet(t.Context(), store.NewRun{ID: "run-1", ThreadID: "t", StartedAt: new(int64(1))}); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	get := func(s adapter.Stores) error { _, _, err := s.Runs.Get(ctx, "run-1"); return err }
	claim := func(s adapter.Stores) error { _, err := s.Runs.Claim(ctx, "run-1"); return err }
	patchIf := func(s adapter.Stores) error {
		_, err := s.Runs.PatchIf(ctx, "run-1", 1, store.RunPatch{})
		return err
	}
	create := func(s adapter.Stores) error {
		_, _, err := s.Runs.CreateOrGet(ctx, store.NewRun{ID: "run-1", ThreadID: "t"})
		return err
	}
	instance := func(s adapter.Stores) error { _, _, err := s.Instances.Get(ctx, "k"); return err }
	list := func(s adapter.Stores) error {
		_, err := s.Runs.ListByThread(ctx, "t", store.PageOptions{})
		return err
	}
	waiting := func(s adapter.Stores) error {
		_, err := s.Runs.ListReclaimable(ctx, store.ReclaimOptions{TTL: time.Second})
		return err
	}
	appendTo := func(s adapter.Stores) error {
		_, err := s.Log.Append(ctx, store.LogAppend{RunID: "run-1", Epoch: 1, After: new(uint64(4)), Events: []store.LogEvent{{}}})
		return err
	}
	read := func(s adapter.Stores) error {
		_, err := s.Log.Read(ctx, "run-1", store.LogReadOptions{After: 4})
		return err
	}
	lock := func(s adapter.Stores) error {
		_, err := s.Locks.TryAcquire(ctx, "k", "me", time.Second)
		return err
	}
	events := func(offset int64) []byte {
		return rowsOf(int(abi.LogColumns), abi.Int(offset), abi.Int(1), abi.Text(""), abi.Blob(nil))
	}
	waits := func(since int64, detached abi.Value) []byte {
		return rowsOf(int(abi.ReclaimColumns), append(runRow(map[uint32]abi.Value{abi.RunDetached: detached}), abi.Int(since))...)
	}
	for name, c := range map[string]struct {
		op    abi.Op
		reply abi.Message
		ask   func(adapter.Stores) error
		want  string
	}{
		"another run":                 {abi.OpRunsGet, &abi.RowsReply{Table: runTable(runRow(map[uint32]abi.Value{abi.RunID: abi.Text("run-2")}))}, get, "another run"},
		"two runs":                    {abi.OpRunsGet, &abi.RowsReply{Table: runTable(runRow(nil), runRow(nil))}, get, "2 rows; 1 were asked for"},
		"other columns":               {abi.OpRunsGet, &abi.RowsReply{Table: rowsOf(1, abi.Int(1))}, get, "1 columns"},
		"no table":                    {abi.OpRunsGet, &abi.RowsReply{Table: []byte{1, 2, 3}}, get, "can't be read"},
		"a handle of nobody":          {abi.OpRunsGet, &abi.RowsReply{Rows: 77}, get, "handle 77"},
		"no status":                   {abi.OpRunsGet, &abi.RowsReply{Table: runTable(runRow(map[uint32]abi.Value{abi.RunStatus: abi.Null}))}, get, "without id or status"},
		"a wrong kind":                {abi.OpRunsGet, &abi.RowsReply{Table: runTable(runRow(map[uint32]abi.Value{abi.RunStarted: abi.Text("x")}))}, get, "not an integer"},
		"a usage that is none":        {abi.OpRunsGet, &abi.RowsReply{Table: runTable(runRow(map[uint32]abi.Value{abi.RunUsage: abi.Text("{")}))}, get, "no JSON"},
		"a third truth":               {abi.OpRunsGet, &abi.RowsReply{Table: runTable(runRow(map[uint32]abi.Value{abi.RunCancelRequested: abi.Int(2)}))}, get, "0 or 1"},
		"a negative epoch":            {abi.OpRunsGet, &abi.RowsReply{Table: runTable(runRow(map[uint32]abi.Value{abi.RunDriverEpoch: abi.Int(-1)}))}, get, "epoch -1"},
		"a claim without an epoch":    {abi.OpRunsClaim, &abi.RunReply{Outcome: abi.RunChanged, Table: runTable(runRow(nil))}, claim, "has no epoch"},
		"a claim without the run":     {abi.OpRunsClaim, &abi.RunReply{Outcome: abi.RunChanged}, claim, "without the run"},
		"a claim of what has ended":   {abi.OpRunsClaim, &abi.RunReply{Outcome: abi.RunChanged, Table: runTable(runRow(map[uint32]abi.Value{abi.RunDriverEpoch: abi.Int(1), abi.RunStatus: abi.Text("failed")}))}, claim, "failed"},
		"a refusal of what runs":      {abi.OpRunsClaim, &abi.RunReply{Table: runTable(runRow(nil))}, claim, "refused a claim"},
		"an outcome that is none":     {abi.OpRunsClaim, &abi.RunReply{Outcome: 3, Table: runTable(runRow(nil))}, claim, "outcome 3"},
		"an unknown run with a row":   {abi.OpRunsClaim, &abi.RunReply{Outcome: abi.RunUnknown, Table: runTable(runRow(nil))}, claim, "that there is none"},
		"a patch of another epoch":    {abi.OpRunsPatchIf, &abi.RunReply{Outcome: abi.RunChanged, Table: runTable(runRow(map[uint32]abi.Value{abi.RunDriverEpoch: abi.Int(2)}))}, patchIf, "another epoch"},
		"a creation of nothing":       {abi.OpRunsCreateOrGet, &abi.RunReply{Outcome: abi.RunUnknown}, create, "no such run"},
		"a creation of something":     {abi.OpRunsCreateOrGet, &abi.RunReply{Outcome: abi.RunChanged, Table: runTable(runRow(map[uint32]abi.Value{abi.RunThread: abi.Text("u")}))}, create, `thread "u"`},
		"another key":                 {abi.OpInstancesGet, &abi.RowsReply{Table: rowsOf(int(abi.InstanceColumns), abi.Text("K"), abi.Text("p"), abi.Text("s"), abi.Null, abi.Text("t"), abi.Null, abi.Int(1))}, instance, "another key"},
		"a record of no sandbox":      {abi.OpInstancesGet, &abi.RowsReply{Table: rowsOf(int(abi.InstanceColumns), abi.Text("k"), abi.Text("p"), abi.Null, abi.Null, abi.Text("t"), abi.Null, abi.Int(1))}, instance, "no sandbox"},
		"a page that does not move":   {abi.OpRunsListByThread, &abi.RowsReply{Table: runTable(runRow(nil)), More: true}, list, "does not move"},
		"a page in another order":     {abi.OpRunsListByThread, &abi.RowsReply{Table: runTable(runRow(nil), runRow(nil))}, list, "does not follow"},
		"another thread":              {abi.OpRunsListByThread, &abi.RowsReply{Table: runTable(runRow(map[uint32]abi.Value{abi.RunThread: abi.Text("u")}))}, list, "another thread"},
		"no clock":                    {abi.OpRunsListReclaimable, &abi.RowsReply{Table: waits(1, abi.Int(1))}, waiting, "reckons from 0"},
		"one that waits too short":    {abi.OpRunsListReclaimable, &abi.RowsReply{Now: 5000, Table: waits(4500, abi.Int(4500))}, waiting, "not long enough"},
		"one that was not detached":   {abi.OpRunsListReclaimable, &abi.RowsReply{Now: 5000, Table: waits(1, abi.Null)}, waiting, "not detached"},
		"a tail that does not fit":    {abi.OpLogAppend, &abi.LogTail{Tail: 9}, appendTo, "ends with event 9"},
		"a tail beyond numbers":       {abi.OpLogAppend, &abi.LogTail{Tail: 1 << 60}, appendTo, "ends with event"},
		"a refusal that says nothing": {abi.OpLogAppend, &abi.Error{Code: abi.CodeConflict, Message: "no"}, appendTo, "does not say how the log stands"},
		"an event too early":          {abi.OpLogRead, &abi.LogPage{Tail: 5, Table: events(4)}, read, "offset 4, not 5"},
		"an event that is missing":    {abi.OpLogRead, &abi.LogPage{Tail: 6, Table: events(6)}, read, "offset 6, not 5"},
		"an event behind the end":     {abi.OpLogRead, &abi.LogPage{Tail: 4, Table: events(5)}, read, "ends with 4"},
		"more behind the end":         {abi.OpLogRead, &abi.LogPage{Tail: 5, Table: events(5), More: true}, read, "there are events behind"},
		"less than there is":          {abi.OpLogRead, &abi.LogPage{Tail: 9, Table: events(5)}, read, "no more"},
		"more dropped than stored":    {abi.OpLogRead, &abi.LogPage{Tail: 4, Dropped: 5}, read, "has lost"},
		"a lock without a token":      {abi.OpLocksTryAcquire, &abi.LockReply{Acquired: true, Fence: 1, Owner: "me"}, lock, "0 bytes of token"},
		"a lock of another":           {abi.OpLocksTryAcquire, &abi.LockReply{Acquired: true, Fence: 1, Owner: "you", Token: "t"}, lock, `"you"`},
		"a lock for longer":           {abi.OpLocksTryAcquire, &abi.LockReply{Acquired: true, Fence: 1, Owner: "me", Token: "t", LeftMS: 2000}, lock, "2000 ms"},
		"a token of another's":        {abi.OpLocksTryAcquire, &abi.LockReply{Owner: "you", Token: "t"}, lock, "somebody else's"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.ask(adapter.NewStores(liar{guest, c.op, c.reply}))
			failed, ok := errors.AsType[*plugin.Error](err)
			if !ok || failed.Kind != plugin.KindProtocol || failed.Op != c.op || failed.Plugin != "sqlite" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want one of the plugin's protocol that says %q", err, c.want)
			}
		})
	}
	// A refusal is one all the way down.
	err = appendTo(adapter.NewStores(liar{guest, abi.OpLogAppend, &abi.Error{
		Code: abi.CodeConflict, Details: map[string]string{abi.DetailTail: "7", abi.DetailEpoch: "3", abi.DetailClosed: "1"},
	}}))
	refused, ok := errors.AsType[*store.LogError](err)
	if !ok || *refused != (store.LogError{Closed: true, Epoch: 3, Tail: 7}) || !errors.Is(err, store.ErrConflict) {
		t.Errorf("the refusal is %v", err)
	}
}
