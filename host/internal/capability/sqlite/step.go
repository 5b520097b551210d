package sqlite

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	lib "modernc.org/sqlite/lib"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
)

// source is where a parameter's value comes from, made ready before the rows are walked.
type source struct {
	column int        // of the batch, or -1
	fixed  *abi.Value // when it is none
	staged staged
}

// step runs one step.
func (p *program) step(i int) *abi.Error {
	step := &p.exec.Steps[i]
	p.conn.hooks.denied, p.reader = "", nil
	if step.Result > abi.ResultHandle {
		return at(newError(abi.CodeInvalid, fmt.Sprintf("the place %d for rows is unknown", step.Result)), i, -1)
	}
	if step.Result == abi.ResultHandle && p.call == nil {
		return at(newError(abi.CodeInvalid, "there is no call that could keep a handle"), i, -1)
	}
	p.results[i] = newResult(step, &p.conn.pages)
	rows, failure := p.batch(step)
	if failure != nil {
		return at(failure, i, -1)
	}
	if failure := p.resolve(step, i, rows); failure != nil {
		return at(failure, i, -1)
	}
	single, failure := p.prepare(step.SQL, len(step.Params))
	if failure != nil {
		return at(failure, i, -1)
	}
	if rows == nil {
		if failure := p.once(i, single, nil, 0, 1); failure != nil {
			return at(failure, i, -1)
		}
	} else if failure := p.each(i, single, rows); failure != nil {
		return failure
	}
	if failure := p.results[i].check(); failure != nil {
		return at(failure, i, -1)
	}
	return nil
}

// batch returns the rows that a step runs for, nil when it runs once.
func (p *program) batch(step *abi.SQLStep) (capability.Rows, *abi.Error) {
	if step.Batch == 0 {
		return nil, nil
	}
	rows, ok := p.call.Get(step.Batch)
	if !ok {
		return nil, newError(abi.CodeNotFound, fmt.Sprintf("there is no handle %d in this call", step.Batch))
	}
	return rows, nil
}

// each runs a step for every row of its batch.
func (p *program) each(i int, single *stmt, rows capability.Rows) *abi.Error {
	step := &p.exec.Steps[i]
	p.reader, _ = rows.(capability.RowReader)
	if p.reader != nil {
		columns := rows.Columns()
		p.conn.cells = slices.Grow(p.conn.cells[:0], columns)[:columns]
	}
	row, n := 0, rows.Len()
	if step.ManySQL != "" && !p.byRow && step.ManyRows > 1 && step.ManyRows <= uint64(n) {
		group := int(step.ManyRows)
		if group*len(step.Params) > maxParams {
			return at(newError(abi.CodeInvalid, fmt.Sprintf("the many-row form of %d rows has too many parameters", group)), i, -1)
		}
		many, failure := p.prepare(step.ManySQL, group*len(step.Params))
		if failure != nil {
			return at(failure, i, -1)
		}
		if err := many.keep(p.conn, len(step.Params)); err != nil {
			return at(p.translate(err, "while a statement was made ready"), i, -1)
		}
		for ; n-row >= group; row += group {
			if failure := p.once(i, many, rows, row, group); failure != nil {
				p.grouped = p.mismatched || failure.Code == abi.CodeInvalid || failure.Code == abi.CodeConflict
				return at(failure, i, -1)
			}
		}
	}
	for ; row < n; row++ {
		if failure := p.once(i, single, rows, row, 1); failure != nil {
			return at(failure, i, row)
		}
	}
	return nil
}

// maxParams is the most parameters that a statement may have, by SQLite's default.
const maxParams = 32766

// resolve makes the step's parameters ready.
func (p *program) resolve(step *abi.SQLStep, i int, rows capability.Rows) *abi.Error {
	p.sources = slices.Grow(p.conn.sources[:0], len(step.Params))[:len(step.Params)]
	p.conn.sources = p.sources
	columns := int64(-1)
	if rows != nil {
		columns = int64(rows.Columns())
	}
	for n := range step.Params {
		param := &step.Params[n]
		s := &p.sources[n]
		switch param.Kind {
		case abi.ParamLiteral:
			s.column, s.fixed = -1, &param.Value
		case abi.ParamColumn:
			if int64(param.Column) >= columns {
				return newError(abi.CodeInvalid, fmt.Sprintf("parameter %d names column %d, which the step's batch does not have", n, param.Column))
			}
			s.column, s.fixed = int(param.Column), nil
		case abi.ParamResult:
			value, failure := p.earlier(param, i, n)
			if failure != nil {
				return failure
			}
			s.column, s.fixed = -1, &value
		default:
			return newError(abi.CodeInvalid, fmt.Sprintf("parameter %d is of the unknown kind %d", n, param.Kind))
		}
	}
	return nil
}

// earlier returns a cell of the first row of an earlier step's result.
func (p *program) earlier(param *abi.SQLParam, i, n int) (abi.Value, *abi.Error) {
	if int64(param.Step) >= int64(i) || p.results[param.Step].page == nil {
		return abi.Null, newError(abi.CodeInvalid, fmt.Sprintf("parameter %d names step %d, which is not an earlier step that keeps rows", n, param.Step))
	}
	page := p.results[param.Step].page
	if page.Len() == 0 {
		return abi.Null, newError(abi.CodeInvalid, fmt.Sprintf("parameter %d needs a row of step %d, which returned none", n, param.Step))
	}
	if int64(param.Column) >= int64(page.Columns()) {
		return abi.Null, newError(abi.CodeInvalid, fmt.Sprintf("parameter %d names column %d of step %d, which has %d", n, param.Column, param.Step, page.Columns()))
	}
	return page.Value(0, int(param.Column)), nil
}

// prepare returns the statement of a step.
func (p *program) prepare(sql string, params int) (*stmt, *abi.Error) {
	st, err := p.conn.statement(sql)
	if err != nil {
		return nil, p.translate(err, "while a statement was compiled")
	}
	if st.params != params {
		return nil, newError(abi.CodeInvalid, fmt.Sprintf("the statement has %d parameters and the step gives %d", st.params, params))
	}
	if p.exec.ReadOnly && !st.readOnly {
		return nil, newError(abi.CodeInvalid, "the program is read-only and the statement writes")
	}
	return st, nil
}

// once runs a statement with the parameters of count rows from row on; rows is nil for a step
// without a batch.
func (p *program) once(i int, st *stmt, rows capability.Rows, row, count int) *abi.Error {
	c := p.conn
	if c.hooks.stopped() {
		return ended(p.ctx, fmt.Sprintf("in step %d", i))
	}
	failure := p.bind(st, rows, row, count)
	if failure == nil {
		failure = p.execute(i, st, count)
	}
	c.arena.reset()
	return failure
}

// execute runs a bound statement to its end and checks what it did.
func (p *program) execute(i int, st *stmt, count int) *abi.Error {
	c, step, r := p.conn, &p.exec.Steps[i], &p.results[i]
	want, expected := uint64(0), step.Expect != nil
	if expected {
		var overflow uint64
		if overflow, want = bits.Mul64(*step.Expect, uint64(count)); overflow != 0 {
			want = ^uint64(0)
		}
	}
	returned := uint64(0)
	rc := lib.Xsqlite3_step(c.tls, st.handle)
	st.columns = int(lib.Xsqlite3_column_count(c.tls, st.handle)) // the step may have compiled it anew
	for ; rc == lib.SQLITE_ROW; rc = lib.Xsqlite3_step(c.tls, st.handle) {
		returned++
		switch {
		case r.page == nil:
		case r.full:
			r.more = true
		case !r.add(c, st):
			rc = lib.SQLITE_NOMEM
		default:
			continue
		}
		if rc != lib.SQLITE_ROW {
			break
		}
		// A statement that writes goes to its end; of a query, nobody wants to know the rest.
		if st.readOnly && (!expected || returned > want) {
			rc = lib.SQLITE_DONE
			break
		}
	}
	if rc != lib.SQLITE_DONE {
		failure := p.translate(c.failure(rc), fmt.Sprintf("in step %d", i))
		lib.Xsqlite3_reset(c.tls, st.handle)
		return failure
	}
	r.remember(st)
	if rc := lib.Xsqlite3_reset(c.tls, st.handle); rc != lib.SQLITE_OK {
		return p.translate(c.failure(rc), fmt.Sprintf("in step %d", i))
	}
	changed := uint64(0)
	if !st.readOnly {
		// sqlite3_changes keeps its value over statements that change no row of a table.
		if total := lib.Xsqlite3_total_changes64(c.tls, c.db); total != c.total {
			c.total = total
			changed = uint64(lib.Xsqlite3_changes64(c.tls, c.db))
		}
		r.affected += changed
	}
	if !expected {
		return nil
	}
	got, did := changed, "changed"
	if st.columns > 0 {
		got, did = returned, "returned"
	}
	if got == want {
		return nil
	}
	p.mismatched = true
	return mismatch(step, fmt.Sprintf("the statement %s %d rows where %d were expected", did, got, want))
}

// mismatch is the error of a step that did not do what it was expected to.
func mismatch(step *abi.SQLStep, message string) *abi.Error {
	code := step.MismatchCode
	if code == abi.CodeOK || code > abi.CodeInternal {
		code = abi.CodeConflict
	}
	if step.MismatchMessage != "" {
		message = strings.Clone(step.MismatchMessage)
	}
	return newError(code, message)
}
