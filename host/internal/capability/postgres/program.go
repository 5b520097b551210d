package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
)

// commitTime is how long the answer to a COMMIT is waited for, whatever becomes of the call.
const commitTime = 10 * time.Second

// program is one run of a program on one connection.
type program struct {
	conn    *conn
	ctx     context.Context //nolint:containedctx // lives for one call of Exec
	exec    *abi.SQLExec
	call    *capability.Call
	pipe    *pgconn.Pipeline
	results []result
	bytes   int // of the parameters that are queued

	byRow   bool // no array forms
	grouped bool // the failure came from one row of many
	enough  bool // the rest of the last step's rows is not wanted
	broken  bool // the connection is not to be used again
	lost    bool // it ended before COMMIT was sent: nothing was done
	stray   bool // a prepared statement is not there: a pooler stands between after all
	stale   bool // a prepared statement is of an older schema
}

// run makes the whole program happen, or nothing of it.
func (p *program) run() (*abi.SQLExecReply, *abi.Error) {
	reply, failure := p.attempt()
	if failure == nil || !p.grouped || p.broken || p.ctx.Err() != nil {
		return reply, failure
	}
	// Which row of them? The forms mean the same, so row by row it ends at that row. A statement for
	// many rows may also have been too narrow: two rows of a batch that are about the same row of a
	// table are one after the other here.
	again := program{conn: p.conn, ctx: p.ctx, exec: p.exec, call: p.call, byRow: true}
	reply, second := again.attempt()
	p.broken, p.lost, p.stray, p.stale = again.broken, again.lost, again.stray, again.stale
	return reply, second
}

// attempt runs the steps in a transaction and ends it.
func (p *program) attempt() (*abi.SQLExecReply, *abi.Error) {
	p.pipe = p.conn.pg.StartPipeline(p.ctx)
	p.conn.queue = p.conn.queue[:0]
	finished := false
	defer func() {
		if !finished { // a panic in the rows of a batch
			p.broken = true
			_ = p.pipe.Close() //nolint:errcheck // the connection is given up
		}
	}()
	failure := p.steps()
	finished = true
	if p.enough {
		// The server would go on sending: the rest of the rows is not worth more than a connection.
		p.broken = true
		closeErr := p.conn.close(closeTime)
		_ = p.pipe.Close() //nolint:errcheck // it can only say that the connection is closed
		if failure == nil && closeErr == nil {
			return p.reply(), nil
		}
		return nil, p.gone()
	}
	closeErr := p.pipe.Close()
	if failure == nil && closeErr != nil {
		failure = p.failed(closeErr, -1, -1)
	}
	if p.conn.pg.IsClosed() {
		p.broken = true
		if failure == nil {
			failure = p.gone()
		}
		return nil, failure
	}
	if failure == nil && !p.exec.ReadOnly {
		failure = p.commit()
	}
	if failure != nil {
		p.undo()
		return nil, failure
	}
	return p.reply(), nil
}

func (p *program) reply() *abi.SQLExecReply {
	reply := &abi.SQLExecReply{Steps: make([]abi.SQLStepResult, len(p.results))}
	for i := range p.results {
		reply.Steps[i] = p.results[i].reply(p.call)
	}
	return reply
}

// steps sends everything up to the COMMIT, and reads what came of it.
func (p *program) steps() *abi.Error {
	p.results = slices.Grow(p.conn.results[:0], len(p.exec.Steps))[:len(p.exec.Steps)]
	clear(p.results)
	p.conn.results = p.results
	begin := p.conn.begin
	if p.exec.ReadOnly {
		begin = p.conn.look
	}
	p.control(begin)
	if p.conn.limit != "" {
		p.control(p.conn.limit)
	}
	for i := range p.exec.Steps {
		if failure := p.step(i); failure != nil {
			return p.settle(failure)
		}
	}
	if p.exec.ReadOnly {
		p.control("COMMIT")
	}
	return p.flush()
}

// settle reads the answers to what was sent before a step that could not be sent. A failure among
// them came first.
func (p *program) settle(failure *abi.Error) *abi.Error {
	if p.conn.pg.IsClosed() {
		return failure
	}
	if earlier := p.flush(); earlier != nil {
		return earlier
	}
	return failure
}

// control queues one of the host's own statements.
func (p *program) control(sql string) {
	p.pipe.SendQueryParams(sql, nil, nil, nil, nil)
	p.conn.queue = append(p.conn.queue, run{step: -1, row: -1})
}

// commit ends the transaction for good. Once COMMIT is sent the call's end is not waited for less:
// half an answer would be an unknown outcome.
func (p *program) commit() *abi.Error {
	if p.ctx.Err() != nil {
		return ended(p.ctx, "before the commit")
	}
	if p.conn.pg.TxStatus() != 'T' {
		return newError(abi.CodeInternal, "a step ended the transaction")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), commitTime)
	defer cancel()
	tag, err := p.conn.run(ctx, "COMMIT")
	server, answered := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil && tag == "COMMIT":
		return nil
	case err == nil:
		return newError(abi.CodeInternal, "the transaction was rolled back: "+tag)
	case answered && !fatal(server):
		return translate(server) // a constraint that was deferred, for one
	case pgconn.SafeToRetry(err):
		p.lost, p.broken = true, true
		return newError(abi.CodeUnavailable, sentenceLost)
	default:
		p.broken = true
		return newError(abi.CodeUnknownOutcome, "the connection to the database was lost during the commit, which may or may not have been done")
	}
}

// undo rolls back what is left of the transaction.
func (p *program) undo() {
	if p.broken || p.conn.pg.TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), closeTime)
	defer cancel()
	if _, err := p.conn.run(ctx, "ROLLBACK"); err != nil || p.conn.pg.TxStatus() != 'I' {
		p.broken = true
	}
}

// failed gives an error of a connection to the guest.
func (p *program) failed(err error, step, row int) *abi.Error {
	server, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		p.broken = true
		return at(p.gone(), step, row)
	}
	if fatal(server) {
		p.broken, p.lost = true, true
	}
	switch server.Code {
	case "26000", "42P05":
		p.stray = p.conn.named
		p.broken = true
	case "0A000":
		// "cached plan must not change result type"
		p.stale = strings.Contains(server.Message, "cached plan")
		p.broken = p.broken || p.stale
	case "25006":
		if p.exec.ReadOnly {
			return at(newError(abi.CodeInvalid, "the program is read-only and the statement writes"), step, row)
		}
		p.broken = true // where there are several servers, the next connection may lead to the one that writes
	}
	if p.ctx.Err() != nil {
		return at(ended(p.ctx, fmt.Sprintf("in step %d", max(step, 0))), step, row)
	}
	return at(translate(server), step, row)
}

// gone is the failure of a connection that ended while no COMMIT was under way.
func (p *program) gone() *abi.Error {
	if p.ctx.Err() != nil {
		return ended(p.ctx, "while the database was working")
	}
	p.lost = true
	return newError(abi.CodeUnavailable, sentenceLost)
}

// fatal reports whether an error of the server ends the connection.
func fatal(e *pgconn.PgError) bool {
	severity := e.SeverityUnlocalized
	if severity == "" {
		severity = e.Severity
	}
	return severity == "FATAL" || severity == "PANIC"
}
