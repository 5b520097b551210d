package ledgerkit

import (
	"encoding/binary"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// MaintenanceSQL are the statements of Maintenance. Those of pages end with one parameter for the
// limit, and their columns are what the ABI says.
type MaintenanceSQL struct {
	Heads      string // name and id that the page is behind
	Segments   string // name, sandbox id, last id that the page is behind
	Tombstones string // name and id that the page is behind
	Usage      string // name, sandbox id
	Stats      string // gives entries and bytes
}

// HeadsPage is how many heads a page has where it leads to the next one by an index. Where one sandbox stands is
// looked for again from where its page began.
const HeadsPage = 64

// Maintenance are the operations for those who operate a ledger.
type Maintenance struct {
	DB Database
	// SQL makes the schema at first use and returns the statements for what is there, and its version: 0
	// when there are only the reference's tables, and none of ours can be made.
	SQL func() (sql *MaintenanceSQL, version int64, err error)
	// Most is how many rows a page of heads or tombstones has at most, 0: as many as are asked for.
	Most uint64
}

var _ alineo.Maintenance = (*Maintenance)(nil)

// ListHeads returns a page of heads.
func (m *Maintenance) ListHeads(req *abi.PageRequest) (*abi.RowsReply, error) {
	return m.byKey(req, func(sql *MaintenanceSQL) string { return sql.Heads })
}

// ListTombstones returns a page of tombstones.
func (m *Maintenance) ListTombstones(req *abi.PageRequest) (*abi.RowsReply, error) {
	return m.byKey(req, func(sql *MaintenanceSQL) string { return sql.Tombstones })
}

// byKey answers with a page of rows that begin with a sandbox's name and id.
func (m *Maintenance) byKey(req *abi.PageRequest, which func(*MaintenanceSQL) string) (*abi.RowsReply, error) {
	sql, _, err := m.SQL()
	if err != nil {
		return nil, err
	}
	from, err := parseKeyCursor(req.Cursor)
	if err != nil {
		return nil, err
	}
	asked := req.Limit
	if m.Most > 0 {
		asked = min(asked, m.Most)
	}
	limit, oneMore := Limit(asked)
	step := alineo.Keep(which(sql), append(Key(from), oneMore)...).Limit(limit, req.MaxBytes)
	return page(m.DB, step, req.Cursor, func(last *abi.Table) []byte {
		name, id := last.Value(0, 0), last.Value(0, 1)
		if name.Kind == abi.KindNull || id.Kind == abi.KindNull {
			return nil // a cell that the host leaves out for its size
		}
		return keyCursor(name.Bytes, id.Bytes)
	})
}

// ListSegments returns a page of one sandbox's chain.
func (m *Maintenance) ListSegments(req *abi.SandboxPageRequest) (*abi.RowsReply, error) {
	sql, _, err := m.SQL()
	if err != nil {
		return nil, err
	}
	_, after, err := ParseCursor(req.Cursor)
	if err != nil {
		return nil, err
	}
	limit, oneMore := Limit(req.Limit)
	step := alineo.Keep(sql.Segments, append(Key(req.Key), alineo.Int(after), oneMore)...).Limit(limit, req.MaxBytes)
	return Page(m.DB, step, req.Cursor, abi.StoredFirstID, abi.StoredLastID)
}

// Usage sums up one sandbox's entries.
func (m *Maintenance) Usage(req *abi.SandboxRequest) (*abi.Usage, error) {
	sql, _, err := m.SQL()
	if err != nil {
		return nil, err
	}
	var entries, bytes, first, last, created, closed abi.Value
	if _, err := Row(m.DB, sql.Usage, Key(req.Key), &entries, &bytes, &first, &last, &created, &closed); err != nil {
		return nil, err
	}
	return &abi.Usage{
		Entries: uint64(entries.Int), Bytes: uint64(bytes.Int), FirstTS: first.Int, LastTS: last.Int,
		Created: created.Int > 0, Closed: closed.Int > 0,
	}, nil
}

// Stats sums the store up.
func (m *Maintenance) Stats() (*abi.Stats, error) {
	sql, version, err := m.SQL()
	if err != nil {
		return nil, err
	}
	var entries, bytes abi.Value
	if _, err := Row(m.DB, sql.Stats, nil, &entries, &bytes); err != nil {
		return nil, err
	}
	return &abi.Stats{Entries: entries.Int, StorageBytes: bytes.Int, SchemaVersion: version}, nil
}

// keyCursor is behind a key: how long the name is, the name, the id.
func keyCursor(name, id []byte) []byte {
	b := binary.AppendUvarint(nil, uint64(len(name)))
	return append(append(b, name...), id...)
}

// parseKeyCursor reads a keyCursor; an empty one is the empty key, which is before all others.
func parseKeyCursor(cursor []byte) (abi.SandboxKey, error) {
	if len(cursor) == 0 {
		return abi.SandboxKey{}, nil
	}
	n, size := binary.Uvarint(cursor)
	if size <= 0 || n > uint64(len(cursor)-size) {
		return abi.SandboxKey{}, errCursor()
	}
	cursor = cursor[size:]
	return abi.SandboxKey{Name: string(cursor[:n]), SandboxID: string(cursor[n:])}, nil
}
