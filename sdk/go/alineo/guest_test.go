//go:build !wasip1 && !tinygo.wasm

package alineo

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
)

// double answers capability calls with functions of a test.
type double struct {
	sql   func(*abi.SQLExec) (*abi.SQLExecReply, *abi.Error)
	read  func(*abi.BatchRead) (*abi.BatchRows, *abi.Error)
	cell  func(*abi.BatchCell) (*abi.BatchBytes, *abi.Error)
	lines []string
}

func (d *double) Call(op abi.Op, req []byte) (abi.Code, []byte) {
	switch {
	case op == abi.OpSQLExec && d.sql != nil:
		return respond(req, new(abi.SQLExec), d.sql)
	case op == abi.OpBatchRead && d.read != nil:
		return respond(req, new(abi.BatchRead), d.read)
	case op == abi.OpBatchCell && d.cell != nil:
		return respond(req, new(abi.BatchCell), d.cell)
	}
	return abi.CodeUnsupported, (&abi.Error{Code: abi.CodeUnsupported, Message: "no " + op.String()}).AppendTo(nil)
}

func (d *double) Log(level Level, line string) {
	d.lines = append(d.lines, fmt.Sprint(uint32(level), " ", line))
}

func respond[Req, Reply abi.Message](wire []byte, req Req, run func(Req) (Reply, *abi.Error)) (abi.Code, []byte) {
	if err := req.Unmarshal(wire); err != nil {
		panic(err)
	}
	reply, failure := run(req)
	if failure != nil {
		return failure.Code, failure.AppendTo(nil)
	}
	return abi.CodeOK, reply.AppendTo(nil)
}

// serveTest makes p the plugin of the test process until the test ends.
func serveTest(t testing.TB, p Plugin, host Host) {
	t.Helper()
	t.Cleanup(Attach(host))
	Serve(p)
}

// code returns the code of an *abi.Error, or fails.
func code(t *testing.T, err error) abi.Code {
	t.Helper()
	var e *abi.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is not an *abi.Error", err)
	}
	return e.Code
}

func TestEveryOperationReachesItsMethod(t *testing.T) {
	t.Parallel()
	l := new(recorder)
	serveTest(t, Plugin{Manifest: abi.Manifest{Name: "n"}, Ledger: l, Maintenance: l}, nil)
	key := abi.SandboxKey{Name: "run", SandboxID: "id"}
	for _, c := range []struct {
		op   abi.Op
		req  abi.Message
		want string
	}{
		{abi.OpLedgerOpen, &abi.LedgerOpenRequest{Key: key}, "Open run/id"},
		{abi.OpLedgerAppend, &abi.LedgerAppendRequest{Entries: 7}, "Append 7"},
		{abi.OpLedgerRead, &abi.LedgerReadRequest{Key: key, Limit: 3}, "Read run/id 3"},
		{abi.OpLedgerLastCheckpoint, &abi.LastCheckpointRequest{Key: key, Tag: "t"}, "LastCheckpoint run/id t"},
		{abi.OpLedgerListCheckpoints, &abi.SandboxPageRequest{Key: key, Limit: 4}, "ListCheckpoints run/id 4"},
		{abi.OpLedgerListSandboxes, &abi.ListSandboxesRequest{Status: "running"}, "ListSandboxes running"},
		{abi.OpLedgerGetSandbox, &abi.SandboxRequest{Key: key}, "GetSandbox run/id"},
		{abi.OpLedgerFindSandbox, &abi.FindSandboxRequest{SandboxID: "id"}, "FindSandbox id"},
		{abi.OpLedgerDeleteSandbox, &abi.SandboxRequest{Key: key}, "DeleteSandbox run/id"},
		{abi.OpLedgerListHeads, &abi.PageRequest{Limit: 5}, "ListHeads 5"},
		{abi.OpLedgerListSegments, &abi.SandboxPageRequest{Key: key, Limit: 6}, "ListSegments run/id 6"},
		{abi.OpLedgerListTombstones, &abi.PageRequest{Limit: 7}, "ListTombstones 7"},
		{abi.OpLedgerUsage, &abi.SandboxRequest{Key: key}, "Usage run/id"},
		{abi.OpLedgerStats, nil, "Stats"},
		{abi.OpEnvironmentGet, &abi.EnvironmentRequest{Name: "e"}, "GetEnvironment e"},
		{abi.OpEnvironmentSave, &abi.Environment{Name: "e"}, "SaveEnvironment e"},
		{abi.OpEnvironmentDelete, &abi.EnvironmentRequest{Name: "e"}, "DeleteEnvironment e"},
		{abi.OpEnvironmentList, nil, "ListEnvironments"},
	} {
		l.called = ""
		if err := Dispatch(c.op, c.req, nil); err != nil {
			t.Errorf("%s: %v", c.op, err)
		}
		if l.called != c.want {
			t.Errorf("%s reached %q, want %q", c.op, l.called, c.want)
		}
		if c.req == nil {
			continue
		}
		garbage := abi.Raw{0x0a, 0xff}
		if err := Dispatch(c.op, &garbage, nil); code(t, err) != abi.CodeInvalid {
			t.Errorf("%s with garbage: %v", c.op, err)
		}
	}
	var manifest abi.Manifest
	if err := Dispatch(abi.OpDescribe, nil, &manifest); err != nil || len(manifest.Kinds) != 1 || manifest.Kinds[0] != "ledger" {
		t.Errorf("the manifest is %+v, %v", manifest, err)
	}
	if want := "ledger.list_heads ledger.list_segments ledger.list_tombstones ledger.usage ledger.stats"; strings.Join(manifest.Optional, " ") != want {
		t.Errorf("the manifest declares %q, want %q", manifest.Optional, want)
	}
}

// recorder notes which method was called; every reply is nil.
type recorder struct{ called string }

func (r *recorder) note(words ...any) {
	for i, w := range words {
		if key, ok := w.(abi.SandboxKey); ok {
			words[i] = key.Name + "/" + key.SandboxID
		}
	}
	r.called = strings.TrimSpace(fmt.Sprintln(words...))
}

func (r *recorder) Open(m *abi.LedgerOpenRequest) (*abi.Head, error) {
	r.note("Open", m.Key)
	return nil, nil
}

func (r *recorder) Append(m *abi.LedgerAppendRequest) (*abi.LedgerAppendReply, error) {
	r.note("Append", m.Entries)
	return nil, nil
}

func (r *recorder) Read(m *abi.LedgerReadRequest) (*abi.RowsReply, error) {
	r.note("Read", m.Key, m.Limit)
	return nil, nil
}

func (r *recorder) LastCheckpoint(m *abi.LastCheckpointRequest) (*abi.RowsReply, error) {
	r.note("LastCheckpoint", m.Key, m.Tag)
	return nil, nil
}

func (r *recorder) ListCheckpoints(m *abi.SandboxPageRequest) (*abi.RowsReply, error) {
	r.note("ListCheckpoints", m.Key, m.Limit)
	return nil, nil
}

func (r *recorder) ListHeads(m *abi.PageRequest) (*abi.RowsReply, error) {
	r.note("ListHeads", m.Limit)
	return nil, nil
}

func (r *recorder) ListSegments(m *abi.SandboxPageRequest) (*abi.RowsReply, error) {
	r.note("ListSegments", m.Key, m.Limit)
	return nil, nil
}

func (r *recorder) ListTombstones(m *abi.PageRequest) (*abi.RowsReply, error) {
	r.note("ListTombstones", m.Limit)
	return nil, nil
}

func (r *recorder) Usage(m *abi.SandboxRequest) (*abi.Usage, error) {
	r.note("Usage", m.Key)
	return nil, nil
}

func (r *recorder) Stats() (*abi.Stats, error) {
	r.note("Stats")
	return nil, nil
}

func (r *recorder) ListSandboxes(m *abi.ListSandboxesRequest) (*abi.RowsReply, error) {
	r.note("ListSandboxes", m.Status)
	return nil, nil
}

func (r *recorder) GetSandbox(m *abi.SandboxRequest) (*abi.RowsReply, error) {
	r.note("GetSandbox", m.Key)
	return nil, nil
}

func (r *recorder) FindSandbox(m *abi.FindSandboxRequest) (*abi.RowsReply, error) {
	r.note("FindSandbox", m.SandboxID)
	return nil, nil
}

func (r *recorder) DeleteSandbox(m *abi.SandboxRequest) (*abi.DeleteReply, error) {
	r.note("DeleteSandbox", m.Key)
	return nil, nil
}

func (r *recorder) GetEnvironment(m *abi.EnvironmentRequest) (*abi.Environment, error) {
	r.note("GetEnvironment", m.Name)
	return nil, nil
}

func (r *recorder) SaveEnvironment(m *abi.Environment) error {
	r.note("SaveEnvironment", m.Name)
	return nil
}

func (r *recorder) DeleteEnvironment(m *abi.EnvironmentRequest) error {
	r.note("DeleteEnvironment", m.Name)
	return nil
}

func (r *recorder) ListEnvironments() (*abi.RowsReply, error) {
	r.note("ListEnvironments")
	return nil, nil
}

func TestWhatIsMissingIsUnsupported(t *testing.T) {
	t.Parallel()
	ledgerOps := []abi.Op{
		abi.OpLedgerOpen, abi.OpLedgerAppend, abi.OpLedgerRead, abi.OpLedgerLastCheckpoint, abi.OpLedgerListCheckpoints,
		abi.OpLedgerListSandboxes, abi.OpLedgerGetSandbox, abi.OpLedgerFindSandbox, abi.OpLedgerDeleteSandbox,
		abi.OpLedgerListHeads, abi.OpLedgerListSegments, abi.OpLedgerListTombstones, abi.OpLedgerUsage, abi.OpLedgerStats,
		abi.OpEnvironmentGet, abi.OpEnvironmentSave, abi.OpEnvironmentDelete, abi.OpEnvironmentList,
	}
	serveTest(t, Plugin{}, nil)
	for _, op := range append([]abi.Op{0, 0x7777, abi.OpSQLExec}, ledgerOps...) {
		if err := Dispatch(op, nil, nil); code(t, err) != abi.CodeUnsupported || !strings.Contains(err.Error(), op.String()) {
			t.Errorf("%s without a ledger: %v", op, err)
		}
	}
	for _, op := range []abi.Op{abi.OpDescribe, abi.OpConfigure, abi.OpHealth, abi.OpClose, abi.OpEcho} {
		if err := Dispatch(op, nil, nil); err != nil {
			t.Errorf("%s of an empty plugin: %v", op, err)
		}
	}
	Serve(Plugin{Ledger: Unimplemented{}, Maintenance: Unimplemented{}})
	for _, op := range ledgerOps {
		if err := Dispatch(op, nil, nil); code(t, err) != abi.CodeUnsupported {
			t.Errorf("%s of an unimplemented ledger: %v", op, err)
		}
	}
}

func TestErrorsCross(t *testing.T) {
	t.Parallel()
	own := &abi.Error{Code: abi.CodeConflict, Message: "moved", Retryable: true, Details: map[string]string{abi.DetailSegment: "1"}}
	for name, c := range map[string]struct {
		health  func() (string, error)
		code    abi.Code
		message string
	}{
		"own":           {func() (string, error) { return "", own }, abi.CodeConflict, "moved"},
		"wrapped":       {func() (string, error) { return "", fmt.Errorf("appending: %w", own) }, abi.CodeConflict, "appending: conflict: moved"},
		"other":         {func() (string, error) { return "", errors.New("what") }, abi.CodeInternal, "what"},
		"panic text":    {func() (string, error) { panic("oh") }, abi.CodeInternal, "panic in health: oh"},
		"panic error":   {func() (string, error) { panic(errors.New("oh no")) }, abi.CodeInternal, "panic in health: oh no"},
		"panic value":   {func() (string, error) { panic(7) }, abi.CodeInternal, "panic in health: a value that is neither an error nor a string"},
		"panic runtime": {func() (string, error) { return "", fmt.Errorf("%d", []int{1}[len(own.Message)]) }, abi.CodeInternal, "index out of range"},
	} {
		t.Run(name, func(t *testing.T) {
			serveTest(t, Plugin{Health: c.health}, nil)
			err := Dispatch(abi.OpHealth, nil, nil)
			var e *abi.Error
			if !errors.As(err, &e) || e.Code != c.code || !strings.Contains(e.Message, c.message) {
				t.Fatalf("got %v, want %s %q", err, c.code, c.message)
			}
			if c.code == abi.CodeConflict && (e.Details[abi.DetailSegment] != "1" || !e.Retryable) {
				t.Errorf("details are lost: %+v", e)
			}
			// The instance lives on.
			body := abi.Raw("still here")
			if err := Dispatch(abi.OpEcho, &body, &body); err != nil || string(body) != "still here" {
				t.Errorf("echo afterwards: %q, %v", body, err)
			}
		})
	}
}

func TestConfigure(t *testing.T) {
	t.Parallel()
	serveTest(t, Plugin{Configure: func(req *abi.ConfigureRequest) (*abi.ConfigureReply, error) {
		if req.Config != `{"a":1}` || req.HostVersion != "1" {
			return nil, errors.New("lost")
		}
		return &abi.ConfigureReply{Diagnostics: []abi.Diagnostic{{Key: "a", Message: "unknown key"}}}, nil
	}}, nil)
	var reply abi.ConfigureReply
	err := Dispatch(abi.OpConfigure, &abi.ConfigureRequest{Config: `{"a":1}`, HostVersion: "1"}, &reply)
	if err != nil || len(reply.Diagnostics) != 1 || reply.Diagnostics[0].Key != "a" {
		t.Errorf("%+v, %v", reply, err)
	}
}

func TestGarbageFromTheHost(t *testing.T) {
	t.Parallel()
	serveTest(t, Plugin{}, nil)
	copy(guest.buffer(2), "\xff\xff")
	if _, err := abi.ParseFrame(guest.call(abi.OpEcho, 2)); code(t, err) != abi.CodeInvalid {
		t.Errorf("an envelope of garbage: %v", err)
	}
	if _, err := abi.ParseFrame(guest.call(abi.OpEcho, 1<<31)); code(t, err) != abi.CodeInvalid {
		t.Errorf("a length beyond the buffer: %v", err)
	}
	guest.served = false
	if err := Dispatch(abi.OpDescribe, nil, nil); code(t, err) != abi.CodeInternal || !strings.Contains(err.Error(), "Serve") {
		t.Errorf("without Serve: %v", err)
	}
}

func TestBuffersAreReused(t *testing.T) { // not parallel: it counts allocations
	serveTest(t, Plugin{}, nil)
	req := (&abi.Request{CallID: 1, DeadlineMS: 5000, Body: make([]byte, 256)}).AppendTo(nil)
	echo := func() {
		copy(guest.buffer(uint32(len(req))), req)
		if frame := guest.call(abi.OpEcho, uint32(len(req))); len(frame) != 257 || frame[0] != abi.FrameOK {
			t.Fatalf("echo answered %x", frame)
		}
	}
	echo()
	if n := testing.AllocsPerRun(100, echo); n != 0 {
		t.Errorf("an echo allocates %v times", n)
	}
	address := &guest.buffer(1)[0]
	if &guest.buffer(0)[0] != address || &guest.buffer(firstBuffer)[0] != address {
		t.Error("the buffer moves although it need not grow")
	}
	// A large request is let go of by the next small one.
	if n := len(guest.buffer(8 << 20)); n < 8<<20 {
		t.Errorf("the buffer has %d bytes", n)
	}
	if n := len(guest.buffer(10)); n > keepBuffer {
		t.Errorf("the buffer keeps %d bytes", n)
	}
}

func TestLogAndCallInfo(t *testing.T) {
	t.Parallel()
	host := new(double)
	var info CallInfo
	serveTest(t, Plugin{Health: func() (string, error) {
		Log(Warn, "careful")
		info = CurrentCall()
		return "fine", nil
	}}, host)
	var reply abi.HealthReply
	if err := Dispatch(abi.OpHealth, nil, &reply); err != nil || reply.Message != "fine" {
		t.Errorf("%+v, %v", reply, err)
	}
	if len(host.lines) != 1 || host.lines[0] != "4 careful" {
		t.Errorf("log lines %q", host.lines)
	}
	if info.ID == 0 || info.DeadlineMS != 0 {
		t.Errorf("the call is %+v", info)
	}
}
