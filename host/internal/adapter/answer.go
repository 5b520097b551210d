package adapter

import (
	"bytes"
	"context"
	"fmt"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/store"
)

// What an answer of a guest may be at most.
const (
	// maxRows is what the host itself keeps of a statement's rows, and so of any page.
	maxRows = capability.MaxReadRows
	// maxNumber bounds steps and times: every JSON reader can hold it, and there is room to count on.
	maxNumber = 1<<53 - 1
	hashSize  = 32
	idSize    = 16
)

// asker asks a guest, and does not believe what it says. It is safe for concurrent use.
type asker struct {
	guest Guest
}

// broken is an answer that breaks the ABI although its frame is whole.
func (l *asker) broken(op abi.Op, err error) error {
	return &plugin.Error{Plugin: l.guest.Name(), Op: op, Kind: plugin.KindProtocol, Sent: true, Err: err}
}

func (l *asker) brokenf(op abi.Op, format string, args ...any) error {
	return l.broken(op, fmt.Errorf(format, args...))
}

// shape is what a page must be like.
type shape struct {
	columns uint32
	most    uint64 // rows that were asked for; 0: as many as a page may have
}

// rows calls an operation that answers with a page and returns the page, wherever the guest left it.
func (l *asker) rows(ctx context.Context, op abi.Op, req abi.Message, want shape) (capability.Rows, abi.RowsReply, error) {
	var reply abi.RowsReply
	rows, err := l.answered(ctx, op, req, &reply, func() (uint64, []byte) { return reply.Rows, reply.Table }, want)
	if err != nil {
		return nil, reply, mapError(err)
	}
	return rows, reply, nil
}

// answered calls an operation whose reply names a page, which page tells, and returns the page, wherever
// the guest left it. Its error has no sentinel of package store.
func (l *asker) answered(ctx context.Context, op abi.Op, req, reply abi.Message, page func() (handle uint64, table []byte), want shape) (capability.Rows, error) {
	var call capability.Call
	if err := l.guest.Call(ctx, op, req, &call, reply); err != nil {
		return nil, err
	}
	handle, wire := page()
	var rows capability.Rows = noRows{}
	switch {
	case handle != 0:
		kept, ok := call.Get(handle)
		if !ok {
			return nil, l.brokenf(op, "the plugin answered with handle %d, which it does not hold", handle)
		}
		rows = kept
	case len(wire) != 0:
		// The index of a table is larger than a table of nothing but nulls: look at the header first.
		if peek, err := abi.NewTableReader(wire); err == nil && peek.Len() > maxRows {
			return nil, l.brokenf(op, "the plugin answered with %d rows; a page has at most %d", peek.Len(), maxRows)
		}
		table, err := abi.ParseTable(wire)
		if err != nil {
			return nil, l.brokenf(op, "the plugin answered with a table that can't be read: %w", err)
		}
		rows = table
	}
	most := uint64(maxRows)
	if want.most != 0 {
		most = min(most, want.most)
	}
	switch n := rows.Len(); {
	case n > 0 && rows.Columns() != int(want.columns):
		return nil, l.brokenf(op, "the plugin answered with %d columns, not %d", rows.Columns(), want.columns)
	case uint64(n) > most:
		return nil, l.brokenf(op, "the plugin answered with %d rows; %d were asked for", n, most)
	}
	return rows, nil
}

// checkPage refuses a page behind which a reader would go in circles.
func (l *asker) checkPage(op abi.Op, cursor []byte, rows capability.Rows, reply *abi.RowsReply) error {
	switch {
	case !reply.More:
		return nil
	case rows.Len() == 0:
		return l.brokenf(op, "the plugin answered with no rows and says that there are more")
	case bytes.Equal(reply.Cursor, cursor):
		return l.brokenf(op, "the plugin says that there are more rows, but its cursor does not move")
	}
	return nil
}

// checkHead refuses what nothing can be chained to, or counted on from.
func (l *Ledger) checkHead(head *abi.Head) error {
	const op = abi.OpLedgerOpen
	switch {
	case head.Epoch > 1<<63-1:
		return l.brokenf(op, "the plugin answered with epoch %d, which is no i64", head.Epoch)
	case head.LastStep < -1 || head.LastStep > maxNumber:
		return l.brokenf(op, "the plugin answered with the last step %d, which is none", head.LastStep)
	case head.MaxTS > maxNumber:
		return l.brokenf(op, "the plugin answered with the time %d ms, which is none", head.MaxTS)
	case len(head.Hash) != 0 && len(head.Hash) != hashSize:
		return l.brokenf(op, "the plugin answered with a hash of %d bytes, not %d", len(head.Hash), hashSize)
	case len(head.SegmentID) != 0 && len(head.SegmentID) != idSize:
		return l.brokenf(op, "the plugin answered with a segment id of %d bytes, not %d", len(head.SegmentID), idSize)
	}
	return nil
}

// checkOrder refuses entries of another sandbox than key, and a page that is not in its order: by
// (ts, id), and by id when it is of all sandboxes.
func checkOrder(key abi.SandboxKey, entries []store.Entry) error {
	all := key == abi.SandboxKey{}
	for i := range entries {
		e := &entries[i]
		if !all && (e.Name != key.Name || e.SandboxID != key.SandboxID) {
			return fmt.Errorf("row %d of the plugin's answer is of another sandbox, %q/%q", i, e.Name, e.SandboxID)
		}
		if i == 0 {
			continue
		}
		last := &entries[i-1]
		if later := e.ID > last.ID && (all || e.TS == last.TS) || !all && e.TS > last.TS; !later {
			return fmt.Errorf("row %d of the plugin's answer does not follow the one before it", i)
		}
	}
	return nil
}
