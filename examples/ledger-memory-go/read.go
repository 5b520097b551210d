package main

import (
	"encoding/binary"
	"slices"

	"github.com/alineo-labs/alineo-host/abi"
)

const checkpointCreated = "sandbox.checkpoint_created"

// The bounds of a page where the host leaves them to the plugin, and the most that it makes.
const (
	pageRows  = 1000
	pageBytes = 1 << 20
	mostRows  = 1 << 16
	mostBytes = 12 << 20
)

// bounds say how much goes into a page.
type bounds struct{ rows, bytes, count, used uint64 }

func newBounds(limit, maxBytes uint64) *bounds {
	b := &bounds{rows: min(limit, mostRows), bytes: min(maxBytes, mostBytes)}
	if limit == 0 {
		b.rows = pageRows
	}
	if maxBytes == 0 {
		b.bytes = pageBytes
	}
	return b
}

// admits says whether one more row may come: a page ends with the row that passes the bytes, and always
// has one.
func (b *bounds) admits(size uint64) bool {
	if b.count == b.rows || b.count > 0 && (b.used > b.bytes || b.used+size > mostBytes) {
		return false
	}
	b.count, b.used = b.count+1, b.used+size
	return true
}

// Read returns a page of a sandbox's entries, or of all.
func (l *ledger) Read(req *abi.LedgerReadRequest) (*abi.RowsReply, error) {
	all := req.Key == abi.SandboxKey{}
	list := l.entries
	if !all {
		list = l.of(req.Key)
	}
	after, err := readCursor(req.Cursor)
	switch {
	case err != nil:
		return nil, err
	case req.Last > 0 && after != nil:
		return nil, &abi.Error{Code: abi.CodeInvalid, Message: "the last entries have no cursor that they come behind"}
	case req.Last > 0:
		list = last(list, req)
	case after != nil && all:
		list = behind(list, func(e *entry) bool { return e.id > after.id })
	case after != nil:
		list = behind(list, func(e *entry) bool { return compare(e, after) > 0 })
	}
	reply := &abi.RowsReply{Cursor: req.Cursor}
	page := abi.NewTableWriter(nil, int(abi.RowColumns))
	b := newBounds(req.Limit, req.MaxBytes)
	for _, e := range list {
		if req.Last == 0 && !b.admits(e.size()) {
			reply.More = true
			break
		}
		row(&page, e)
		reply.Cursor = cursor(e.ts, e.id)
	}
	reply.Table = page.Bytes()
	return reply, nil
}

// of are the entries of a sandbox.
func (l *ledger) of(k abi.SandboxKey) []*entry {
	if s := l.sandboxes[key{k.Name, k.SandboxID}]; s != nil {
		return s.entries
	}
	return nil
}

// behind is the rest of a sorted list from the first entry that is behind something.
func behind(list []*entry, is func(*entry) bool) []*entry {
	at, _ := slices.BinarySearchFunc(list, true, func(e *entry, _ bool) int {
		if is(e) {
			return 1
		}
		return -1
	})
	return list[at:]
}

// last are as many of the last entries as fit into a page.
func last(list []*entry, req *abi.LedgerReadRequest) []*entry {
	rows := req.Last
	if req.Limit > 0 {
		rows = min(rows, req.Limit)
	}
	b := newBounds(rows, req.MaxBytes)
	at := len(list)
	for at > 0 && (b.count == 0 || b.used+list[at-1].size() <= b.bytes) && b.admits(list[at-1].size()) {
		at--
	}
	return list[at:]
}

func row(page *abi.TableWriter, e *entry) {
	page.Row(abi.Int(e.id), abi.Text(e.key.id), abi.Text(e.key.name), abi.Int(e.step), e.branch, abi.Text(e.event), e.payload, e.err, abi.Int(e.ts))
}

// LastCheckpoint returns the newest checkpoint, of a tag if there is one.
func (l *ledger) LastCheckpoint(req *abi.LastCheckpointRequest) (*abi.RowsReply, error) {
	page := abi.NewTableWriter(nil, int(abi.RowColumns))
	for _, e := range slices.Backward(l.of(req.Key)) {
		if tag, _ := e.field("name"); e.event == checkpointCreated && (req.Tag == "" || tag == req.Tag) {
			row(&page, e)
			break
		}
	}
	return &abi.RowsReply{Table: page.Bytes()}, nil
}

// ListCheckpoints returns a page of a sandbox's checkpoints.
func (l *ledger) ListCheckpoints(req *abi.SandboxPageRequest) (*abi.RowsReply, error) {
	after, err := readCursor(req.Cursor)
	if err != nil {
		return nil, err
	}
	reply := &abi.RowsReply{Cursor: req.Cursor}
	page := abi.NewTableWriter(nil, int(abi.CheckpointColumns))
	b := newBounds(req.Limit, req.MaxBytes)
	for _, e := range l.of(req.Key) {
		if e.event != checkpointCreated || after != nil && compare(e, after) <= 0 {
			continue
		}
		if !b.admits(e.size()) {
			reply.More = true
			break
		}
		snapshot, _ := e.field("snapshotId")
		page.Row(abi.Text(snapshot), e.optional("name"), abi.Int(e.ts), abi.Int(e.id))
		reply.Cursor = cursor(e.ts, e.id)
	}
	reply.Table = page.Bytes()
	return reply, nil
}

// cursor is where a page ended. Its form is the plugin's own business.
func cursor(ts, id int64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(ts)), uint64(id))
}

// readCursor returns the place that a cursor stands for, nil for the beginning.
func readCursor(b []byte) (*entry, error) {
	const size = 16
	switch len(b) {
	case 0:
		return nil, nil
	case size:
		return &entry{ts: int64(binary.BigEndian.Uint64(b)), id: int64(binary.BigEndian.Uint64(b[size/2:]))}, nil
	}
	return nil, &abi.Error{Code: abi.CodeInvalid, Message: "this is no cursor of this ledger"}
}
