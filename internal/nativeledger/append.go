package nativeledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/alineo-labs/alineo-host/host/store"
)

const (
	manyRows   = 32 // rows of the large insert
	rowColumns = 8
)

// Append writes a batch, all or nothing.
func (l *Ledger) Append(ctx context.Context, batch *store.Batch) error {
	err := l.write(ctx, func(tx *sql.Tx) error {
		for i := range batch.Segments {
			segment := &batch.Segments[i]
			if err := l.move(tx, segment); err != nil {
				return &store.SegmentError{Segment: i, Entry: -1, Err: err}
			}
			last, entry, err := l.insertAll(tx, segment.Entries)
			if err != nil {
				return &store.SegmentError{Segment: i, Entry: entry, Err: classify(err)}
			}
			count := int64(len(segment.Entries))
			_, err = tx.Stmt(l.segment).Exec(segment.Key.Name, segment.Key.SandboxID, last, last-count+1,
				segment.ID[:], blob(segment.Previous), segment.Hash[:], blob(segment.Leaves))
			if err != nil {
				return &store.SegmentError{Segment: i, Entry: -1, Err: classify(err)}
			}
		}
		return nil
	})
	if errors.Is(err, store.ErrConflict) {
		applied, applyErr := l.applied(batch)
		if applyErr != nil {
			return fmt.Errorf("appending %d segments: %w", len(batch.Segments), applyErr)
		}
		if applied {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("appending %d segments: %w", len(batch.Segments), err)
	}
	return nil
}

// move moves a sandbox's head over a segment.
func (l *Ledger) move(tx *sql.Tx, segment *store.Segment) error {
	maxTS := int64(0)
	for i := range segment.Entries {
		maxTS = max(maxTS, segment.Entries[i].TS)
	}
	result, err := tx.Stmt(l.advance).Exec(segment.ID[:], segment.Hash[:], maxTS, len(segment.Entries),
		segment.Key.Name, segment.Key.SandboxID, int64(segment.Epoch), blob(segment.Previous)) //nolint:gosec // counts claims
	if err != nil {
		return classify(err)
	}
	rows, err := result.RowsAffected()
	if err != nil {
		return err
	}
	if rows == 0 {
		return fmt.Errorf("%w: the ledger of %s is not at epoch %d and hash %x",
			store.ErrConflict, segment.Key, segment.Epoch, segment.Previous)
	}
	return nil
}

// applied reports whether every segment of a batch was applied before.
func (l *Ledger) applied(batch *store.Batch) (bool, error) {
	for i := range batch.Segments {
		segment := &batch.Segments[i]
		var n int
		row := l.db.QueryRow(sqlApplied, segment.Key.Name, segment.Key.SandboxID, segment.ID[:], segment.Hash[:])
		if err := row.Scan(&n); err != nil {
			return false, classify(err)
		}
		if n == 0 {
			return false, nil
		}
	}
	return true, nil
}

// insertAll inserts entries and returns the last one's id, or the index of the one that failed, -1
// when it can't tell.
func (l *Ledger) insertAll(tx *sql.Tx, entries []store.Entry) (last int64, failed int, err error) {
	var result sql.Result
	for i := 0; i < len(entries); {
		n, statement := 1, l.insert
		if len(entries)-i >= manyRows {
			n, statement = manyRows, l.many
		}
		l.args = l.args[:0]
		for j := range n {
			l.args = appendRow(l.args, &entries[i+j])
		}
		if result, err = tx.Stmt(statement).Exec(l.args...); err != nil {
			if n > 1 {
				i = -1
			}
			return 0, i, err
		}
		i += n
	}
	clear(l.args)
	if result == nil {
		return 0, -1, nil
	}
	last, err = result.LastInsertId()
	return last, -1, err
}

func appendRow(args []any, e *store.Entry) []any {
	var branch, payload, failure any
	if e.Branch != nil {
		branch = *e.Branch
	}
	if e.Payload != nil {
		payload = string(e.Payload)
	}
	if e.Error != nil {
		failure = *e.Error
	}
	return append(args, e.SandboxID, e.Name, e.StepIndex, branch, e.Event, payload, failure, e.TS)
}

// blob keeps an empty blob from becoming NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
