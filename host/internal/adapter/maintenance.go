package adapter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/store"
)

var _ store.Maintenance = (*Ledger)(nil)

// pageRows bounds pages of what grows without bound when the caller doesn't.
const pageRows = 1000

// errUndeclared is why a guest isn't asked for an operation.
var errUndeclared = errors.New("the plugin doesn't have the operation")

// offers says whether a guest has an optional operation.
func (l *asker) offers(op abi.Op) error {
	if slices.Contains(l.guest.Manifest().Optional, op.String()) {
		return nil
	}
	return fmt.Errorf("%w: plugin %q: %s: %w", store.ErrUnsupported, l.guest.Name(), op, errUndeclared)
}

// bounds are a page's rows and bytes on the wire.
func bounds(opts store.ReadOptions) (rows, size uint64) {
	rows = pageRows
	if opts.Limit > 0 {
		rows = min(uint64(opts.Limit), maxRows)
	}
	return rows, uint64(max(opts.MaxBytes, 0))
}

// page calls an optional operation that answers with a page.
func (l *asker) page(ctx context.Context, op abi.Op, req abi.Message, cursor []byte, want shape) (capability.Rows, abi.RowsReply, error) {
	if err := l.offers(op); err != nil {
		return nil, abi.RowsReply{}, err
	}
	rows, reply, err := l.rows(ctx, op, req, want)
	if err == nil {
		err = l.checkPage(op, cursor, rows, &reply)
	}
	return rows, reply, err
}

// ListHeads returns a page of heads.
func (l *Ledger) ListHeads(ctx context.Context, opts store.ReadOptions) (store.HeadPage, error) {
	const op = abi.OpLedgerListHeads
	limit, size := bounds(opts)
	req := abi.PageRequest{Cursor: opts.Cursor, Limit: limit, MaxBytes: size}
	rows, reply, err := l.page(ctx, op, &req, opts.Cursor, shape{abi.HeadColumns, limit})
	if err != nil {
		return store.HeadPage{}, fmt.Errorf("listing heads: %w", err)
	}
	heads := make([]store.SandboxHead, rows.Len())
	for i := range heads {
		c := cells{rows: rows, row: i}
		heads[i] = store.SandboxHead{
			Key:   store.Key{Name: c.text(abi.HeadName), SandboxID: c.text(abi.HeadSandboxID)},
			Epoch: c.count(abi.HeadEpoch), Hash: c.blob(abi.HeadHash, hashSize), SegmentID: c.blob(abi.HeadSegmentID, idSize),
			Entries: c.count(abi.HeadEntries), MaxTS: c.int(abi.HeadMaxTS),
		}
		if i > 0 && c.err == nil && !before(heads[i-1].Key, heads[i].Key) {
			c.err = fmt.Errorf("row %d of the plugin's answer does not follow the one before it", i)
		}
		if c.err != nil {
			return store.HeadPage{}, fmt.Errorf("listing heads: %w", l.broken(op, c.err))
		}
	}
	return store.HeadPage{Heads: heads, Cursor: reply.Cursor, More: reply.More}, nil
}

// ListSegments returns a page of one sandbox's chain.
func (l *Ledger) ListSegments(ctx context.Context, key store.Key, opts store.ReadOptions) (store.SegmentPage, error) {
	const op = abi.OpLedgerListSegments
	limit, size := bounds(opts)
	req := abi.SandboxPageRequest{Key: wireKey(key), Cursor: opts.Cursor, Limit: limit, MaxBytes: size}
	rows, reply, err := l.page(ctx, op, &req, opts.Cursor, shape{abi.StoredColumns, limit})
	if err != nil {
		return store.SegmentPage{}, fmt.Errorf("listing segments of %s: %w", key, err)
	}
	segments := make([]store.StoredSegment, rows.Len())
	for i := range segments {
		c := cells{rows: rows, row: i}
		s := &segments[i]
		s.FirstID, s.LastID = c.int(abi.StoredFirstID), c.int(abi.StoredLastID)
		c.exactly(abi.StoredID, s.ID[:])
		c.exactly(abi.StoredHash, s.Hash[:])
		s.Previous = c.blob(abi.StoredPrevious, hashSize)
		s.Leaves = bytes.Clone(c.bytesOf(abi.StoredLeaves))
		switch {
		case c.err != nil:
		case len(s.Leaves) == 0 || len(s.Leaves)%hashSize != 0:
			c.err = fmt.Errorf("row %d of the plugin's answer has %d bytes of leaves, which are %d each", i, len(s.Leaves), hashSize)
		case s.FirstID > s.LastID || i > 0 && segments[i-1].LastID >= s.LastID:
			c.err = fmt.Errorf("row %d of the plugin's answer does not follow the one before it", i)
		}
		if c.err != nil {
			return store.SegmentPage{}, fmt.Errorf("listing segments of %s: %w", key, l.broken(op, c.err))
		}
	}
	return store.SegmentPage{Segments: segments, Cursor: reply.Cursor, More: reply.More}, nil
}

// ListTombstones returns a page of tombstones.
func (l *Ledger) ListTombstones(ctx context.Context, opts store.ReadOptions) (store.TombstonePage, error) {
	const op = abi.OpLedgerListTombstones
	limit, size := bounds(opts)
	req := abi.PageRequest{Cursor: opts.Cursor, Limit: limit, MaxBytes: size}
	rows, reply, err := l.page(ctx, op, &req, opts.Cursor, shape{abi.TombstoneColumns, limit})
	if err != nil {
		return store.TombstonePage{}, fmt.Errorf("listing tombstones: %w", err)
	}
	list := make([]store.Tombstone, rows.Len())
	for i := range list {
		c := cells{rows: rows, row: i}
		list[i] = store.Tombstone{
			Key:     store.Key{Name: c.text(abi.TombstoneName), SandboxID: c.text(abi.TombstoneSandboxID)},
			Entries: c.count(abi.TombstoneEntries), Hash: c.blob(abi.TombstoneHash, hashSize), DeletedAt: c.int(abi.TombstoneDeleted),
		}
		if i > 0 && c.err == nil && !before(list[i-1].Key, list[i].Key) {
			c.err = fmt.Errorf("row %d of the plugin's answer does not follow the one before it", i)
		}
		if c.err != nil {
			return store.TombstonePage{}, fmt.Errorf("listing tombstones: %w", l.broken(op, c.err))
		}
	}
	return store.TombstonePage{Tombstones: list, Cursor: reply.Cursor, More: reply.More}, nil
}

// Usage sums up one sandbox's entries.
func (l *Ledger) Usage(ctx context.Context, key store.Key) (store.Usage, error) {
	const op = abi.OpLedgerUsage
	var reply abi.Usage
	err := l.offers(op)
	if err == nil {
		err = l.guest.Call(ctx, op, &abi.SandboxRequest{Key: wireKey(key)}, nil, &reply)
	}
	if err == nil && (reply.FirstTS > reply.LastTS || reply.Entries > maxNumber || reply.Bytes > maxNumber) {
		err = l.brokenf(op, "the plugin answered with %d entries of %d bytes from %d to %d ms", reply.Entries, reply.Bytes, reply.FirstTS, reply.LastTS)
	}
	if err != nil {
		return store.Usage{}, fmt.Errorf("summing up %s: %w", key, mapError(err))
	}
	return store.Usage(reply), nil
}

// Stats sums the whole store up.
func (l *Ledger) Stats(ctx context.Context) (store.Stats, error) {
	const op = abi.OpLedgerStats
	var reply abi.Stats
	err := l.offers(op)
	if err == nil {
		err = l.guest.Call(ctx, op, nil, nil, &reply)
	}
	if err == nil && (reply.Entries < -1 || reply.StorageBytes < -1 || reply.SchemaVersion < 0) {
		err = l.brokenf(op, "the plugin answered with %d entries, %d bytes and the schema version %d", reply.Entries, reply.StorageBytes, reply.SchemaVersion)
	}
	if err != nil {
		return store.Stats{}, fmt.Errorf("summing up the ledger: %w", mapError(err))
	}
	return store.Stats(reply), nil
}

// before is the order of keys, by bytes.
func before(a, b store.Key) bool {
	return a.Name < b.Name || a.Name == b.Name && a.SandboxID < b.SandboxID
}
