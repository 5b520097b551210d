package nativeledger

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/alineo-labs/alineo-host/host/store"
)

const (
	pageRows  = 1000
	pageBytes = 1 << 20
)

// Read returns a page of one sandbox's entries.
func (l *Ledger) Read(ctx context.Context, key store.Key, opts store.ReadOptions) (store.Page, error) {
	ts, id := int64(math.MinInt64), int64(math.MinInt64)
	err := readCursor(opts.Cursor, &ts, &id)
	if err != nil {
		return store.Page{}, fmt.Errorf("reading ledger of %s: %w", key, err)
	}
	var page store.Page
	if opts.Last > 0 {
		page, err = l.last(ctx, opts, sqlLast, key.Name, key.SandboxID)
	} else {
		page, err = l.page(ctx, opts, sqlRead, key.Name, key.SandboxID, ts, id)
	}
	if err != nil {
		return store.Page{}, fmt.Errorf("reading ledger of %s: %w", key, err)
	}
	if n := len(page.Entries); n > 0 {
		page.Cursor = cursor(page.Entries[n-1].TS, page.Entries[n-1].ID)
	}
	return page, nil
}

// ReadAll returns a page of every sandbox's entries.
func (l *Ledger) ReadAll(ctx context.Context, opts store.ReadOptions) (store.Page, error) {
	id := int64(math.MinInt64)
	err := readCursor(opts.Cursor, &id)
	if err != nil {
		return store.Page{}, fmt.Errorf("reading ledger: %w", err)
	}
	var page store.Page
	if opts.Last > 0 {
		page, err = l.last(ctx, opts, sqlLastAll)
	} else {
		page, err = l.page(ctx, opts, sqlReadAll, id)
	}
	if err != nil {
		return store.Page{}, fmt.Errorf("reading ledger: %w", err)
	}
	if n := len(page.Entries); n > 0 {
		page.Cursor = cursor(page.Entries[n-1].ID)
	}
	return page, nil
}

// last runs a query that gives the newest entries first, with one more parameter, the limit.
func (l *Ledger) last(ctx context.Context, opts store.ReadOptions, query string, args ...any) (store.Page, error) {
	if len(opts.Cursor) > 0 {
		return store.Page{}, fmt.Errorf("%w: the last entries have no cursor that they come behind", store.ErrInvalid)
	}
	limit, maxBytes := bounds(opts)
	if opts.Limit <= 0 {
		limit = opts.Last
	}
	var page store.Page
	size := int64(0)
	_, err := l.list(ctx, store.ReadOptions{Limit: min(limit, opts.Last), MaxBytes: maxBytes}, func(rows *sql.Rows) (int64, error) {
		entry, err := scanEntry(rows)
		own := int64(len(entry.Payload) + len(entry.Event))
		if size += own; err == nil && (size <= maxBytes || len(page.Entries) == 0) {
			page.Entries = append(page.Entries, entry)
		}
		return own, err
	}, query, args...)
	slices.Reverse(page.Entries)
	return page, err
}

// page runs a query with one more parameter, the limit.
func (l *Ledger) page(ctx context.Context, opts store.ReadOptions, query string, args ...any) (store.Page, error) {
	limit, maxBytes := bounds(opts)
	page := store.Page{Cursor: opts.Cursor}
	if err := ctx.Err(); err != nil {
		return page, err
	}
	rows, err := l.db.Query(query, append(args, limit+1)...)
	if err != nil {
		return page, classify(err)
	}
	defer rows.Close() //nolint:errcheck // what matters is in rows.Err
	size := int64(0)
	for rows.Next() {
		if len(page.Entries) == limit || size > maxBytes {
			page.More = true
			return page, nil
		}
		entry, err := scanEntry(rows)
		if err != nil {
			return page, err
		}
		size += int64(len(entry.Payload) + len(entry.Event))
		page.Entries = append(page.Entries, entry)
	}
	return page, classify(rows.Err())
}

func scanEntry(rows *sql.Rows) (store.Entry, error) {
	var e store.Entry
	var branch sql.NullInt64
	var payload sql.RawBytes
	var failure sql.NullString
	err := rows.Scan(&e.ID, &e.SandboxID, &e.Name, &e.StepIndex, &branch, &e.Event, &payload, &failure, &e.TS)
	if err != nil {
		return e, fmt.Errorf("scanning a row: %w", err)
	}
	if branch.Valid {
		e.Branch = &branch.Int64
	}
	if payload != nil {
		e.Payload = append(json.RawMessage{}, payload...)
	}
	if failure.Valid {
		e.Error = &failure.String
	}
	return e, nil
}

// LastCheckpoint returns the newest checkpoint entry.
func (l *Ledger) LastCheckpoint(ctx context.Context, key store.Key, tag string) (store.Entry, error) {
	rows, err := l.db.QueryContext(context.WithoutCancel(ctx), sqlLastCheckpoint, key.Name, key.SandboxID, tag)
	if err != nil {
		return store.Entry{}, fmt.Errorf("finding last checkpoint of %s: %w", key, classify(err))
	}
	defer rows.Close() //nolint:errcheck // what matters is in rows.Err
	if !rows.Next() {
		if err = classify(rows.Err()); err == nil {
			err = store.ErrNotFound
		}
		return store.Entry{}, fmt.Errorf("finding last checkpoint of %s: %w", key, err)
	}
	return scanEntry(rows)
}

// ListCheckpoints returns a page of a sandbox's checkpoints, oldest first.
func (l *Ledger) ListCheckpoints(ctx context.Context, key store.Key, opts store.ReadOptions) (store.CheckpointPage, error) {
	page := store.CheckpointPage{Cursor: opts.Cursor}
	ts, id := int64(math.MinInt64), int64(math.MinInt64)
	err := readCursor(opts.Cursor, &ts, &id)
	if err == nil {
		page.More, err = l.list(ctx, opts, func(rows *sql.Rows) (int64, error) {
			var c store.Checkpoint
			err := rows.Scan(&c.SnapshotID, &c.Tag, &c.CreatedAt, &c.ID)
			page.Checkpoints, page.Cursor = append(page.Checkpoints, c), cursor(c.CreatedAt, c.ID)
			return int64(len(c.SnapshotID) + len(c.Tag)), err
		}, sqlListCheckpoints, key.Name, key.SandboxID, ts, id)
	}
	if err != nil {
		return store.CheckpointPage{}, fmt.Errorf("listing checkpoints of %s: %w", key, err)
	}
	return page, nil
}

func cursor(values ...int64) []byte {
	var b []byte
	for _, v := range values {
		b = binary.BigEndian.AppendUint64(b, uint64(v)) //nolint:gosec // bits
	}
	return b
}

func readCursor(b []byte, values ...*int64) error {
	if len(b) == 0 {
		return nil
	}
	if len(b) != 8*len(values) {
		return fmt.Errorf("%w: a cursor of %d bytes, not %d", store.ErrInvalid, len(b), 8*len(values))
	}
	for i, v := range values {
		*v = int64(binary.BigEndian.Uint64(b[8*i:])) //nolint:gosec // bits
	}
	return nil
}
