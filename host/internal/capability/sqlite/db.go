package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
)

// movedCheck is how often a connection asks whether its file is still where it was.
const movedCheck = time.Second

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

	trouble sync.Mutex
	last    string // the last failure to open that was logged, empty after a success
}

var _ capability.Database = (*DB)(nil)

// slot is a place for one connection, which is opened when it is needed.
type slot struct {
	conn    *conn
	epoch   uint64
	checked time.Time // when moved was asked last
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
	return reply, failure
}

// lend returns a slot with an open connection that nobody else uses, and where to put it back.
func (db *DB) lend(ctx context.Context, readOnly bool) (*slot, chan *slot, *abi.Error) {
	pool := db.writer
	if readOnly && db.path != Memory {
		// The writer makes the file and sets its journal mode.
		if !db.ready.Load() {
			s, pool, failure := db.lend(ctx, false)
			if failure != nil {
				return nil, nil, failure
			}
			db.giveBack(s, pool, false)
		}
		pool = db.readers
	}
	if ctx.Err() != nil {
		return nil, nil, ended(ctx, "before the program began")
	}
	var s *slot
	select {
	case <-db.closing:
		return nil, nil, newError(abi.CodeUnavailable, sentenceClosed)
	default:
	}
	select {
	case s = <-pool:
	default:
		select {
		case s = <-pool:
		case <-ctx.Done():
			return nil, nil, ended(ctx, "while waiting for the programs before it")
		case <-db.closing:
			return nil, nil, newError(abi.CodeUnavailable, sentenceClosed)
		}
	}
	if failure := db.connect(ctx, s, pool == db.readers); failure != nil {
		pool <- s
		return nil, nil, failure
	}
	s.conn.hooks.done = ctx.Done()
	s.conn.hooks.ends, _ = ctx.Deadline()
	return s, pool, nil
}

// giveBack ends the loan of a slot.
func (db *DB) giveBack(s *slot, pool chan *slot, broken bool) {
	s.conn.rest()
	if broken && db.path != Memory {
		db.disconnect(s)
	}
	pool <- s
}

// connect makes sure that a slot has a connection to the file that is there now.
func (db *DB) connect(ctx context.Context, s *slot, reader bool) *abi.Error {
	if s.conn != nil && db.path != Memory {
		now := time.Now()
		if s.epoch == db.epoch.Load() && now.Sub(s.checked) >= movedCheck {
			s.checked = now
			if s.conn.moved() {
				db.epoch.Add(1)
				db.ready.Store(false)
				db.disconnect(s)
				return newError(abi.CodeUnavailable, sentenceMoved)
			}
		}
		if s.epoch != db.epoch.Load() {
			db.disconnect(s)
		}
	}
	if s.conn != nil {
		return nil
	}
	epoch := db.epoch.Load()
	conn, err := db.open(ctx, reader)
	if err != nil && ctx.Err() != nil {
		return ended(ctx, "while the database was opened")
	}
	if err != nil {
		db.report(err)
		return translate(err)
	}
	db.report(nil)
	s.conn, s.epoch, s.checked = conn, epoch, time.Now()
	if !reader {
		db.ready.Store(true)
	}
	return nil
}

// open opens a connection; the writer makes what is missing.
func (db *DB) open(ctx context.Context, reader bool) (*conn, error) {
	if db.path != Memory && !reader {
		if err := os.MkdirAll(filepath.Dir(db.path), 0o700); err != nil {
			return nil, &openError{sentence: "the folder of the database file can't be made (" + cause(err) + ")", err: err}
		}
	}
	ends, _ := ctx.Deadline()
	conn, err := openConn(connOptions{
		path: db.path, create: !reader, queryOnly: reader, synchronous: db.synchronous,
		hooks: hooks{done: ctx.Done(), ends: ends, timeout: db.timeout},
	})
	if err == nil {
		return conn, nil
	}
	if db.path != Memory {
		if info, statErr := os.Stat(db.path); statErr == nil && info.IsDir() {
			return nil, &openError{sentence: sentenceDirectory, err: fmt.Errorf("%s: %w", db.path, err)}
		}
	}
	return nil, fmt.Errorf("opening %s: %w", db.path, err)
}

// cause returns what the system said, without the path.
func cause(err error) string {
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		return pathErr.Err.Error()
	}
	return "unknown reason"
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
}

// report tells the operator about a failure to open, once per change.
func (db *DB) report(err error) {
	db.trouble.Lock()
	defer db.trouble.Unlock()
	now := ""
	if err != nil {
		now = err.Error()
	}
	if now == db.last {
		return
	}
	if err != nil {
		db.logger.Error("database can't be opened; every program tries again", "path", db.path, "err", err)
	} else {
		db.logger.Info("database is open again", "path", db.path)
	}
	db.last = now
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
