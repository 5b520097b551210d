package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
)

// idleTime is after which a connection that nobody needed is closed.
const idleTime = 5 * time.Minute

// DB is one PostgreSQL database. It is safe for concurrent use.
type DB struct {
	config  *pgconn.Config
	opts    Options
	pooled  atomic.Bool   // a pooler stands between, whatever connections look like
	slots   chan struct{} // one for each connection that is lent
	closing chan struct{}
	closed  sync.Once

	mu   sync.Mutex
	idle []*conn // the one that was used last is the last

	trouble sync.Mutex
	last    string // the last failure to connect that was logged, empty after a success
}

var _ capability.Database = (*DB)(nil)

// Open returns a database that nobody has connected to yet. It fails only for wrong options.
func Open(opts Options) (*DB, error) {
	err := opts.check()
	cfg, parseErr := opts.config()
	if err := errors.Join(err, parseErr); err != nil {
		return nil, fmt.Errorf("opening a PostgreSQL database: %w", err)
	}
	return &DB{config: cfg, opts: opts, slots: make(chan struct{}, opts.PoolSize), closing: make(chan struct{})}, nil
}

func (db *DB) logger() hclog.Logger { return db.opts.Logger }

// Exec implements capability.Database. A program of no steps does nothing.
func (db *DB) Exec(ctx context.Context, exec *abi.SQLExec, call *capability.Call) (*abi.SQLExecReply, *abi.Error) {
	if len(exec.Steps) == 0 {
		return new(abi.SQLExecReply), nil
	}
	if len(exec.Steps) > MaxSteps {
		return nil, newError(abi.CodeInvalid, fmt.Sprintf("the program has %d steps, and %d are allowed", len(exec.Steps), MaxSteps))
	}
	for i := range exec.Steps {
		if failure := guard(exec.Steps[i].SQL); failure != nil {
			return nil, at(failure, i, -1)
		}
		if exec.Steps[i].ManySQL != "" {
			if failure := guard(exec.Steps[i].ManySQL); failure != nil {
				return nil, at(failure, i, -1)
			}
		}
	}
	reply, failure, again := db.try(ctx, exec, call)
	if again && ctx.Err() == nil {
		reply, failure, _ = db.try(ctx, exec, call)
	}
	return reply, failure
}

// try runs a program on one connection, and says whether another connection may do better.
func (db *DB) try(ctx context.Context, exec *abi.SQLExec, call *capability.Call) (reply *abi.SQLExecReply, failure *abi.Error, again bool) {
	c, failure := db.lend(ctx)
	if failure != nil {
		return nil, failure, false
	}
	p := program{conn: c, ctx: ctx, exec: exec, call: call}
	returned := false
	defer func() { db.giveBack(c, !returned || p.broken) }()
	fresh := c.fresh
	c.fresh = false
	reply, failure = p.run()
	returned = true
	if p.stray {
		db.pooled.Store(true)
	}
	switch {
	case p.lost:
		db.forget(hurry) // the others are likely lost too
	case failure != nil && failure.Code == abi.CodeDeadline:
		db.doubt()
	}
	return reply, failure, p.lost && !fresh || p.stray || p.stale
}

// lend returns a connection that nobody else uses.
func (db *DB) lend(ctx context.Context) (*conn, *abi.Error) {
	select {
	case <-db.closing:
		return nil, newError(abi.CodeUnavailable, sentenceClosed)
	default:
	}
	if ctx.Err() != nil {
		return nil, ended(ctx, "before the program began")
	}
	select {
	case db.slots <- struct{}{}:
	default:
		select {
		case db.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, ended(ctx, fmt.Sprintf("while waiting for one of the %d connections that pool_size allows", cap(db.slots)))
		case <-db.closing:
			return nil, newError(abi.CodeUnavailable, sentenceClosed)
		}
	}
	if c := db.reuse(ctx); c != nil {
		return c, nil
	}
	c, failure := db.connect(ctx)
	if failure != nil {
		<-db.slots
	}
	return c, failure
}

// reuse returns a connection that is idle, nil when there is none. One that was idle for long may lead
// nowhere by now: firewalls forget connections without a word.
func (db *DB) reuse(ctx context.Context) *conn {
	for {
		db.mu.Lock()
		n := len(db.idle)
		if n == 0 {
			db.mu.Unlock()
			return nil
		}
		c := db.idle[n-1]
		db.idle = db.idle[:n-1]
		db.mu.Unlock()
		if time.Since(c.used) < db.opts.IdleCheck || c.alive(ctx) {
			return c
		}
		db.logger().Debug("an idle database connection was dead", "database", where(db.config))
		db.close(c, hurry)
		db.forget(hurry)
	}
}

// doubt has every idle connection tried before it is used again: an answer that did not come may mean
// that nothing comes through any more.
func (db *DB) doubt() {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, c := range db.idle {
		c.used = time.Time{}
	}
}

// giveBack ends the loan of a connection.
func (db *DB) giveBack(c *conn, broken bool) {
	defer func() { <-db.slots }()
	c.rest()
	if broken || c.pg.IsClosed() || db.pooled.Load() == c.named {
		db.close(c, closeTime)
		return
	}
	now := time.Now()
	c.used = now
	db.mu.Lock()
	var old *conn
	if len(db.idle) > 0 && now.Sub(db.idle[0].used) > idleTime {
		old = db.idle[0]
		db.idle = db.idle[1:]
	}
	db.idle = append(db.idle, c)
	db.mu.Unlock()
	if old != nil {
		db.close(old, closeTime)
	}
}

// forget closes the connections that nobody uses, each within that time.
func (db *DB) forget(within time.Duration) {
	db.mu.Lock()
	idle := db.idle
	db.idle = nil
	db.mu.Unlock()
	var group sync.WaitGroup
	for _, c := range idle {
		group.Go(func() { db.close(c, within) })
	}
	group.Wait()
}

func (db *DB) close(c *conn, within time.Duration) {
	if err := c.close(within); err != nil {
		db.logger().Debug("closing a database connection failed", "database", where(db.config), "err", err)
	}
}

// connect makes a connection.
func (db *DB) connect(ctx context.Context) (*conn, *abi.Error) {
	c, err := open(ctx, db.config, &db.opts)
	if err != nil && ctx.Err() != nil {
		return nil, ended(ctx, "while the database was connected to")
	}
	if err != nil {
		db.report(err)
		return nil, translateConnect(err, db.config)
	}
	db.report(nil)
	if !c.named {
		db.pooled.Store(true)
	} else if db.pooled.Load() {
		c.named = false
	}
	return c, nil
}

// report tells the operator about a failure to connect, once per change.
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
		db.logger().Error("database can't be connected to; every program tries again", "database", where(db.config), "err", err)
	} else {
		db.logger().Info("database is connected again", "database", where(db.config))
	}
	db.last = now
}

// Close implements capability.Database. It may be called more than once.
func (db *DB) Close() error {
	db.closed.Do(func() {
		close(db.closing)
		for range cap(db.slots) {
			db.slots <- struct{}{}
		}
		db.forget(closeTime)
	})
	return nil
}

// Info implements capability.Database.
func (db *DB) Info(ctx context.Context) (capability.DatabaseInfo, error) {
	info := capability.DatabaseInfo{Driver: "postgres", Path: where(db.config)}
	c, failure := db.lend(ctx)
	if failure != nil {
		return info, fmt.Errorf("inspecting database %q: %w", info.Path, failure)
	}
	defer func() { db.giveBack(c, c.pg.IsClosed()) }()
	if err := c.describe(ctx, &info); err != nil {
		return info, fmt.Errorf("inspecting database %q: %w", info.Path, err)
	}
	info.Exists = true
	return info, nil
}
