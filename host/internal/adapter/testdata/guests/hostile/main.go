// Command hostile is a small ledger that works until its configuration tells it how to misbehave:
// {"mode":"…"}. Modes that begin with "rows-" are about answers with rows, "head-" about opening,
// "append-" about appending, "keep-" about what is kept beside entries; "" is honest.
package main

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

const database = alineo.SQL("ledger")

//go:wasmimport wasi_snapshot_preview1 proc_exit
func exit(code uint32)

type ledger struct {
	alineo.Unimplemented
	mode string
}

func main() {}

func init() {
	l := new(ledger)
	alineo.Serve(alineo.Plugin{
		Manifest: abi.Manifest{
			Name: "hostile", Version: "1",
			Capabilities: []abi.Want{{Name: "sql", Resource: string(database), Reason: "to keep what it is told"}},
		},
		Configure: func(req *abi.ConfigureRequest) (*abi.ConfigureReply, error) {
			_, rest, _ := strings.Cut(req.Config, `"mode":"`)
			mode, _, _ := strings.Cut(rest, `"`)
			l.mode = strings.Clone(mode)
			return nil, nil
		},
		Ledger: l, Maintenance: l, Broker: l, Resolver: l,
	})
}

var schema = []alineo.Step{
	alineo.Statement(`CREATE TABLE IF NOT EXISTS events (id INTEGER PRIMARY KEY, sandbox_id TEXT, name TEXT, step INTEGER,
		branch INTEGER, event TEXT, payload TEXT, error TEXT, ts INTEGER)`),
	alineo.Statement(`CREATE TABLE IF NOT EXISTS heads (name TEXT, sandbox_id TEXT, epoch INTEGER, segment BLOB, hash BLOB,
		PRIMARY KEY (name, sandbox_id))`),
}

func (l *ledger) Open(req *abi.LedgerOpenRequest) (*abi.Head, error) {
	pair := []abi.SQLParam{alineo.Text(req.Key.Name), alineo.Text(req.Key.SandboxID)}
	reply, err := database.Write(append(schema[:len(schema):len(schema)],
		alineo.Query(`INSERT INTO heads VALUES (?, ?, 1, x'', x'') ON CONFLICT DO UPDATE SET epoch = epoch + 1
			RETURNING epoch, segment, hash`, pair...),
		alineo.Query(`SELECT coalesce(max(step), -1), coalesce(max(ts), 0), count(*) FROM events WHERE name = ? AND sandbox_id = ?`, pair...),
	)...)
	if err != nil {
		return nil, err
	}
	var epoch, segment, hash, step, ts, count abi.Value
	if _, err := alineo.FirstRow(reply.Steps[len(schema)].Rows, &epoch, &segment, &hash); err != nil {
		return nil, err
	}
	if _, err := alineo.FirstRow(reply.Steps[len(schema)+1].Rows, &step, &ts, &count); err != nil {
		return nil, err
	}
	head := &abi.Head{
		Epoch: uint64(epoch.Int), SegmentID: segment.Bytes, Hash: hash.Bytes,
		LastStep: step.Int, MaxTS: ts.Int, Entries: uint64(count.Int),
	}
	switch l.mode {
	case "head-hash":
		head.Hash = make([]byte, 1<<20)
	case "head-segment":
		head.SegmentID = make([]byte, 15)
	case "head-step":
		head.LastStep = 1<<63 - 1
	case "head-time":
		head.MaxTS = 1<<63 - 1
	case "head-epoch":
		head.Epoch = 1<<64 - 1
	}
	return head, nil
}

func (l *ledger) Append(req *abi.LedgerAppendRequest) (*abi.LedgerAppendReply, error) {
	switch l.mode {
	case "append-lie":
		return nil, nil
	case "append-already":
		return &abi.LedgerAppendReply{Already: true}, nil
	case "append-conflict":
		return nil, &abi.Error{Code: abi.CodeConflict, Message: "somebody somewhere"}
	case "append-entry":
		return nil, &abi.Error{Code: abi.CodeInvalid, Message: "that one", Details: map[string]string{abi.DetailEntry: "999999"}}
	case "append-segment":
		return nil, &abi.Error{Code: abi.CodeConflict, Message: "that one", Details: map[string]string{abi.DetailSegment: "-1"}}
	case "append-code":
		return nil, &abi.Error{Code: 4711, Message: "no such code"}
	case "append-text":
		return nil, &abi.Error{Code: abi.CodeInvalid, Message: "\x1b]0;owned\x07" + strings.Repeat("x", 1<<20)}
	case "append-slow":
		spin(1 << 24)
		return nil, &abi.Error{Code: abi.CodeInvalid, Message: "one of them, guess which"}
	}
	columns := func(c ...uint32) []abi.SQLParam { return alineo.Columns(c...) }
	_, err := database.Write(
		alineo.Statement(`UPDATE heads SET segment = ?, hash = ? WHERE name = ? AND sandbox_id = ? AND epoch = ? AND hash = ?`,
			columns(abi.SegmentID, abi.SegmentHash, abi.SegmentName, abi.SegmentSandboxID, abi.SegmentEpoch, abi.SegmentPrevious)...).
			ForEach(req.Segments).Expect(1, abi.CodeConflict, "the head is elsewhere"),
		alineo.Statement(`INSERT INTO events(sandbox_id, name, step, branch, event, payload, error, ts) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			columns(abi.EntrySandboxID, abi.EntryName, abi.EntryStep, abi.EntryBranch, abi.EntryEvent, abi.EntryPayload, abi.EntryError, abi.EntryTS)...).
			ForEach(req.Entries),
	)
	if err != nil {
		_, known := database.Read(alineo.Query(`SELECT 1 FROM heads WHERE name = ? AND sandbox_id = ? AND segment = ? AND hash = ?`,
			columns(abi.SegmentName, abi.SegmentSandboxID, abi.SegmentID, abi.SegmentHash)...).ForEach(req.Segments).Expect(1, 0, ""))
		return &abi.LedgerAppendReply{Already: known == nil}, and(err, known)
	}
	switch l.mode { // after the commit
	case "append-then-trap":
		exit(7)
	case "append-then-spin":
		spin(1 << 62)
	case "append-then-deny":
		return nil, &abi.Error{Code: abi.CodeUnknownOutcome, Message: "who knows"}
	case "append-then-garbage":
		return nil, &abi.Error{Code: abi.CodeInternal, Message: "\xff\xfe"}
	}
	return nil, nil
}

// and is err unless known says that all is well.
func and(err, known error) error {
	if known == nil {
		return nil
	}
	return err
}

func spin(n int) {
	for i := range n {
		if i == -1 {
			println("never")
		}
	}
}

func (l *ledger) Read(req *abi.LedgerReadRequest) (*abi.RowsReply, error) {
	if strings.HasPrefix(l.mode, "rows-") {
		return l.rows(int(abi.RowColumns), req.Key, req.Cursor)
	}
	after := int64(0)
	if len(req.Cursor) == 8 {
		after = int64(binary.LittleEndian.Uint64(req.Cursor))
	}
	where, params := "id > ?", []abi.SQLParam{alineo.Int(after)}
	if req.Key != (abi.SandboxKey{}) {
		where += " AND name = ? AND sandbox_id = ?"
		params = append(params, alineo.Text(req.Key.Name), alineo.Text(req.Key.SandboxID))
	}
	reply, err := database.Read(alineo.Keep(`SELECT id, sandbox_id, name, step, branch, event, payload, error, ts FROM events
		WHERE `+where+` ORDER BY id`, params...).Limit(req.Limit, req.MaxBytes))
	if err != nil {
		return nil, err
	}
	step := reply.Steps[0]
	var id abi.Value
	cursor := req.Cursor
	if ok, err := alineo.FirstRow(step.Last, &id); ok && err == nil {
		cursor = binary.LittleEndian.AppendUint64(nil, uint64(id.Int))
	}
	return &abi.RowsReply{Rows: step.Handle, Cursor: cursor, More: step.More}, nil
}

func (l *ledger) LastCheckpoint(req *abi.LastCheckpointRequest) (*abi.RowsReply, error) {
	return l.rows(int(abi.RowColumns), req.Key, nil)
}

func (l *ledger) ListCheckpoints(req *abi.SandboxPageRequest) (*abi.RowsReply, error) {
	return l.rows(int(abi.CheckpointColumns), req.Key, nil)
}

func (l *ledger) ListSandboxes(req *abi.ListSandboxesRequest) (*abi.RowsReply, error) {
	return l.rows(int(abi.SandboxColumns), abi.SandboxKey{}, req.Cursor)
}

func (l *ledger) GetSandbox(req *abi.SandboxRequest) (*abi.RowsReply, error) {
	return l.rows(int(abi.SandboxColumns), req.Key, nil)
}

func (l *ledger) FindSandbox(*abi.FindSandboxRequest) (*abi.RowsReply, error) {
	return l.rows(int(abi.SandboxColumns), abi.SandboxKey{}, nil)
}

func (l *ledger) ListEnvironments() (*abi.RowsReply, error) {
	return l.rows(int(abi.EnvironmentColumns), abi.SandboxKey{}, nil)
}

// rows answers with rows as the mode says; honestly there are none.
func (l *ledger) rows(columns int, key abi.SandboxKey, cursor []byte) (*abi.RowsReply, error) {
	turn := 0
	if len(cursor) > 0 {
		turn, _ = strconv.Atoi(string(cursor))
	}
	switch l.mode {
	case "rows-handle":
		return &abi.RowsReply{Rows: 4711}, nil
	case "rows-narrow":
		return &abi.RowsReply{Table: table(columns-1, 1, abi.Null)}, nil
	case "rows-kinds":
		return &abi.RowsReply{Table: table(columns, 1, abi.Real(1.5))}, nil
	case "rows-garbage":
		return &abi.RowsReply{Table: []byte("\x01\x00\x00\x00\x02\x00\x00\x00 no table")}, nil
	case "rows-count":
		return &abi.RowsReply{Table: []byte("\xff\xff\xff\xff\x0b\x00\x00\x00")}, nil
	case "rows-many":
		return &abi.RowsReply{Table: append(abi.AppendTableHeader(nil, 1<<18, uint32(columns)), make([]byte, columns<<18)...)}, nil
	case "rows-stuck":
		return &abi.RowsReply{Table: entries(key, 1), Cursor: cursor, More: true}, nil
	case "rows-empty":
		return &abi.RowsReply{Cursor: []byte(strconv.Itoa(turn + 1)), More: true}, nil
	case "rows-circle":
		return &abi.RowsReply{Table: entries(key, 1+turn%2), Cursor: []byte(strconv.Itoa(1 + turn%2)), More: true}, nil
	case "rows-order":
		return &abi.RowsReply{Table: entries(key, 2, 1), Cursor: []byte("1")}, nil
	case "rows-other":
		return &abi.RowsReply{Table: entries(abi.SandboxKey{Name: "some", SandboxID: "other"}, 1), Cursor: []byte("1")}, nil
	}
	return nil, nil
}

// table has the same value everywhere.
func table(columns, rows int, v abi.Value) []byte {
	w := abi.NewTableWriter(nil, columns)
	for range rows * columns {
		w.Value(v)
	}
	return w.Bytes()
}

// entries has one entry an id.
func entries(key abi.SandboxKey, ids ...int) []byte {
	w := abi.NewTableWriter(nil, int(abi.RowColumns))
	for _, id := range ids {
		w.Row(abi.Int(int64(id)), abi.Text(key.SandboxID), abi.Text(key.Name), abi.Int(-1), abi.Null, abi.Text("x"), abi.Null, abi.Null, abi.Int(int64(id)))
	}
	return w.Bytes()
}
