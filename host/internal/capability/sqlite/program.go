package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
)

// program is one run of a program on one connection.
type program struct {
	conn    *conn
	ctx     context.Context //nolint:containedctx // lives for one call of Exec
	exec    *abi.SQLExec
	call    *capability.Call
	results []result
	sources []source
	reader  capability.RowReader // the running step's batch, when it is one

	byRow      bool   // no many-row forms
	mismatched bool   // the failure is a step's own: it did not do what it was expected to
	grouped    bool   // the failure came from one row of a group
	broken     bool   // the connection is not to be used again
	moved      string // the connection's file, or its log, is not where it was: the sentence that says which
}

// run makes the whole program happen, or nothing of it.
func (p *program) run() (*abi.SQLExecReply, *abi.Error) {
	reply, failure := p.attempt(true)
	if failure == nil || !p.grouped || p.broken || p.conn.hooks.stopped() {
		return reply, failure
	}
	// Which row of the group? Its effects are gone, so the same rows one by one end at the same place.
	again := program{conn: p.conn, ctx: p.ctx, exec: p.exec, call: p.call, byRow: true}
	_, second := again.attempt(false)
	p.broken = again.broken
	if second != nil && second.Details[abi.DetailRow] != "" && second.Code == failure.Code {
		return nil, second
	}
	return nil, failure
}

// attempt runs the steps in a transaction and ends it: committed when everything went well and keep
// says so, else rolled back.
func (p *program) attempt(keep bool) (reply *abi.SQLExecReply, failure *abi.Error) {
	c := p.conn
	if failure := p.start(); failure != nil {
		return nil, failure
	}
	finished := false
	defer func() {
		if !finished { // a panic in the rows of a batch
			c.arena.reset()
			p.undo()
		}
	}()
	failure = p.steps()
	if failure == nil && c.hooks.stopped() {
		failure = ended(p.ctx, "before the commit")
	}
	if failure == nil && !c.inTransaction() {
		failure = newError(abi.CodeInternal, "a step ended the transaction")
	}
	// What is committed to a file that nobody can find any more is not durable.
	if failure == nil && keep && !p.exec.ReadOnly {
		if sentence := c.moved(); sentence != "" {
			p.moved, p.broken = sentence, true
			failure = newError(abi.CodeUnavailable, sentence)
		}
	}
	if failure == nil && keep {
		failure = p.commit()
	}
	finished = true
	if failure != nil || !keep {
		p.undo()
		return nil, failure
	}
	reply = &abi.SQLExecReply{Steps: make([]abi.SQLStepResult, len(p.results))}
	for i := range p.results {
		reply.Steps[i] = p.results[i].reply(p.call)
	}
	return reply, nil
}

func (p *program) start() *abi.Error {
	begin, when := p.conn.beginImmediate, "while waiting for another process's write"
	if p.exec.ReadOnly {
		begin, when = p.conn.begin, "before the first step"
	}
	err := p.conn.control(begin)
	if err == nil {
		return nil
	}
	failure := p.translate(err, when)
	p.undo() // BEGIN may be done and then interrupted
	return failure
}

// translate gives an error of SQLite to the guest. A context that ended explains it better.
func (p *program) translate(err error, when string) *abi.Error {
	p.broken = p.broken || breaks(err)
	if denied := p.conn.hooks.denied; denied != "" {
		p.conn.hooks.denied = ""
		return newError(abi.CodeDenied, denied)
	}
	failure := translate(err)
	if p.conn.hooks.stopped() && (failure.Code == abi.CodeDeadline || failure.Code == abi.CodeUnavailable) {
		return ended(p.ctx, when)
	}
	return failure
}

func (p *program) steps() *abi.Error {
	p.results = slices.Grow(p.conn.results[:0], len(p.exec.Steps))[:len(p.exec.Steps)]
	clear(p.results)
	p.conn.results = p.results
	kept, size := 0, int64(0)
	for i := range p.exec.Steps {
		if failure := p.step(i); failure != nil {
			return failure
		}
		if r := &p.results[i]; r.place == abi.ResultHandle {
			kept, size = kept+1, size+r.page.Memory()
			if !p.call.Room(kept, size) {
				return at(newError(abi.CodeResourceExhausted,
					fmt.Sprintf("the results of this call take more than the %d bytes that it may keep", capability.MaxKept)), i, -1)
			}
		}
	}
	return nil
}

// commit ends the transaction for good. SQLite is not asked to stop any more: a COMMIT that is done
// and then interrupted would be reported as a failure.
func (p *program) commit() *abi.Error {
	c := p.conn
	ctx := c.hooks.ctx
	c.hooks.ctx = nil
	err := c.control(c.commit)
	c.hooks.ctx = ctx
	if err == nil {
		return nil
	}
	open := c.inTransaction()
	p.broken = p.broken || breaks(err) || !open
	return translateCommit(err, open)
}

// undo rolls back what is left of the transaction.
func (p *program) undo() {
	c := p.conn
	if !c.inTransaction() {
		return // SQLite did, as it does after an interrupted write
	}
	ctx := c.hooks.ctx
	c.hooks.ctx = nil
	err := c.control(c.rollback)
	c.hooks.ctx = ctx
	if err != nil || c.inTransaction() {
		p.broken = true
	}
}
