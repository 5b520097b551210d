package main

import (
	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// Read is right but for the fault.
func (w *wrong) Read(req *abi.LedgerReadRequest) (*abi.RowsReply, error) {
	all := req.Key == abi.SandboxKey{}
	if all && w.lacks == "read all" {
		return nil, missing()
	}
	changed := *req
	if req.Last > 0 {
		return w.readLast(&changed, all)
	}
	switch w.fault {
	case "read/bytes", "read-all/bytes": // has no eye for size
		if all == (w.fault == "read-all/bytes") {
			changed.MaxBytes = 0
		}
	case "read/cursor": // begins anew at what it doesn't know
		if n := len(req.Cursor); n != 0 && n != 16 && n != 17 {
			changed.Cursor = nil
		}
	case "read/growing": // shows what there was at the first page
		if !all && req.Limit > 0 {
			return w.readFrozen(req)
		}
	case "handle/readers", "maintenance/readers": // gives a reader up when somebody has written
		if err := w.tooOld(req.Cursor, w.fault == "handle/readers" && req.Limit == 0); err != nil {
			return nil, err
		}
	}
	reply, err := w.Ledger.Read(&changed)
	if err != nil {
		return nil, err
	}
	switch w.fault {
	case "read/paging", "read-all/order": // passes an entry over behind a page of one
		if all == (w.fault == "read-all/order") && req.Limit == 1 && reply.More {
			changed.Cursor = reply.Cursor
			next, err := w.Ledger.Read(&changed)
			if err != nil {
				return nil, err
			}
			reply.Cursor, reply.More = next.Cursor, next.More
		}
	case "read/tail", "read-all/tail": // forgets where the end was
		if all == (w.fault == "read-all/tail") && !reply.More {
			reply.Cursor = nil
		}
	}
	return reply, nil
}

// readFrozen is a page of what was there at the first one.
func (w *wrong) readFrozen(req *abi.LedgerReadRequest) (*abi.RowsReply, error) {
	ts, id, err := ledgerkit.ParseCursor(req.Cursor)
	if err != nil {
		return nil, err
	}
	if len(req.Cursor) == 0 {
		if w.newest, err = number("SELECT coalesce(max(id), 0) FROM alineo_events"); err != nil {
			return nil, err
		}
	}
	limit, oneMore := ledgerkit.Limit(req.Limit)
	step := alineo.Keep(`SELECT `+ledgerkit.EventColumns+` FROM alineo_events
 WHERE name = ? AND sandbox_id = ? AND (ts, id) > (?, ?) AND id <= ? ORDER BY ts, id LIMIT ?`,
		append(ledgerkit.Key(req.Key), alineo.Int(ts), alineo.Int(id), alineo.Int(w.newest), oneMore)...).Limit(limit, req.MaxBytes)
	return ledgerkit.Page(database, step, req.Cursor, abi.RowTS, abi.RowID)
}

// readLast is right but for the fault.
func (w *wrong) readLast(req *abi.LedgerReadRequest, all bool) (*abi.RowsReply, error) {
	if w.fault == "read/last-bounds" { // takes the larger of two bounds
		req.Limit, req.Last = 0, max(req.Last, req.Limit)
	}
	reply, err := w.Ledger.Read(req)
	if err != nil {
		return nil, err
	}
	if w.fault == "read/last" && !all || w.fault == "read-all/last" && all { // forgets where the end was
		reply.Cursor = nil
	}
	return reply, nil
}

// tooOld refuses a later page to an instance that only reads, once there is more than at its first.
func (w *wrong) tooOld(cursor []byte, later bool) error {
	if len(w.mine) > 0 {
		return nil
	}
	there, err := number("SELECT count(*) FROM sqlite_master WHERE name = 'alineo_events'")
	if err != nil || there == 0 {
		return err
	}
	now, err := number("SELECT coalesce(max(id), 0) FROM alineo_events")
	if err != nil {
		return err
	}
	if len(cursor) == 0 {
		if w.newest == 0 {
			w.newest = now
		}
		return nil
	}
	if later && w.newest != now {
		return &abi.Error{Code: abi.CodeUnavailable, Message: "the snapshot is too old", Retryable: true}
	}
	return nil
}
