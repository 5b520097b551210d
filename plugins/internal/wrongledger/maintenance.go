package main

import "github.com/alineo-labs/alineo-host/abi"

// skip passes a row over behind a page of so many, when the fault is this one.
func (w *wrong) skip(fault string, reply *abi.RowsReply, limit, of uint64, next func(cursor []byte) (*abi.RowsReply, error)) (*abi.RowsReply, error) {
	if w.fault != fault || limit != of || !reply.More {
		return reply, nil
	}
	after, err := next(reply.Cursor)
	if err != nil {
		return nil, err
	}
	reply.Cursor, reply.More = after.Cursor, after.More
	return reply, nil
}

// ListHeads is right but for the fault.
func (w *wrong) ListHeads(req *abi.PageRequest) (*abi.RowsReply, error) {
	if w.lacks == "maintenance" {
		return nil, missing()
	}
	reply, err := w.Ledger.ListHeads(req)
	if err != nil && w.fault == "maintenance/cursor" { // begins anew at what it doesn't know, for ever
		if reply, err = w.Ledger.ListHeads(&abi.PageRequest{Limit: req.Limit}); err == nil {
			reply.More = true
		}
	}
	if err != nil {
		return nil, err
	}
	return w.skip("heads/paging", reply, req.Limit, 3, func(cursor []byte) (*abi.RowsReply, error) {
		return w.Ledger.ListHeads(&abi.PageRequest{Cursor: cursor, Limit: 1})
	})
}

// ListSegments is right but for the fault.
func (w *wrong) ListSegments(req *abi.SandboxPageRequest) (*abi.RowsReply, error) {
	if w.lacks == "maintenance" {
		return nil, missing()
	}
	if w.fault == "maintenance/readers" { // gives a reader up when somebody has written
		if err := w.tooOld(req.Cursor, true); err != nil {
			return nil, err
		}
	}
	reply, err := w.Ledger.ListSegments(req)
	if err != nil {
		return nil, err
	}
	return w.skip("segments/paging", reply, req.Limit, 2, func(cursor []byte) (*abi.RowsReply, error) {
		return w.Ledger.ListSegments(&abi.SandboxPageRequest{Key: req.Key, Cursor: cursor, Limit: 1})
	})
}

// ListTombstones is right but for the fault.
func (w *wrong) ListTombstones(req *abi.PageRequest) (*abi.RowsReply, error) {
	if w.lacks == "maintenance" {
		return nil, missing()
	}
	reply, err := w.Ledger.ListTombstones(req)
	if err != nil {
		return nil, err
	}
	return w.skip("tombstones/paging", reply, req.Limit, 2, func(cursor []byte) (*abi.RowsReply, error) {
		return w.Ledger.ListTombstones(&abi.PageRequest{Cursor: cursor, Limit: 1})
	})
}

// Usage is right but for the fault.
func (w *wrong) Usage(req *abi.SandboxRequest) (*abi.Usage, error) {
	if w.lacks == "maintenance" {
		return nil, missing()
	}
	usage, err := w.Ledger.Usage(req)
	if err == nil && w.fault == "usage/sums" { // takes the last for the first
		usage.FirstTS = usage.LastTS
	}
	return usage, err
}

// Stats is right but for the fault.
func (w *wrong) Stats() (*abi.Stats, error) {
	if w.lacks == "maintenance" {
		return nil, missing()
	}
	stats, err := w.Ledger.Stats()
	if err == nil && w.fault == "stats/counts" { // counts from 1
		stats.Entries++
	}
	return stats, err
}
