package alineo

import (
	"unsafe"

	"github.com/alineo-labs/alineo-host/abi"
)

// SQL is a database that was granted to the plugin: [plugins.NAME.sql.<this>] in alineo.toml.
type SQL string

// Exec runs the steps in order in one transaction, all or nothing. One that is readOnly does not
// wait for writers; any other is immediate. Rows of the reply are good until the running call ends. The
// error is an *abi.Error, whose details name the step and, for a step over a batch, its row.
func (db SQL) Exec(readOnly bool, steps ...abi.SQLStep) (*abi.SQLExecReply, error) {
	body, err := guest.invoke(abi.OpSQLExec, &abi.SQLExec{Database: string(db), ReadOnly: readOnly, Steps: steps})
	if err != nil {
		return nil, err
	}
	return readResults(body, len(steps))
}

// readResults reads a reply of so many steps.
func readResults(body []byte, steps int) (*abi.SQLExecReply, error) {
	reply := &abi.SQLExecReply{Steps: make([]abi.SQLStepResult, 0, steps)}
	if err := reply.Unmarshal(body); err != nil {
		return nil, garbled(abi.OpSQLExec, err)
	}
	if len(reply.Steps) != steps {
		return nil, &abi.Error{Code: abi.CodeInternal, Message: "the host did not answer every step"}
	}
	return reply, nil
}

// Write is Exec for steps that write.
func (db SQL) Write(steps ...Step) (*abi.SQLExecReply, error) {
	return db.Exec(false, asSteps(steps)...)
}

// Read is Exec for steps that only read.
func (db SQL) Read(steps ...Step) (*abi.SQLExecReply, error) {
	return db.Exec(true, asSteps(steps)...)
}

// asSteps views steps as what they are.
func asSteps(steps []Step) []abi.SQLStep {
	return unsafe.Slice((*abi.SQLStep)(unsafe.Pointer(unsafe.SliceData(steps))), len(steps))
}

// Step is one statement of a program. Its methods return a changed copy, so that a step that was
// made once can be used in every call:
//
//	insert := alineo.Statement("INSERT INTO notes(at, text) VALUES (?, ?)", alineo.Columns(1, 0)...).Many(32)
//	…
//	alineo.SQL("notes").Write(insert.ForEach(req.Entries))
type Step struct {
	step abi.SQLStep // the only field: asSteps relies on it
}

// Statement returns a step that runs sql once with these parameters and keeps no rows.
func Statement(sql string, params ...abi.SQLParam) Step {
	return Step{abi.SQLStep{SQL: sql, Params: params}}
}

// Query returns a step whose rows come back in the reply, as a table.
func Query(sql string, params ...abi.SQLParam) Step {
	return Step{abi.SQLStep{SQL: sql, Params: params, Result: abi.ResultInline}}
}

// Keep returns a step whose rows stay on the host, behind a handle that a reply can pass on.
func Keep(sql string, params ...abi.SQLParam) Step {
	return Step{abi.SQLStep{SQL: sql, Params: params, Result: abi.ResultHandle}}
}

// ForEach makes the step run for every row of a batch, whose columns its parameters may name.
func (s Step) ForEach(batch uint64) Step {
	s.step.Batch = batch
	return s
}

// Many adds the form of the step's INSERT for that many rows at once, which is faster. A statement
// that MultiRow can't repeat is left as it is. Build the step once and keep it.
func (s Step) Many(rows int) Step {
	if sql, ok := MultiRow(s.step.SQL, rows); ok {
		s.step.ManySQL, s.step.ManyRows = sql, uint64(rows)
	}
	return s
}

// Expect makes the program fail when a run of the step changes, or returns when it is a query, any
// other number of rows. Code is what it fails with, conflict when 0; an empty message leaves the words
// to the host.
func (s Step) Expect(rows uint64, code abi.Code, message string) Step {
	s.step.Expect, s.step.MismatchCode, s.step.MismatchMessage = &rows, code, message
	return s
}

// Limit ends the step's rows after that many, and after the row with which they pass that many
// bytes; 0 is no bound but the host's. The result's More says that there were more.
func (s Step) Limit(rows, bytes uint64) Step {
	s.step.MaxRows, s.step.MaxBytes = rows, bytes
	return s
}

// Raw returns the step's message, for Exec.
func (s Step) Raw() abi.SQLStep { return s.step }

// FirstRow reads the first row of a table into row, as many columns as row has, and returns false
// when the table has none.
func FirstRow(table []byte, row ...*abi.Value) (bool, error) {
	if len(table) == 0 {
		return false, nil
	}
	t, err := abi.NewTableReader(table)
	if err != nil {
		return false, err
	}
	values := make([]abi.Value, len(row))
	if !t.Next(values) {
		return false, t.Err()
	}
	for i := range row {
		*row[i] = values[i]
	}
	return true, nil
}
