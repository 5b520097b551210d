package main

import "github.com/alineo-labs/alineo-host/abi"

// Modes that begin with "keep-" are about what is kept beside the entries.

func (l *ledger) ListHeads(req *abi.PageRequest) (*abi.RowsReply, error) {
	hash, id := make([]byte, 32), make([]byte, 16)
	entries, names := int64(1), []string{"a", "b"}
	switch l.mode {
	case "keep-hash":
		hash = hash[1:]
	case "keep-id":
		id = append(id, 1)
	case "keep-negative":
		entries = -1
	case "keep-order":
		names = []string{"b", "a"}
	case "keep-twice":
		names = []string{"a", "a"}
	case "keep-stuck", "keep-empty":
	default:
		return l.rows(int(abi.HeadColumns), abi.SandboxKey{}, req.Cursor)
	}
	w := abi.NewTableWriter(nil, int(abi.HeadColumns))
	for _, name := range names {
		w.Row(abi.Text(name), abi.Text("id"), abi.Int(1), abi.Blob(hash), abi.Blob(id), abi.Int(entries), abi.Int(1))
	}
	return l.kept(w.Bytes(), req.Cursor)
}

func (l *ledger) ListTombstones(req *abi.PageRequest) (*abi.RowsReply, error) {
	hash := make([]byte, 32)
	entries, names := int64(1), []string{"a", "b"}
	switch l.mode {
	case "keep-hash":
		hash = hash[1:]
	case "keep-negative":
		entries = -1
	case "keep-order":
		names = []string{"b", "a"}
	case "keep-twice":
		names = []string{"a", "a"}
	case "keep-stuck", "keep-empty":
	default:
		return l.rows(int(abi.TombstoneColumns), abi.SandboxKey{}, req.Cursor)
	}
	w := abi.NewTableWriter(nil, int(abi.TombstoneColumns))
	for _, name := range names {
		w.Row(abi.Text(name), abi.Text("id"), abi.Int(entries), abi.Blob(hash), abi.Int(1))
	}
	return l.kept(w.Bytes(), req.Cursor)
}

func (l *ledger) ListSegments(req *abi.SandboxPageRequest) (*abi.RowsReply, error) {
	hash, id, leaves := make([]byte, 32), make([]byte, 16), make([]byte, 64)
	ids := []int64{2, 4}
	switch l.mode {
	case "keep-hash":
		hash = hash[1:]
	case "keep-id":
		id = append(id, 1)
	case "keep-leaves":
		leaves = append(leaves, 1)
	case "keep-none":
		leaves = nil
	case "keep-order":
		ids = []int64{4, 2}
	case "keep-twice":
		ids = []int64{2, 2}
	case "keep-stuck", "keep-empty":
	default:
		return l.rows(int(abi.StoredColumns), req.Key, req.Cursor)
	}
	w := abi.NewTableWriter(nil, int(abi.StoredColumns))
	for _, last := range ids {
		w.Row(abi.Int(last-1), abi.Int(last), abi.Blob(id), abi.Blob(hash), abi.Blob(hash), abi.Blob(leaves))
	}
	return l.kept(w.Bytes(), req.Cursor)
}

// kept is a page of a list that ends, or does not.
func (l *ledger) kept(table, cursor []byte) (*abi.RowsReply, error) {
	switch l.mode {
	case "keep-stuck":
		return &abi.RowsReply{Table: table, Cursor: cursor, More: true}, nil
	case "keep-empty":
		return &abi.RowsReply{Cursor: append([]byte("x"), cursor...), More: true}, nil
	}
	return &abi.RowsReply{Table: table, Cursor: []byte("x")}, nil
}

func (l *ledger) Usage(*abi.SandboxRequest) (*abi.Usage, error) {
	switch l.mode {
	case "keep-times":
		return &abi.Usage{FirstTS: 2, LastTS: 1}, nil
	case "keep-negative":
		return &abi.Usage{Entries: 1<<64 - 1}, nil
	}
	return nil, nil
}

func (l *ledger) Stats() (*abi.Stats, error) {
	if l.mode == "keep-negative" {
		return &abi.Stats{Entries: -2}, nil
	}
	return nil, nil
}
