package alineo

import "github.com/alineo-labs/alineo-host/abi"

// call does one operation of the host and returns the body of its answer.
func call(op abi.Op, req abi.Message) ([]byte, error) {
	scratch = req.AppendTo(scratch[:0])
	status, body := hostCall(op, scratch)
	if status == abi.CodeOK {
		return body, nil
	}
	var e abi.Error
	if err := e.Unmarshal(body); err != nil {
		return nil, &abi.Error{Code: abi.CodeInternal, Message: "the host's answer to " + op.String() + ": " + err.Error()}
	}
	return nil, &e
}

// scratch is the buffer that requests to the host are made in; one call runs at a time.
var scratch []byte

// SQL is a granted database, by the name that alineo.toml gives it.
type SQL string

// Exec runs the steps in order in one transaction, all or nothing; a program that is readOnly does
// not wait for writers. The reply lives as long as it is kept. The error is an *abi.Error, whose
// details name the step and, for a step over a batch, its row.
func (db SQL) Exec(readOnly bool, steps ...abi.SQLStep) (*abi.SQLExecReply, error) {
	body, err := call(abi.OpSQLExec, &abi.SQLExec{Database: string(db), ReadOnly: readOnly, Steps: steps})
	if err != nil {
		return nil, err
	}
	reply := new(abi.SQLExecReply)
	if err := reply.Unmarshal(body); err != nil {
		return nil, err
	}
	return reply, nil
}

// Batch is a handle to rows that the host keeps for the length of one call.
type Batch uint64

// Read returns rows from first on, as many as fit into the host's bounds. Cells that are too large
// are null and named in Cut; read those with Cell.
func (b Batch) Read(first, maxRows uint64) (*abi.BatchRows, error) {
	body, err := call(abi.OpBatchRead, &abi.BatchRead{Handle: uint64(b), First: first, MaxRows: maxRows})
	if err != nil {
		return nil, err
	}
	rows := new(abi.BatchRows)
	if err := rows.Unmarshal(body); err != nil {
		return nil, err
	}
	return rows, nil
}

// Cell returns length bytes of one text, json or blob from offset on, fewer at its end.
func (b Batch) Cell(row, column, offset, length uint64) (*abi.BatchBytes, error) {
	body, err := call(abi.OpBatchCell, &abi.BatchCell{
		Handle: uint64(b), Row: row, Column: column, Offset: offset, Length: length,
	})
	if err != nil {
		return nil, err
	}
	cell := new(abi.BatchBytes)
	if err := cell.Unmarshal(body); err != nil {
		return nil, err
	}
	return cell, nil
}

// Level is how important a log line is.
type Level uint32

// Levels, as the host's log has them.
const (
	Trace Level = 1
	Debug Level = 2
	Info  Level = 3
	Warn  Level = 4
	Error Level = 5
)

// Log writes a line to the host's log, which names the plugin. It never fails; lines beyond the
// granted rate are dropped and counted.
func Log(level Level, line string) { hostLog(level, line) }
