package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
)

// DB is one SQLite database. It is safe for concurrent use.
type DB struct {
	path        string
	synchronous string
	timeout     time.Duration
	logger      hclog.Logger

	writer  chan *slot // one, lent to whoever writes
	readers chan *slot // without any for Memory
	ready   atomic.Bool
	epoch   atomic.Uint64 // connections of an earlier one are of a file that is gone

	closing  chan struct{}
	closed   sync.Once
	closeErr error

	troubled atomic.Bool // the file could not be opened last time
	trouble  sync.Mutex
	last     string         // the last failure to open that was logged, empty after a success
	file     os.FileInfo    // of the file that was opened last, nil before
	beside   [2]os.FileInfo // of those beside it
	alive    int            // connections that are open
	aliveOf  uint64         // the epoch that they are of, or began in
}

var _ capability.Database = (*DB)(nil)

// slot is a place for one connection, which is opened when it is needed.
type slot struct {
	conn  *conn
	epoch uint64
}

// Open returns the database of a file that need not exist yet. It fails only for wrong options and
// for an SQLite that is too old.
func Open(opts Options) (*DB, error) {
	if err := errors.Join(opts.check(), checkVersion(libraryVersion())); err != nil {
		return nil, fmt.Errorf("opening database %q: %w", opts.Path, err)
	}
	readers := opts.Readers
	if opts.Path == Memory {
		readers = 0
	}
	db := &DB{
		path: opts.Path, synchronous: opts.Synchronous, timeout: opts.BusyTimeout, logger: opts.Logger,
		writer: make(chan *slot, 1), readers: make(chan *slot, readers), closing: make(chan struct{}),
	}
	db.writer <- new(slot)
	for range readers {
		db.readers <- new(slot)
	}
	return db, nil
}

// Exec implements capability.Database. A program of no steps does nothing.
func (db *DB) Exec(ctx context.Context, exec *abi.SQLExec, call *capability.Call) (*abi.SQLExecReply, *abi.Error) {
	if len(exec.Steps) == 0 {
		return new(abi.SQLExecReply), nil
	}
	if len(exec.Steps) > MaxSteps {
		return nil, newError(abi.CodeInvalid, fmt.Sprintf("the program has %d steps, and %d are allowed", len(exec.Steps), MaxSteps))
	}
	s, pool, failure := db.lend(ctx, exec.ReadOnly)
	if failure != nil {
		return nil, failure
	}
	p := program{conn: s.conn, ctx: ctx, exec: exec, call: call}
	returned := false
	defer func() { db.giveBack(s, pool, p.broken || !returned) }()
	if s.conn.late && !exec.ReadOnly {
		if err := s.conn.logAhead(); err != nil {
			returned = true
			return nil, p.translate(err, "while the journal mode was set")
		}
	}
	reply, failure := p.run()
	returned = true
	switch {
	case p.moved != "":
		db.report(db.gone(p.moved))
	case failure != nil && failure.Message == sentenceCorrupt:
		db.lost() // a good copy may take its place
	}
	if was := s.conn.frozen; was != nil && !db.unchanged(was) {
		p.broken = true
		return nil, newError(abi.CodeUnavailable, sentenceChanged)
	}
	return reply, failure
}

// lend returns a slot with an open connection that nobody else uses, and where to put it back.
func (db *DB) lend(ctx context.Context, readOnly bool) (*slot, chan *slot, *abi.Error) {
	if !readOnly || db.path == Memory {
		s, failure, err := db.lendFrom(ctx, db.writer)
		db.report(err)
		return s, db.writer, failure
	}
	if db.ready.Load() {
		s, failure, err := db.lendFrom(ctx, db.readers)
		db.report(err)
		return s, db.readers, failure
	}
	// The writer makes the file and sets its journal mode.
	first, failure, err := db.lendFrom(ctx, db.writer)
	if failure == nil {
		db.report(nil)
		db.giveBack(first, db.writer, false)
	} else if failure.Code != abi.CodeUnavailable {
		db.report(err)
		return nil, nil, failure
	}
	s, again, _ := db.lendFrom(ctx, db.readers)
	switch {
	case again == nil && failure != nil:
		db.report(&readableError{err}) // what can't be written may still be read
	case failure != nil:
		db.report(err)
		if failure.Message != sentenceReadOnly && failure.Message != sentenceFolder {
			again = failure
		}
	}
	return s, db.readers, again
}

// lendFrom is lend from one of the pools. err is what the operator is to know of a failure to open.
func (db *DB) lendFrom(ctx context.Context, pool chan *slot) (s *slot, failure *abi.Error, err error) {
	if ctx.Err() != nil {
		return nil, ended(ctx, "before the program began"), nil
	}
	select {
	case <-db.closing:
		return nil, newError(abi.CodeUnavailable, sentenceClosed), nil
	default:
	}
	select {
	case s = <-pool:
	default:
		select {
		case s = <-pool:
		case <-ctx.Done():
			return nil, ended(ctx, "while waiting for the programs before it"), nil
		case <-db.closing:
			return nil, newError(abi.CodeUnavailable, sentenceClosed), nil
		}
	}
	failure, err = db.connect(ctx, s, pool != db.writer)
	if failure != nil {
		pool <- s
		return nil, failure, err
	}
	s.conn.hooks.ctx = ctx
	s.conn.hooks.ends, _ = ctx.Deadline()
	return s, nil, nil
}

// giveBack ends the loan of a slot.
func (db *DB) giveBack(s *slot, pool chan *slot, broken bool) {
	s.conn.rest()
	if (broken || s.epoch != db.epoch.Load()) && db.path != Memory {
		db.disconnect(s)
		if pool == db.writer {
			db.dropIdle()
		}
	}
	pool <- s
}

// connect makes sure that a slot has a connection to the file that is there now.
func (db *DB) connect(ctx context.Context, s *slot, reader bool) (*abi.Error, error) {
	if s.conn != nil && db.path != Memory {
		if s.epoch != db.epoch.Load() || s.conn.frozen != nil && (db.ready.Load() || !db.unchanged(s.conn.frozen)) {
			db.disconnect(s)
		} else if sentence := s.conn.moved(); sentence != "" {
			db.disconnect(s)
			return newError(abi.CodeUnavailable, sentence), db.gone(sentence)
		}
	}
	if s.conn != nil {
		return nil, nil
	}
	epoch := db.epoch.Load()
	if !db.settled() {
		return newError(abi.CodeUnavailable, sentenceMoved), errMoved
	}
	conn, err := db.open(ctx, reader)
	if err != nil && ctx.Err() != nil {
		return ended(ctx, "while the database was opened"), nil
	}
	if err != nil {
		return translate(err), err
	}
	s.conn, s.epoch = conn, epoch
	db.count(1)
	if !reader {
		db.remember()
		db.ready.Store(true)
	}
	return nil, nil
}

// disconnect closes a slot's connection; the next program opens another.
func (db *DB) disconnect(s *slot) {
	if s.conn == nil {
		return
	}
	if err := s.conn.close(); err != nil {
		db.logger.Warn("closing a database connection failed", "path", db.path, "err", err)
	}
	s.conn = nil
	db.count(-1)
}

// Close implements capability.Database. It may be called more than once.
func (db *DB) Close() error {
	db.closed.Do(func() {
		close(db.closing)
		var errs []error
		// Readers first: the last connection that closes tidies the write-ahead log away.
		for _, pool := range []chan *slot{db.readers, db.writer} {
			for range cap(pool) {
				if s := <-pool; s.conn != nil {
					errs = append(errs, s.conn.close())
					s.conn = nil
				}
			}
		}
		if err := errors.Join(errs...); err != nil {
			db.closeErr = fmt.Errorf("closing database %q: %w", db.path, err)
		}
	})
	return db.closeErr
}

// Info implements capability.Database.
func (db *DB) Info(ctx context.Context) (capability.DatabaseInfo, error) {
	info := capability.DatabaseInfo{
		Driver: "sqlite", Version: versionText(libraryVersion()), Path: db.path, Synchronous: db.synchronous,
	}
	if db.path != Memory && !db.ready.Load() {
		if _, err := os.Stat(db.path); errors.Is(err, os.ErrNotExist) {
			return info, nil
		}
	}
	s, pool, failure := db.lend(ctx, false)
	if failure != nil {
		return info, fmt.Errorf("inspecting database %q: %w", db.path, failure)
	}
	mode, err := s.conn.query("PRAGMA journal_mode")
	db.giveBack(s, pool, err != nil && breaks(err))
	if err != nil {
		return info, fmt.Errorf("inspecting database %q: %w", db.path, err)
	}
	info.Exists, info.JournalMode = true, mode
	return info, nil
}
