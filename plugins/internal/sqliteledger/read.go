package sqliteledger

import (
	"bytes"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// Read returns a page of one sandbox's entries, or of all when the key is empty.
func (l *Ledger) Read(req *abi.LedgerReadRequest) (*abi.RowsReply, error) {
	if err := l.tables.readable(); err != nil {
		return nil, err
	}
	cursor, dense := cutDense(req.Cursor)
	ts, id, err := ledgerkit.ParseCursor(cursor)
	if err != nil {
		return nil, err
	}
	if req.Last > 0 {
		sql := l.sql.Last
		if req.Key == (abi.SandboxKey{}) {
			sql = l.sql.LastAll
		}
		return ledgerkit.Last(&l.tables, req, sql, ledgerkit.Key(req.Key)...)
	}
	limit, oneMore := ledgerkit.Limit(req.Limit)
	var step alineo.Step
	switch {
	case req.Key == abi.SandboxKey{}:
		step = alineo.Keep(l.sql.ReadAll, alineo.Int(id), oneMore)
	case ts > 0 && !dense:
		step = alineo.Keep(l.sql.Sparse, append(ledgerkit.Key(req.Key), alineo.Int(ts), alineo.Int(id), oneMore)...)
	case ts > 0:
		step = alineo.Keep(l.sql.Read, append(ledgerkit.Key(req.Key), alineo.Int(ts), alineo.Int(id), oneMore)...)
	default:
		step = alineo.Keep(l.readFirst, append(ledgerkit.Key(req.Key), alineo.Int(ts), alineo.Int(id), oneMore)...)
	}
	page, err := ledgerkit.Page(&l.tables, step.Limit(limit, req.MaxBytes), cursor, abi.RowTS, abi.RowID)
	if err == nil && len(cursor) > 0 && req.Key != (abi.SandboxKey{}) && bytes.HasPrefix(page.Cursor, cursor[:timeSize]) {
		page.Cursor = append(page.Cursor[:cursorSize:cursorSize], denseMark)
	}
	return page, err
}

// A cursor of Read is that of ledgerkit, and has a mark behind it when all of the page that it is behind
// had one time: many entries may have it still.
const (
	timeSize   = 8
	cursorSize = 16
	denseMark  = 1
)

// cutDense takes the mark off.
func cutDense(cursor []byte) (_ []byte, dense bool) {
	if len(cursor) == cursorSize+1 && cursor[cursorSize] == denseMark {
		return cursor[:cursorSize], true
	}
	return cursor, false
}

// LastCheckpoint returns the newest checkpoint, of one tag when it has one.
func (l *Ledger) LastCheckpoint(req *abi.LastCheckpointRequest) (*abi.RowsReply, error) {
	if err := l.tables.readable(); err != nil {
		return nil, err
	}
	if req.Tag == "" {
		return ledgerkit.All(&l.tables, l.sql.LastCheckpoint, ledgerkit.Key(req.Key)...)
	}
	return ledgerkit.All(&l.tables, l.sql.TaggedCheckpoint, append(ledgerkit.Key(req.Key), alineo.Text(req.Tag))...)
}

// ListCheckpoints returns a page of the checkpoints in the order in which they were made.
func (l *Ledger) ListCheckpoints(req *abi.SandboxPageRequest) (*abi.RowsReply, error) {
	if err := l.tables.readable(); err != nil {
		return nil, err
	}
	return ledgerkit.Checkpoints(&l.tables, req, l.sql.ListCheckpoints)
}

// GetSandbox returns one sandbox, or no row.
func (l *Ledger) GetSandbox(req *abi.SandboxRequest) (*abi.RowsReply, error) {
	if err := l.tables.readable(); err != nil {
		return nil, err
	}
	return ledgerkit.All(&l.tables, l.sql.Details(" AND c.name = ? AND c.sandbox_id = ?", fewOnly, ""), ledgerkit.Key(req.Key)...)
}

// FindSandbox finds a sandbox's name by its id, and then its details.
func (l *Ledger) FindSandbox(req *abi.FindSandboxRequest) (*abi.RowsReply, error) {
	if err := l.tables.readable(); err != nil {
		return nil, err
	}
	var name abi.Value
	found, err := ledgerkit.Row(&l.tables, l.sql.FindName, []abi.SQLParam{alineo.Text(req.SandboxID)}, &name)
	if err != nil || !found {
		return &abi.RowsReply{}, err
	}
	return l.GetSandbox(&abi.SandboxRequest{Key: abi.SandboxKey{Name: name.String(), SandboxID: req.SandboxID}})
}
