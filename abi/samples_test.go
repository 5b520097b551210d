package abi_test

import (
	"math"
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
)

// sample is one message value with a name for test output and golden vectors.
type sample struct {
	name    string
	message abi.Message
}

const nasty = "Zürich\x00 日本語 🦀 \"quoted\"\n"

// samples covers every message: empty, typical and at its limits.
func samples() []sample {
	return append(ledgerSamples(), brokerSamples()...)
}

func ledgerSamples() []sample {
	long := strings.Repeat("x", 300)
	key := abi.SandboxKey{Name: "build", SandboxID: "sb-1"}
	return append(storeSamples(), []sample{
		{"Empty/empty", &abi.Empty{}},
		{"Request/empty", &abi.Request{}},
		{"Request/typical", &abi.Request{CallID: 7, DeadlineMS: 5000, Traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", Body: []byte("ping")}},
		{"Request/limits", &abi.Request{CallID: math.MaxUint64, DeadlineMS: math.MaxUint64, Traceparent: nasty, Body: []byte(long)}},
		{"Error/empty", &abi.Error{}},
		{"Error/typical", &abi.Error{Code: abi.CodeConflict, Message: "head has moved", Details: map[string]string{abi.DetailSegment: "2"}}},
		{"Error/limits", &abi.Error{Code: math.MaxInt32, Message: nasty, Retryable: true, Details: map[string]string{"": "", "b": nasty, "a": long}}},
		{"Want/empty", &abi.Want{}},
		{"Want/typical", &abi.Want{Name: "sql", Resource: "ledger", Reason: "stores the ledger"}},
		{"Want/optional", &abi.Want{Name: "http", Reason: "asks a Vault", Optional: true}},
		{"Manifest/empty", &abi.Manifest{}},
		{"Manifest/typical", &abi.Manifest{
			Name: "sqlite", Version: "1.2.3", Kinds: []string{"ledger", "runs"}, Optional: []string{"runs.claim"},
			Capabilities: []abi.Want{{Name: "sql", Resource: "ledger", Reason: "stores the ledger"}},
			ConfigSchema: `{"type":"object"}`, State: abi.StateNone,
		}},
		{"Manifest/limits", &abi.Manifest{
			Name: nasty, Version: long, Kinds: []string{"", "", nasty}, Optional: []string{""},
			Capabilities: []abi.Want{{}, {Name: long, Resource: long, Reason: long}, {}}, ConfigSchema: long, State: math.MaxInt32,
		}},
		{"ConfigureRequest/empty", &abi.ConfigureRequest{}},
		{"ConfigureRequest/typical", &abi.ConfigureRequest{Config: `{"table":"events"}`, HostVersion: "0.1.0", Features: []string{"http", "secret"}}},
		{"Diagnostic/empty", &abi.Diagnostic{}},
		{"Diagnostic/typical", &abi.Diagnostic{Key: "table", Message: "must not be empty"}},
		{"ConfigureReply/empty", &abi.ConfigureReply{}},
		{"ConfigureReply/typical", &abi.ConfigureReply{Diagnostics: []abi.Diagnostic{{Key: "a.b", Message: "unknown key"}, {}}}},
		{"HealthReply/empty", &abi.HealthReply{}},
		{"HealthReply/typical", &abi.HealthReply{Message: "schema 3, 42 sandboxes"}},
		{"SandboxKey/empty", &abi.SandboxKey{}},
		{"SandboxKey/typical", &key},
		{"SandboxKey/limits", &abi.SandboxKey{Name: nasty, SandboxID: long}},
		{"LedgerOpenRequest/empty", &abi.LedgerOpenRequest{}},
		{"LedgerOpenRequest/typical", &abi.LedgerOpenRequest{Key: key}},
		{"Head/empty", &abi.Head{}},
		{"Head/new", &abi.Head{Epoch: 1, LastStep: -1}},
		{"Head/typical", &abi.Head{Epoch: 3, LastStep: 41, MaxTS: 1764432000123, Entries: 512, Hash: fill(32, 0xab), SegmentID: fill(16, 0xcd)}},
		{"Head/limits", &abi.Head{Epoch: math.MaxUint64, LastStep: math.MinInt64, MaxTS: math.MinInt64, Entries: math.MaxUint64, Hash: fill(200, 0)}},
		{"LedgerAppendRequest/empty", &abi.LedgerAppendRequest{}},
		{"LedgerAppendRequest/typical", &abi.LedgerAppendRequest{Entries: 1, Segments: 2, EntryCount: 512, SegmentCount: 3, Size: 104448}},
		{"LedgerAppendRequest/limits", &abi.LedgerAppendRequest{Entries: math.MaxUint64, Segments: math.MaxUint64, EntryCount: math.MaxUint64, SegmentCount: math.MaxUint64, Size: math.MaxUint64}},
		{"LedgerAppendReply/empty", &abi.LedgerAppendReply{}},
		{"LedgerAppendReply/typical", &abi.LedgerAppendReply{Already: true}},
		{"LedgerReadRequest/empty", &abi.LedgerReadRequest{}},
		{"LedgerReadRequest/typical", &abi.LedgerReadRequest{Key: key, Cursor: []byte{0, 1, 2}, Limit: 1000, MaxBytes: 1 << 20}},
		{"LedgerReadRequest/last", &abi.LedgerReadRequest{Key: key, Last: 20}},
		{"PageRequest/empty", &abi.PageRequest{}},
		{"PageRequest/typical", &abi.PageRequest{Cursor: []byte{5, 'b'}, Limit: 1000, MaxBytes: 1 << 20}},
		{"PageRequest/limits", &abi.PageRequest{Cursor: []byte(long), Limit: math.MaxUint64, MaxBytes: math.MaxUint64}},
		{"SandboxPageRequest/empty", &abi.SandboxPageRequest{}},
		{"SandboxPageRequest/typical", &abi.SandboxPageRequest{Key: key, Cursor: []byte{0, 1, 2}, Limit: 1000, MaxBytes: 1 << 20}},
		{"Usage/empty", &abi.Usage{}},
		{"Usage/typical", &abi.Usage{Entries: 1000, Bytes: 204800, FirstTS: 1764432000123, LastTS: 1764432060000, Created: true, Closed: true}},
		{"Usage/limits", &abi.Usage{Entries: math.MaxUint64, Bytes: math.MaxUint64, FirstTS: math.MinInt64, LastTS: -1, Closed: true}},
		{"Stats/empty", &abi.Stats{}},
		{"Stats/typical", &abi.Stats{Entries: 1000000, StorageBytes: 1 << 28, SchemaVersion: 2}},
		{"Stats/limits", &abi.Stats{Entries: -1, StorageBytes: -1, SchemaVersion: math.MinInt64}},
		{"RowsReply/empty", &abi.RowsReply{}},
		{"RowsReply/handle", &abi.RowsReply{Rows: 3, Cursor: []byte{0xff, 0}, More: true}},
		{"RowsReply/table", &abi.RowsReply{Table: tables()[2].wire}},
		{"RowsReply/now", &abi.RowsReply{Rows: 3, Now: 1764432000123}},
		{"LastCheckpointRequest/empty", &abi.LastCheckpointRequest{}},
		{"LastCheckpointRequest/typical", &abi.LastCheckpointRequest{Key: key, Tag: "ready"}},
		{"SandboxRequest/empty", &abi.SandboxRequest{}},
		{"SandboxRequest/typical", &abi.SandboxRequest{Key: key}},
		{"FindSandboxRequest/empty", &abi.FindSandboxRequest{}},
		{"FindSandboxRequest/typical", &abi.FindSandboxRequest{SandboxID: "sb-1"}},
		{"ListSandboxesRequest/empty", &abi.ListSandboxesRequest{}},
		{"ListSandboxesRequest/zeros", &abi.ListSandboxesRequest{Limit: new(uint64(0)), Before: new(int64(0))}},
		{"ListSandboxesRequest/typical", &abi.ListSandboxesRequest{Name: "build", Status: "running", Limit: new(uint64(50)), Before: new(int64(1764432000123))}},
		{"ListSandboxesRequest/limits", &abi.ListSandboxesRequest{Limit: new(uint64(math.MaxUint64)), Before: new(int64(-1)), RunID: nasty, ResourceID: "r", TeamID: "t", Cursor: []byte{0}}},
		{"ListSandboxesRequest/prefix", &abi.ListSandboxesRequest{Cursor: []byte{1}, IDPrefix: "6f1c2d3e"}},
		{"DeleteReply/empty", &abi.DeleteReply{}},
		{"DeleteReply/typical", &abi.DeleteReply{Rows: 128}},
		{"DeleteReply/more", &abi.DeleteReply{Rows: 20000, More: true}},
		{"EnvironmentRequest/empty", &abi.EnvironmentRequest{}},
		{"EnvironmentRequest/typical", &abi.EnvironmentRequest{Name: "node-20"}},
		{"Environment/empty", &abi.Environment{}},
		{"Environment/typical", &abi.Environment{Name: "node-20", SnapshotID: "snap-9", Image: "node:20", BuiltAt: 1764432000123}},
		{"Environment/limits", &abi.Environment{Name: nasty, BuiltAt: -1}},
		{"SQLExec/empty", &abi.SQLExec{}},
		{"SQLExec/append", &abi.SQLExec{Database: "ledger", Steps: []abi.SQLStep{
			{
				SQL:     "UPDATE heads SET epoch = ?1 WHERE name = ?2",
				Params:  []abi.SQLParam{{Value: abi.Int(-3)}, {Value: abi.Text("build")}},
				Expect:  new(uint64(1)),
				Batch:   2,
				Result:  abi.ResultHandle,
				MaxRows: 10, MaxBytes: 1 << 20,
				MismatchCode: abi.CodeConflict, MismatchMessage: "head has moved",
			},
			{
				SQL:      "INSERT INTO e VALUES (?, ?, ?)",
				Params:   []abi.SQLParam{{Kind: abi.ParamColumn}, {Kind: abi.ParamColumn, Column: 6}, {Kind: abi.ParamResult, Step: 1, Column: 2}},
				Batch:    1,
				ManySQL:  "INSERT INTO e VALUES (?, ?, ?), (?, ?, ?)",
				ManyRows: 2,
			},
		}}},
		{"SQLExec/readonly", &abi.SQLExec{Database: "ledger", ReadOnly: true, Steps: []abi.SQLStep{{}, {SQL: "SELECT 1", Expect: new(uint64(0)), Result: abi.ResultInline}, {}}}},
		{"SQLStep/empty", &abi.SQLStep{}},
		{"SQLStep/limits", &abi.SQLStep{
			SQL: long, Params: []abi.SQLParam{{}, {}}, Batch: math.MaxUint64, ManySQL: nasty, ManyRows: math.MaxUint64, Expect: new(uint64(math.MaxUint64)),
			MismatchCode: math.MaxInt32, MismatchMessage: nasty, Result: math.MaxInt32, MaxRows: math.MaxUint64, MaxBytes: math.MaxUint64,
		}},
		{"SQLParam/null", &abi.SQLParam{}},
		{"SQLParam/int", &abi.SQLParam{Value: abi.Int(math.MinInt64)}},
		{"SQLParam/real", &abi.SQLParam{Value: abi.Real(-0.5)}},
		{"SQLParam/bool", &abi.SQLParam{Value: abi.Bool(true)}},
		{"SQLParam/text", &abi.SQLParam{Value: abi.Text(nasty)}},
		{"SQLParam/json", &abi.SQLParam{Value: abi.JSON([]byte("null"))}},
		{"SQLParam/blob", &abi.SQLParam{Value: abi.Blob([]byte{0, 0xff, 0x80})}},
		{"SQLParam/later-kind", &abi.SQLParam{Value: abi.Value{Kind: 200, Bytes: []byte("later")}}},
		{"SQLParam/limits", &abi.SQLParam{Kind: math.MaxInt32, Column: math.MaxUint32, Step: math.MaxUint32}},
		{"SQLStepResult/empty", &abi.SQLStepResult{}},
		{"SQLStepResult/handle", &abi.SQLStepResult{RowCount: 1000, Handle: 4, Last: tables()[2].wire, More: true}},
		{"SQLExecReply/empty", &abi.SQLExecReply{}},
		{"SQLExecReply/typical", &abi.SQLExecReply{Steps: []abi.SQLStepResult{{Affected: 512}, {}, {RowCount: 1, Rows: tables()[2].wire}}}},
		{"BatchRead/empty", &abi.BatchRead{}},
		{"BatchRead/typical", &abi.BatchRead{Handle: 1, First: 128, MaxRows: 64, MaxBytes: 65536}},
		{"BatchRows/empty", &abi.BatchRows{}},
		{"BatchRows/typical", &abi.BatchRows{Table: tables()[2].wire, Next: 192, Cut: []uint64{128<<8 | 6, 0, math.MaxUint64}}},
		{"BatchCell/empty", &abi.BatchCell{}},
		{"BatchCell/typical", &abi.BatchCell{Handle: 1, Row: 128, Column: 6, Offset: 1 << 20, Length: 1 << 16}},
		{"BatchBytes/empty", &abi.BatchBytes{}},
		{"BatchBytes/typical", &abi.BatchBytes{Data: []byte("part"), Total: 1 << 26}},
	}...)
}

func fill(n int, b byte) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = b
	}
	return out
}

// tableSample is one table, as values and as bytes.
type tableSample struct {
	name    string
	columns int
	values  []abi.Value
	wire    []byte
}

func tables() []tableSample {
	all := []tableSample{
		{name: "no-columns"},
		{name: "no-rows", columns: 3},
		{name: "every-kind", columns: 7, values: []abi.Value{
			abi.Null, abi.Int(-2), abi.Real(1.5), abi.Bool(true), abi.Text("héllo"), abi.JSON([]byte(`{"a":1}`)), abi.Blob([]byte{0, 1, 0xff}),
		}},
		{name: "edges", columns: 2, values: []abi.Value{
			abi.Int(math.MaxInt64), abi.Int(math.MinInt64), abi.Real(math.Inf(-1)), abi.Real(math.Copysign(0, -1)),
			abi.Bool(false), abi.Text(""), abi.Text(nasty), abi.JSON([]byte("null")), abi.Blob(nil), abi.Null,
		}},
		{name: "later-kind", columns: 1, values: []abi.Value{{Kind: 7, Bytes: []byte("skip me")}, {Kind: 255}, abi.Int(1)}},
	}
	for i := range all {
		w := abi.NewTableWriter(nil, all[i].columns)
		w.Row(all[i].values...)
		all[i].wire = w.Bytes()
	}
	return all
}
