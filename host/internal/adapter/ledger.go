package adapter

import (
	"context"
	"fmt"
	"sync"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Guest is what the adapter needs of a plugin. *plugin.Plugin is one.
type Guest interface {
	Name() string
	Manifest() abi.Manifest
	Call(ctx context.Context, op abi.Op, req abi.Message, call *capability.Call, reply abi.Message) error
	Close(ctx context.Context) error
}

// Ledger is a guest as a store. It is safe for concurrent use.
type Ledger struct {
	asker
	appends sync.Pool // of *appending
}

var _ store.Ledger = (*Ledger)(nil)

// NewLedger returns the store that a guest of kind "ledger" is. Closing it closes the guest.
func NewLedger(guest Guest) *Ledger { return &Ledger{asker: asker{guest}} }

func wireKey(key store.Key) abi.SandboxKey {
	return abi.SandboxKey{Name: key.Name, SandboxID: key.SandboxID}
}

// OpenLedger claims a sandbox's ledger.
func (l *Ledger) OpenLedger(ctx context.Context, key store.Key) (store.Head, error) {
	var head abi.Head
	err := l.guest.Call(ctx, abi.OpLedgerOpen, &abi.LedgerOpenRequest{Key: wireKey(key)}, nil, &head)
	if err == nil {
		err = l.checkHead(&head)
	}
	if err != nil {
		return store.Head{}, fmt.Errorf("opening ledger of %s: %w", key, mapError(err))
	}
	return store.Head{
		Epoch: head.Epoch, LastStep: head.LastStep, MaxTS: head.MaxTS, Entries: head.Entries,
		Hash: head.Hash, SegmentID: head.SegmentID,
	}, nil
}

// Append writes a batch, all or nothing.
func (l *Ledger) Append(ctx context.Context, batch *store.Batch) error {
	a, ok := l.appends.Get().(*appending)
	if !ok {
		a = new(appending)
	}
	a.rows.set(batch)
	if len(a.rows.entries) == 0 {
		return nil
	}
	a.req = abi.LedgerAppendRequest{
		Entries: a.call.Put((*entryRows)(&a.rows)), Segments: a.call.Put((*segmentRows)(&a.rows)),
		EntryCount: uint64(len(a.rows.entries)), SegmentCount: uint64(len(batch.Segments)), Size: a.rows.size,
	}
	if err := l.guest.Call(ctx, abi.OpLedgerAppend, &a.req, &a.call, &a.reply); err != nil {
		return fmt.Errorf("appending %d entries: %w", len(a.rows.entries), a.rows.mapAppendError(err))
	}
	a.rows.reset()
	a.call = capability.Call{}
	l.appends.Put(a) // not after a failure: a driver may hold its rows for longer
	return nil
}

// appending is what one Append needs beside the batch.
type appending struct {
	rows  batchRows
	call  capability.Call
	req   abi.LedgerAppendRequest
	reply abi.LedgerAppendReply
}

// Read returns a page of one sandbox's entries.
func (l *Ledger) Read(ctx context.Context, key store.Key, opts store.ReadOptions) (store.Page, error) {
	page, err := l.read(ctx, wireKey(key), opts)
	if err != nil {
		return page, fmt.Errorf("reading ledger of %s: %w", key, err)
	}
	return page, nil
}

// ReadAll returns a page of every sandbox's entries.
func (l *Ledger) ReadAll(ctx context.Context, opts store.ReadOptions) (store.Page, error) {
	page, err := l.read(ctx, abi.SandboxKey{}, opts)
	if err != nil {
		return page, fmt.Errorf("reading ledger: %w", err)
	}
	return page, nil
}

func (l *Ledger) read(ctx context.Context, key abi.SandboxKey, opts store.ReadOptions) (store.Page, error) {
	limit := uint64(max(opts.Limit, 0))
	req := abi.LedgerReadRequest{
		Key: key, Cursor: opts.Cursor, Limit: limit, MaxBytes: uint64(max(opts.MaxBytes, 0)), Last: uint64(max(opts.Last, 0)),
	}
	if req.Last > 0 {
		if len(req.Cursor) > 0 {
			return store.Page{}, fmt.Errorf("%w: the last entries have no cursor that they come behind", store.ErrInvalid)
		}
		limit = req.Last
		if req.Limit > 0 {
			limit = min(limit, req.Limit)
		}
	}
	rows, reply, err := l.rows(ctx, abi.OpLedgerRead, &req, shape{abi.RowColumns, limit})
	if err == nil {
		err = l.checkPage(abi.OpLedgerRead, opts.Cursor, rows, &reply)
	}
	if err == nil && req.Last > 0 && reply.More {
		err = l.brokenf(abi.OpLedgerRead, "the plugin says that there are more rows behind the last")
	}
	if err != nil {
		return store.Page{}, err
	}
	entries, err := decodeEntries(rows)
	if err == nil {
		err = checkOrder(key, entries)
	}
	if err != nil {
		return store.Page{}, l.broken(abi.OpLedgerRead, err)
	}
	if page, ok := rows.(*capability.Page); ok {
		page.Recycle() // the call is over, and everything was copied
	}
	return store.Page{Entries: entries, Cursor: reply.Cursor, More: reply.More}, nil
}

// LastCheckpoint returns the newest checkpoint entry.
func (l *Ledger) LastCheckpoint(ctx context.Context, key store.Key, tag string) (store.Entry, error) {
	const op = abi.OpLedgerLastCheckpoint
	req := abi.LastCheckpointRequest{Key: wireKey(key), Tag: tag}
	rows, _, err := l.rows(ctx, op, &req, shape{abi.RowColumns, 1})
	if err == nil && rows.Len() == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Entry{}, fmt.Errorf("finding last checkpoint of %s: %w", key, err)
	}
	entries, err := decodeEntries(rows)
	if err == nil {
		err = checkOrder(req.Key, entries)
	}
	if err != nil {
		return store.Entry{}, fmt.Errorf("finding last checkpoint of %s: %w", key, l.broken(op, err))
	}
	return entries[0], nil
}

// ListCheckpoints returns a page of a sandbox's checkpoints, oldest first.
func (l *Ledger) ListCheckpoints(ctx context.Context, key store.Key, opts store.ReadOptions) (store.CheckpointPage, error) {
	const op = abi.OpLedgerListCheckpoints
	limit, size := bounds(opts)
	req := abi.SandboxPageRequest{Key: wireKey(key), Cursor: opts.Cursor, Limit: limit, MaxBytes: size}
	rows, reply, err := l.rows(ctx, op, &req, shape{abi.CheckpointColumns, limit})
	if err == nil {
		err = l.checkPage(op, opts.Cursor, rows, &reply)
	}
	if err != nil {
		return store.CheckpointPage{}, fmt.Errorf("listing checkpoints of %s: %w", key, err)
	}
	list := make([]store.Checkpoint, rows.Len())
	for i := range list {
		c := cells{rows: rows, row: i}
		list[i] = store.Checkpoint{
			ID: c.int(abi.CheckpointID), SnapshotID: c.text(abi.CheckpointSnapshot), Tag: c.text(abi.CheckpointTag),
			CreatedAt: c.int(abi.CheckpointCreated),
		}
		if i > 0 && c.err == nil && !list[i-1].Before(&list[i]) {
			c.err = fmt.Errorf("row %d of the plugin's answer does not follow the one before it", i)
		}
		if c.err != nil {
			return store.CheckpointPage{}, fmt.Errorf("listing checkpoints of %s: %w", key, l.broken(op, c.err))
		}
	}
	return store.CheckpointPage{Checkpoints: list, Cursor: reply.Cursor, More: reply.More}, nil
}

// GetSandbox returns one sandbox's details.
func (l *Ledger) GetSandbox(ctx context.Context, key store.Key) (store.Details, error) {
	details, err := l.details(ctx, abi.OpLedgerGetSandbox, &abi.SandboxRequest{Key: wireKey(key)})
	if err == nil && (details.Name != key.Name || details.SandboxID != key.SandboxID) {
		err = l.brokenf(abi.OpLedgerGetSandbox, "the plugin answered with another sandbox, %q/%q", details.Name, details.SandboxID)
	}
	if err != nil {
		return store.Details{}, fmt.Errorf("getting sandbox %s: %w", key, err)
	}
	return details, nil
}

// FindSandbox returns one sandbox's details by its id alone.
func (l *Ledger) FindSandbox(ctx context.Context, sandboxID string) (store.Details, error) {
	details, err := l.details(ctx, abi.OpLedgerFindSandbox, &abi.FindSandboxRequest{SandboxID: sandboxID})
	if err == nil && details.SandboxID != sandboxID {
		err = l.brokenf(abi.OpLedgerFindSandbox, "the plugin answered with another sandbox, %q", details.SandboxID)
	}
	if err != nil {
		return store.Details{}, fmt.Errorf("finding sandbox %q: %w", sandboxID, err)
	}
	return details, nil
}

// DeleteSandbox removes a sandbox's entries, in as many calls as the guest takes.
func (l *Ledger) DeleteSandbox(ctx context.Context, key store.Key) (uint64, error) {
	const op = abi.OpLedgerDeleteSandbox
	// A guest whose answers never end is held to be broken when it has removed nothing for so long.
	const mostEmpty = 10_000
	removed, empty := uint64(0), 0
	for {
		var reply abi.DeleteReply
		err := l.guest.Call(ctx, op, &abi.SandboxRequest{Key: wireKey(key)}, nil, &reply)
		if err == nil && reply.Rows > maxNumber-removed {
			err = l.brokenf(op, "the plugin says that it removed %d entries", reply.Rows)
		}
		if err == nil && reply.More && reply.Rows == 0 {
			if empty++; empty == mostEmpty {
				err = l.brokenf(op, "the plugin says that there is more to delete, and removes no entries")
			}
		}
		if err != nil {
			if removed > 0 {
				return removed, fmt.Errorf("deleting ledger of %s, of which %d entries have gone: %w", key, removed, mapError(err))
			}
			return 0, fmt.Errorf("deleting ledger of %s: %w", key, mapError(err))
		}
		if removed += reply.Rows; !reply.More {
			return removed, nil
		}
	}
}

// Close closes the guest.
func (l *Ledger) Close(ctx context.Context) error {
	return l.guest.Close(ctx)
}

// details calls an operation that answers with one sandbox or none.
func (l *Ledger) details(ctx context.Context, op abi.Op, req abi.Message) (store.Details, error) {
	rows, _, err := l.rows(ctx, op, req, shape{abi.SandboxColumns, 1})
	if err != nil {
		return store.Details{}, err
	}
	if rows.Len() == 0 {
		return store.Details{}, store.ErrNotFound
	}
	list, err := l.decodeDetails(op, rows)
	if err != nil {
		return store.Details{}, err
	}
	return list[0], nil
}

func (l *Ledger) decodeDetails(op abi.Op, rows capability.Rows) ([]store.Details, error) {
	list := make([]store.Details, rows.Len())
	for i := range list {
		c := cells{rows: rows, row: i}
		list[i] = store.Details{
			Name: c.text(abi.SandboxName), SandboxID: c.text(abi.SandboxID), Status: c.text(abi.SandboxStatus),
			StartedAt: c.int(abi.SandboxStarted), CompletedAt: c.int(abi.SandboxCompleted), ExecCount: c.int(abi.SandboxExecs),
			RunID: c.text(abi.SandboxRunID), ResourceID: c.text(abi.SandboxResource), TeamID: c.text(abi.SandboxTeam),
			ParentSandboxID: c.text(abi.SandboxParent),
		}
		if c.err != nil {
			return nil, l.broken(op, c.err)
		}
	}
	return list, nil
}
