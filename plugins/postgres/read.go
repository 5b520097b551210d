package main

import (
	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// Read returns a page of one sandbox's entries, or of all when the key is empty.
func (l *ledger) Read(req *abi.LedgerReadRequest) (*abi.RowsReply, error) {
	if err := l.readable(); err != nil {
		return nil, err
	}
	ts, id, err := ledgerkit.ParseCursor(req.Cursor)
	if err != nil {
		return nil, err
	}
	var last, standby abi.Value
	if req.Key == (abi.SandboxKey{}) {
		// In a transaction of its own: what is read after it is at least as new.
		if _, err = ledgerkit.Row(db, l.sql.horizon, nil, &last, &standby); err != nil {
			return nil, err
		}
		if standby.Int != 0 && req.Last == 0 {
			return nil, &abi.Error{
				Code:    abi.CodeUnsupported,
				Message: "a standby can't be followed: which appends are under way is known to its primary alone, and they would be stepped over; follow the primary, or read one sandbox at a time",
			}
		}
	}
	if req.Last > 0 {
		if req.Key == (abi.SandboxKey{}) {
			return ledgerkit.Last(db, req, l.sql.lastAll, alineo.Int(last.Int))
		}
		return ledgerkit.Last(db, req, l.sql.last, ledgerkit.Key(req.Key)...)
	}
	limit, oneMore := ledgerkit.Limit(req.Limit)
	var step alineo.Step
	if req.Key == (abi.SandboxKey{}) {
		step = alineo.Keep(l.sql.readAll, alineo.Int(id), alineo.Int(last.Int), oneMore)
	} else {
		step = alineo.Keep(l.sql.read, append(ledgerkit.Key(req.Key), alineo.Int(ts), alineo.Int(id), oneMore)...)
	}
	return ledgerkit.Page(db, step.Limit(limit, req.MaxBytes), req.Cursor, abi.RowTS, abi.RowID)
}

// LastCheckpoint returns the newest checkpoint, of one tag when it has one.
func (l *ledger) LastCheckpoint(req *abi.LastCheckpointRequest) (*abi.RowsReply, error) {
	if err := l.readable(); err != nil {
		return nil, err
	}
	if req.Tag == "" {
		return ledgerkit.All(db, l.sql.lastCheckpoint, ledgerkit.Key(req.Key)...)
	}
	return ledgerkit.All(db, l.sql.taggedCheckpoint, append(ledgerkit.Key(req.Key), alineo.Text(req.Tag))...)
}

// ListCheckpoints returns a page of the checkpoints in the order in which they were made.
func (l *ledger) ListCheckpoints(req *abi.SandboxPageRequest) (*abi.RowsReply, error) {
	if err := l.readable(); err != nil {
		return nil, err
	}
	return ledgerkit.Checkpoints(db, req, l.sql.listCheckpoints)
}

// oneSandbox is about one key. That of a sandbox which has most of the entries would make PostgreSQL
// expect that it has most of the created ones, and read them all; of a key that it can't see it expects
// no more than of any.
const oneSandbox = ` AND c.name = (SELECT $1::text) AND c.sandbox_id = (SELECT $2::text)`

// GetSandbox returns one sandbox, or no row.
func (l *ledger) GetSandbox(req *abi.SandboxRequest) (*abi.RowsReply, error) {
	if err := l.readable(); err != nil {
		return nil, err
	}
	return ledgerkit.All(db, l.sql.details(oneSandbox, fewOnly), ledgerkit.Key(req.Key)...)
}

// FindSandbox finds a sandbox's name by its id, and then its details.
func (l *ledger) FindSandbox(req *abi.FindSandboxRequest) (*abi.RowsReply, error) {
	if err := l.readable(); err != nil {
		return nil, err
	}
	var name abi.Value
	found, err := ledgerkit.Row(db, l.sql.findName, []abi.SQLParam{alineo.Text(req.SandboxID)}, &name)
	if err != nil || !found {
		return &abi.RowsReply{}, err
	}
	return l.GetSandbox(&abi.SandboxRequest{Key: abi.SandboxKey{Name: name.String(), SandboxID: req.SandboxID}})
}
