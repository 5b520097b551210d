package postgres

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
)

// How much is sent before answers are read.
const (
	maxQueued      = 512
	maxQueuedBytes = 1 << 20
	// maxDrained is how much of a result that nobody wants to see is read before the connection is
	// given up instead, bytes.
	maxDrained = 4 << 20
)

// run is a statement that was sent and not answered yet.
type run struct {
	step  int // -1: the host's own
	row   int // of the step's batch that it is for, -1: none or many
	count int // rows of the batch
}

// step queues one step.
func (p *program) step(i int) *abi.Error {
	step := &p.exec.Steps[i]
	if step.Result > abi.ResultHandle {
		return at(newError(abi.CodeInvalid, fmt.Sprintf("the place %d for rows is unknown", step.Result)), i, -1)
	}
	if step.Result == abi.ResultHandle && p.call == nil {
		return at(newError(abi.CodeInvalid, "there is no call that could keep a handle"), i, -1)
	}
	p.results[i] = newResult(step)
	var rows capability.Rows
	if step.Batch != 0 {
		var ok bool
		if rows, ok = p.call.Get(step.Batch); !ok {
			return at(newError(abi.CodeNotFound, fmt.Sprintf("there is no handle %d in this call", step.Batch)), i, -1)
		}
	}
	if failure := p.resolve(step, i, rows); failure != nil {
		return at(failure, i, -1)
	}
	if rows == nil {
		failure := p.once(i)
		if failure == nil && step.Expect != nil {
			failure = p.flush() // a condition: what follows it may do harm when it is not met
		}
		return failure
	}
	n := rows.Len()
	if n > 1 && step.ManySQL != "" && step.ManyRows == 0 && !p.byRow {
		return p.together(i, rows)
	}
	return p.each(i, rows)
}

// resolve checks the step's parameters, and waits for the results that they need.
func (p *program) resolve(step *abi.SQLStep, i int, rows capability.Rows) *abi.Error {
	for n := range step.Params {
		param := &step.Params[n]
		switch param.Kind {
		case abi.ParamLiteral:
		case abi.ParamColumn:
			if rows == nil || int64(param.Column) >= int64(rows.Columns()) {
				return newError(abi.CodeInvalid, fmt.Sprintf("parameter %d names column %d, which the step's batch does not have", n, param.Column))
			}
		case abi.ParamResult:
			if int64(param.Step) >= int64(i) || p.results[param.Step].page == nil {
				return newError(abi.CodeInvalid, fmt.Sprintf("parameter %d names step %d, which is not an earlier step that keeps rows", n, param.Step))
			}
			if failure := p.flush(); failure != nil {
				return failure
			}
			page := p.results[param.Step].page
			if page.Len() == 0 {
				return newError(abi.CodeInvalid, fmt.Sprintf("parameter %d needs a row of step %d, which returned none", n, param.Step))
			}
			if int64(param.Column) >= int64(page.Columns()) {
				return newError(abi.CodeInvalid, fmt.Sprintf("parameter %d names column %d of step %d, which has %d", n, param.Column, param.Step, page.Columns()))
			}
		default:
			return newError(abi.CodeInvalid, fmt.Sprintf("parameter %d is of the unknown kind %d", n, param.Kind))
		}
	}
	return nil
}

// fixed returns the value of a parameter that is no column.
func (p *program) fixed(param *abi.SQLParam) abi.Value {
	if param.Kind == abi.ParamResult {
		return p.results[param.Step].page.Value(0, int(param.Column))
	}
	return param.Value
}

// statement returns the types of a statement, asking the server when this connection does not know
// them. A statement may need what an earlier step makes, so those are waited for first.
func (p *program) statement(sql string, params int) (*stmt, *abi.Error) {
	st := p.conn.known(sql)
	if st == nil {
		if failure := p.flush(); failure != nil {
			return nil, failure
		}
		about, failure := p.describe(strings.Clone(sql))
		if failure != nil {
			return nil, failure
		}
		st = p.conn.keep(about.SQL, about)
	}
	if n := len(st.about.ParamOIDs); n != params {
		return nil, newError(abi.CodeInvalid, fmt.Sprintf("the statement has %d parameters and the step gives %d", n, params))
	}
	return st, nil
}

// describe prepares a statement.
func (p *program) describe(sql string) (*pgconn.StatementDescription, *abi.Error) {
	for _, name := range p.conn.evicted {
		p.pipe.SendDeallocate(name)
	}
	p.conn.evicted = p.conn.evicted[:0]
	name := p.conn.name()
	p.pipe.SendPrepare(name, sql, nil)
	if err := p.pipe.Sync(); err != nil {
		return nil, p.failed(err, -1, -1)
	}
	var about *pgconn.StatementDescription
	var failure *abi.Error
	for {
		got, err := p.pipe.GetResults()
		switch got := got.(type) {
		case *pgconn.StatementDescription:
			about = got
			about.Name, about.SQL = name, sql
		case *pgconn.PipelineSync:
			if failure == nil && about == nil {
				failure = newError(abi.CodeInternal, "the server did not describe a statement")
			}
			return about, failure
		}
		if err != nil {
			if failure == nil {
				failure = p.failed(err, -1, -1)
			}
			if p.broken {
				return nil, failure
			}
		}
	}
}

// once queues a step without a batch.
func (p *program) once(i int) *abi.Error {
	step := &p.exec.Steps[i]
	if len(step.Params) == 0 && !p.conn.again(step.SQL) {
		// Nothing to know beforehand: what it returns comes as text.
		p.pipe.SendQueryParams(step.SQL, nil, nil, nil, nil)
		return p.queued(run{step: i, row: -1, count: 1}, len(step.SQL))
	}
	st, failure := p.statement(step.SQL, len(step.Params))
	if failure != nil {
		return at(failure, i, -1)
	}
	return p.single(i, -1, st, nil)
}

// each queues the form for one row for every row of the batch.
func (p *program) each(i int, rows capability.Rows) *abi.Error {
	step := &p.exec.Steps[i]
	n := rows.Len()
	if n == 0 {
		return nil
	}
	st, failure := p.statement(step.SQL, len(step.Params))
	if failure != nil {
		return at(failure, i, -1)
	}
	reader := newRowReader(p.conn, rows)
	for row := range n {
		if failure := p.single(i, row, st, reader.read(row)); failure != nil {
			return failure
		}
	}
	return nil
}

// single queues one run of a statement with the cells of one row.
func (p *program) single(i, row int, st *stmt, cells []abi.Value) *abi.Error {
	step, c := &p.exec.Steps[i], p.conn
	params := len(step.Params)
	c.values = slices.Grow(c.values[:0], params)[:params]
	c.formats = slices.Grow(c.formats[:0], params)[:params]
	c.arena = c.arena[:0]
	size := 0
	for n := range step.Params {
		param := &step.Params[n]
		var v abi.Value
		if param.Kind == abi.ParamColumn {
			v = cells[param.Column]
		} else {
			v = p.fixed(param)
		}
		c.values[n], c.formats[n] = c.scalar(st.about.ParamOIDs[n], v)
		size += len(c.values[n])
	}
	p.send(st)
	return p.queued(run{step: i, row: row, count: 1}, size)
}

// together queues the array form of a step for all rows of its batch.
func (p *program) together(i int, rows capability.Rows) *abi.Error {
	step, c := &p.exec.Steps[i], p.conn
	st, failure := p.statement(step.ManySQL, len(step.Params))
	if failure != nil {
		return at(failure, i, -1)
	}
	params := len(step.Params)
	c.arrays = slices.Grow(c.arrays, params)[:max(params, len(c.arrays))]
	arrays := make([]array, params)
	n := rows.Len()
	for k := range step.Params {
		if step.Params[k].Kind != abi.ParamColumn {
			continue
		}
		element, ok := elementOf(st.about.ParamOIDs[k])
		if !ok {
			return at(newError(abi.CodeInvalid, fmt.Sprintf("parameter %d is a column and $%d of the array form is no array that the host knows (try $%d::text[])", k, k+1, k+1)), i, -1)
		}
		arrays[k] = newArray(c.arrays[k], element, n)
	}
	reader := newRowReader(c, rows)
	for row := range n {
		cells := reader.read(row)
		for k := range step.Params {
			if step.Params[k].Kind != abi.ParamColumn {
				continue
			}
			if err := arrays[k].add(cells[step.Params[k].Column]); err != nil {
				return at(newError(abi.CodeInvalid, err.Error()), i, row)
			}
		}
	}
	c.values = slices.Grow(c.values[:0], params)[:params]
	c.formats = slices.Grow(c.formats[:0], params)[:params]
	c.arena = c.arena[:0]
	size := 0
	for k := range step.Params {
		if step.Params[k].Kind == abi.ParamColumn {
			c.arrays[k] = arrays[k].end()
			c.values[k], c.formats[k] = c.arrays[k], binaryForm
		} else {
			c.values[k], c.formats[k] = c.scalar(st.about.ParamOIDs[k], p.fixed(&step.Params[k]))
		}
		size += len(c.values[k])
	}
	p.send(st)
	return p.queued(run{step: i, row: -1, count: n}, size)
}

// send sends a statement with the values that lie ready.
func (p *program) send(st *stmt) {
	c := p.conn
	if st.about.Name != "" {
		p.pipe.SendQueryStatement(st.about, c.values, c.formats, st.formats)
		return
	}
	p.pipe.SendQueryParams(st.about.SQL, c.values, st.about.ParamOIDs, c.formats, st.formats)
}

// queued notes what was sent, and reads answers when that is much.
func (p *program) queued(r run, size int) *abi.Error {
	p.conn.queue = append(p.conn.queue, r)
	p.bytes += size
	if len(p.conn.queue) < maxQueued && p.bytes < maxQueuedBytes {
		return nil
	}
	return p.flush()
}

// flush reads the answers to everything that was sent.
func (p *program) flush() *abi.Error {
	queue := p.conn.queue
	p.conn.queue, p.bytes = queue[:0], 0
	if len(queue) == 0 {
		return nil
	}
	if err := p.pipe.Sync(); err != nil {
		return p.failed(err, -1, -1)
	}
	var failure *abi.Error
	for k := 0; ; k++ {
		got, err := p.pipe.GetResults()
		var r run
		if k < len(queue) {
			r = queue[k]
		}
		if _, done := got.(*pgconn.PipelineSync); done {
			return failure
		}
		if reader, ok := got.(*pgconn.ResultReader); ok && err == nil {
			var refused *abi.Error
			refused, err = p.receive(r, reader, k == len(queue)-2 && p.exec.ReadOnly)
			if failure == nil {
				failure = refused
			}
			if p.enough {
				return failure
			}
		}
		switch {
		case err != nil && failure == nil:
			failure = p.failed(err, r.step, r.row)
			p.grouped = r.count > 1 && (failure.Code == abi.CodeInvalid || failure.Code == abi.CodeConflict)
			if r.row < 0 && r.count == 1 && r.step >= 0 && p.exec.Steps[r.step].Batch != 0 {
				failure = at(failure, r.step, 0)
			}
		case err == nil && got == nil:
			p.broken = true
			return p.gone()
		}
		if p.broken && p.conn.pg.IsClosed() {
			return failure
		}
	}
}

// receive reads the answer to one statement. Last is for the last step of a program that reads.
func (p *program) receive(r run, reader *pgconn.ResultReader, last bool) (*abi.Error, error) {
	if r.step < 0 {
		_, err := reader.Close()
		return nil, err
	}
	step, res := &p.exec.Steps[r.step], &p.results[r.step]
	fields := reader.FieldDescriptions()
	columns := len(fields)
	if res.page != nil && res.page.Columns() == 0 {
		res.page.Reset(columns)
		res.st = p.conn.statements[step.SQL]
	}
	returned, drained := uint64(0), 0
	for reader.NextRow() {
		returned++
		switch {
		case res.page == nil:
		case !res.full:
			res.add(fields, reader.Values())
		default:
			res.more = true
			for _, cell := range reader.Values() {
				drained += len(cell)
			}
			if last && step.Expect == nil && drained > maxDrained {
				p.enough = true
				return nil, nil
			}
		}
	}
	tag, err := reader.Close()
	if err != nil {
		return nil, err
	}
	if res.st != nil {
		res.st.rows, res.st.size = res.page.Len(), int(res.page.WireSize())
	}
	changed := uint64(0)
	if tag.Insert() || tag.Update() || tag.Delete() || strings.HasPrefix(tag.String(), "MERGE") {
		changed = uint64(tag.RowsAffected())
	}
	res.affected += changed
	if failure := res.check(); failure != nil {
		return at(failure, r.step, -1), nil
	}
	if failure := p.room(); failure != nil {
		return at(failure, r.step, -1), nil
	}
	if step.Expect == nil {
		return nil, nil
	}
	overflow, want := bits.Mul64(*step.Expect, uint64(r.count))
	if overflow != 0 {
		want = ^uint64(0)
	}
	got, did := changed, "changed"
	if columns > 0 {
		got, did = returned, "returned"
	}
	if got == want {
		return nil, nil
	}
	p.grouped = r.count > 1
	return at(mismatch(step, fmt.Sprintf("the statement %s %d rows where %d were expected", did, got, want)), r.step, r.row), nil
}

// room refuses results that take more than a call may keep.
func (p *program) room() *abi.Error {
	kept, size := 0, int64(0)
	for i := range p.results {
		if r := &p.results[i]; r.place == abi.ResultHandle && r.page != nil {
			kept, size = kept+1, size+r.page.Memory()
		}
	}
	if kept == 0 || p.call.Room(kept, size) {
		return nil
	}
	return newError(abi.CodeResourceExhausted, fmt.Sprintf("the results of this call take more than the %d bytes that it may keep", capability.MaxKept))
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

// rowReader reads a batch row by row.
type rowReader struct {
	rows  capability.Rows
	whole capability.RowReader // the same, when it has all cells of a row at a time
	cells []abi.Value
}

func newRowReader(c *conn, rows capability.Rows) rowReader {
	columns := rows.Columns()
	c.cells = slices.Grow(c.cells[:0], columns)[:columns]
	whole, _ := rows.(capability.RowReader)
	return rowReader{rows: rows, whole: whole, cells: c.cells}
}

func (r *rowReader) read(row int) []abi.Value {
	if r.whole != nil {
		r.whole.ReadRow(row, r.cells)
		return r.cells
	}
	for column := range r.cells {
		r.cells[column] = r.rows.Value(row, column)
	}
	return r.cells
}
