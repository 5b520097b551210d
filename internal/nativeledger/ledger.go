package nativeledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/alineo-labs/alineo-host/host/store"
)

// Options of Open.
type Options struct {
	Synchronous string // "full" when empty
	// ReadOnly opens the file without touching it: no schema, no journal mode.
	ReadOnly bool
}

// Ledger is a store on one SQLite file. It is safe for concurrent use.
type Ledger struct {
	db *sql.DB // readers

	mu               sync.Mutex // guards the writer
	writer           *sql.DB    // one connection, immediate transactions
	insert, many     *sql.Stmt  // one row, and manyRows at once
	advance, segment *sql.Stmt
	args             []any
}

var _ store.Ledger = (*Ledger)(nil)

// Open opens or makes the file and what is missing in it.
func Open(path string, opts Options) (*Ledger, error) {
	dsn := func(extra ...string) string {
		query := url.Values{"_pragma": {"busy_timeout(5000)"}}
		if opts.ReadOnly {
			query.Set("mode", "ro")
			query.Set("immutable", "1")
		} else {
			query.Add("_pragma", "journal_mode(WAL)")
			query.Add("_pragma", "synchronous("+cmpOr(opts.Synchronous, "full")+")")
		}
		for _, e := range extra {
			query.Set("_txlock", e)
		}
		return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + query.Encode()
	}
	writer, err := sql.Open("sqlite", dsn("immediate"))
	if err != nil {
		return nil, fmt.Errorf("opening ledger %q: %w", path, err)
	}
	writer.SetMaxOpenConns(1)
	l := &Ledger{writer: writer}
	if l.db, err = sql.Open("sqlite", dsn()); err != nil {
		return nil, errors.Join(fmt.Errorf("opening ledger %q: %w", path, err), writer.Close())
	}
	l.db.SetMaxOpenConns(4)
	if !opts.ReadOnly {
		if err = l.prepare(); err != nil {
			return nil, errors.Join(fmt.Errorf("opening ledger %q: %w", path, err), l.Close(context.Background()))
		}
	}
	return l, nil
}

func cmpOr(s, or string) string {
	if s == "" {
		return or
	}
	return s
}

func (l *Ledger) prepare() error {
	ctx := context.Background()
	if err := migrate(ctx, l.writer); err != nil {
		return err
	}
	values := sqlInsert[strings.LastIndexByte(sqlInsert, '('):]
	for statement, text := range map[**sql.Stmt]string{
		&l.insert: sqlInsert, &l.many: sqlInsert + strings.Repeat(", "+values, manyRows-1),
		&l.advance: sqlAdvance, &l.segment: sqlSegment,
	} {
		var err error
		if *statement, err = l.writer.PrepareContext(ctx, text); err != nil {
			return fmt.Errorf("preparing %q: %w", text, err)
		}
	}
	return nil
}

// OpenLedger claims a sandbox's ledger.
func (l *Ledger) OpenLedger(ctx context.Context, key store.Key) (store.Head, error) {
	var head store.Head
	err := l.write(ctx, func(tx *sql.Tx) error {
		row := tx.QueryRow(sqlClaim, key.Name, key.SandboxID)
		if err := row.Scan(&head.Epoch, &head.SegmentID, &head.Hash, &head.Entries); err != nil {
			return err
		}
		row = tx.QueryRow(sqlStand, key.Name, key.SandboxID)
		return row.Scan(&head.LastStep, &head.MaxTS)
	})
	if err != nil {
		return store.Head{}, fmt.Errorf("opening ledger of %s: %w", key, err)
	}
	if len(head.Hash) == 0 {
		head.Hash, head.SegmentID = nil, nil
	}
	return head, nil
}

// DeleteSandbox removes a sandbox's entries.
func (l *Ledger) DeleteSandbox(ctx context.Context, key store.Key) (uint64, error) {
	var rows int64
	err := l.write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.Exec(sqlTombstone, key.Name, key.SandboxID); err != nil {
			return err
		}
		result, err := tx.Exec(sqlDeleteEvents, key.Name, key.SandboxID)
		if err != nil {
			return err
		}
		if rows, err = result.RowsAffected(); err != nil {
			return err
		}
		for _, statement := range [...]string{sqlDeleteSegments, sqlResetHead} {
			if _, err = tx.Exec(statement, key.Name, key.SandboxID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("deleting ledger of %s: %w", key, err)
	}
	return uint64(rows), nil //nolint:gosec // a count
}

// Insert adds rows as the reference does, behind the back of claims and heads.
func (l *Ledger) Insert(ctx context.Context, entries []store.Entry) error {
	return l.write(ctx, func(tx *sql.Tx) error {
		for i := range entries {
			if _, err := tx.Stmt(l.insert).Exec(appendRow(nil, &entries[i])...); err != nil {
				return fmt.Errorf("inserting entry %d: %w", i, err)
			}
		}
		return nil
	})
}

// Close closes the file. Nothing may be called after it but Close.
func (l *Ledger) Close(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := errors.Join(l.db.Close(), l.writer.Close()); err != nil {
		return fmt.Errorf("closing ledger: %w", err)
	}
	return nil
}

// write runs f in one immediate transaction. After COMMIT was sent an error is an unknown outcome.
func (l *Ledger) write(ctx context.Context, f func(tx *sql.Tx) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	tx, err := l.writer.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return classify(err)
	}
	if err = f(tx); err != nil {
		return errors.Join(classify(err), tx.Rollback())
	}
	if err = tx.Commit(); err != nil {
		return fmt.Errorf("%w: committing: %w", store.ErrUnknownOutcome, err)
	}
	return nil
}

// classify adds the sentinel that an error of the driver stands for.
func classify(err error) error {
	if failure, ok := errors.AsType[*sqlite.Error](err); ok {
		switch failure.Code() & 0xff {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR:
			return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
		case sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH:
			return fmt.Errorf("%w: %w", store.ErrInvalid, err)
		}
	}
	return err
}
