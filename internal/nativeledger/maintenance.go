package nativeledger

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"

	"github.com/alineo-labs/alineo-host/host/store"
)

var _ store.Maintenance = (*Ledger)(nil)

// ListHeads returns a page of heads.
func (l *Ledger) ListHeads(ctx context.Context, opts store.ReadOptions) (store.HeadPage, error) {
	page := store.HeadPage{Cursor: opts.Cursor}
	from, err := readKeyCursor(opts.Cursor)
	if err == nil {
		page.More, err = l.list(ctx, opts, func(rows *sql.Rows) (int64, error) {
			var h store.SandboxHead
			err := rows.Scan(&h.Key.Name, &h.Key.SandboxID, &h.Epoch, &h.Hash, &h.SegmentID, &h.Entries, &h.MaxTS)
			h.Hash, h.SegmentID = nonEmpty(h.Hash), nonEmpty(h.SegmentID)
			page.Heads, page.Cursor = append(page.Heads, h), keyCursor(h.Key)
			return int64(len(h.Key.Name) + len(h.Key.SandboxID) + len(h.Hash) + len(h.SegmentID)), err
		}, sqlListHeads, from.Name, from.SandboxID)
	}
	if err != nil {
		return store.HeadPage{}, fmt.Errorf("listing heads: %w", err)
	}
	return page, nil
}

// ListSegments returns a page of one sandbox's chain.
func (l *Ledger) ListSegments(ctx context.Context, key store.Key, opts store.ReadOptions) (store.SegmentPage, error) {
	page := store.SegmentPage{Cursor: opts.Cursor}
	last := int64(-1 << 63)
	err := readCursor(opts.Cursor, &last)
	if err == nil {
		page.More, err = l.list(ctx, opts, func(rows *sql.Rows) (int64, error) {
			var s store.StoredSegment
			var id, hash []byte
			if err := rows.Scan(&s.FirstID, &s.LastID, &id, &s.Previous, &hash, &s.Leaves); err != nil {
				return 0, err
			}
			if copy(s.ID[:], id) != len(id) || copy(s.Hash[:], hash) != len(hash) {
				return 0, fmt.Errorf("the segment that ends with entry %d has an id of %d bytes and a hash of %d", s.LastID, len(id), len(hash))
			}
			s.Previous = nonEmpty(s.Previous)
			page.Segments, page.Cursor = append(page.Segments, s), cursor(s.LastID)
			return int64(len(s.Leaves)) + int64(len(s.ID)+2*len(s.Hash)), nil
		}, sqlListSegments, key.Name, key.SandboxID, last)
	}
	if err != nil {
		return store.SegmentPage{}, fmt.Errorf("listing segments of %s: %w", key, err)
	}
	return page, nil
}

// ListTombstones returns a page of tombstones.
func (l *Ledger) ListTombstones(ctx context.Context, opts store.ReadOptions) (store.TombstonePage, error) {
	page := store.TombstonePage{Cursor: opts.Cursor}
	from, err := readKeyCursor(opts.Cursor)
	if err == nil {
		page.More, err = l.list(ctx, opts, func(rows *sql.Rows) (int64, error) {
			var t store.Tombstone
			err := rows.Scan(&t.Key.Name, &t.Key.SandboxID, &t.Entries, &t.Hash, &t.DeletedAt)
			t.Hash = nonEmpty(t.Hash)
			page.Tombstones, page.Cursor = append(page.Tombstones, t), keyCursor(t.Key)
			return int64(len(t.Key.Name) + len(t.Key.SandboxID) + len(t.Hash)), err
		}, sqlListTombstones, from.Name, from.SandboxID)
	}
	if err != nil {
		return store.TombstonePage{}, fmt.Errorf("listing tombstones: %w", err)
	}
	return page, nil
}

// Usage sums up one sandbox's entries.
func (l *Ledger) Usage(ctx context.Context, key store.Key) (store.Usage, error) {
	var u store.Usage
	err := ctx.Err()
	if err == nil {
		row := l.db.QueryRow(sqlUsage, key.Name, key.SandboxID)
		err = classify(row.Scan(&u.Entries, &u.Bytes, &u.FirstTS, &u.LastTS, &u.Created, &u.Closed))
	}
	if err != nil {
		return store.Usage{}, fmt.Errorf("summing up %s: %w", key, err)
	}
	return u, nil
}

// Stats sums the file up.
func (l *Ledger) Stats(ctx context.Context) (store.Stats, error) {
	s := store.Stats{SchemaVersion: schemaVersion}
	err := ctx.Err()
	if err == nil {
		err = classify(l.db.QueryRow(sqlStats).Scan(&s.Entries, &s.StorageBytes))
	}
	if err != nil {
		return store.Stats{}, fmt.Errorf("summing up the ledger: %w", err)
	}
	return s, nil
}

// list runs a query with one more parameter, the limit, and scans a page of it. scan returns how
// large its row was.
func (l *Ledger) list(ctx context.Context, opts store.ReadOptions, scan func(*sql.Rows) (int64, error), query string, args ...any) (more bool, err error) {
	limit, maxBytes := bounds(opts)
	if err := ctx.Err(); err != nil {
		return false, err
	}
	rows, err := l.db.Query(query, append(args, limit+1)...)
	if err != nil {
		return false, classify(err)
	}
	defer rows.Close() //nolint:errcheck // what matters is in rows.Err
	size := int64(0)
	for n := 0; rows.Next(); n++ {
		if n == limit || size > maxBytes {
			return true, nil
		}
		bytes, err := scan(rows)
		if err != nil {
			return false, fmt.Errorf("scanning a row: %w", err)
		}
		size += bytes
	}
	return false, classify(rows.Err())
}

// bounds are those of a page, with what the caller leaves to the store.
func bounds(opts store.ReadOptions) (limit int, maxBytes int64) {
	limit, maxBytes = opts.Limit, opts.MaxBytes
	if limit <= 0 {
		limit = pageRows
	}
	if maxBytes <= 0 {
		maxBytes = pageBytes
	}
	return limit, maxBytes
}

func nonEmpty(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// keyCursor is behind a key: how long the name is, the name, the id.
func keyCursor(key store.Key) []byte {
	b := binary.AppendUvarint(nil, uint64(len(key.Name)))
	return append(append(b, key.Name...), key.SandboxID...)
}

func readKeyCursor(b []byte) (store.Key, error) {
	if len(b) == 0 {
		return store.Key{}, nil
	}
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return store.Key{}, fmt.Errorf("%w: a cursor of another list", store.ErrInvalid)
	}
	b = b[size:]
	return store.Key{Name: string(b[:n]), SandboxID: string(b[n:])}, nil
}
