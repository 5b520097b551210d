package main

import (
	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// database is the name under which the host grants the ledger's database.
const database = "ledger"

// manyRows is how many rows the multi-row form of an insert has: beyond 32 SQLite gains little.
const manyRows = 32

// run sends a program to the host.
func run(readOnly bool, steps ...abi.SQLStep) (*abi.SQLExecReply, error) {
	return alineo.SQL(database).Exec(readOnly, steps...)
}

// query runs one statement whose rows stay on the host.
func query(sql string, params ...abi.SQLParam) (abi.SQLStepResult, error) {
	reply, err := run(true, abi.SQLStep{SQL: sql, Params: params, Result: abi.ResultHandle})
	if err != nil {
		return abi.SQLStepResult{}, err
	}
	return reply.Steps[0], nil
}

// firstRow returns the first row of an inline result, nil when there is none.
func firstRow(result abi.SQLStepResult) ([]abi.Value, error) {
	if result.RowCount == 0 {
		return nil, nil
	}
	return tableRow(result.Rows)
}

// tableRow returns the first row of a table.
func tableRow(table []byte) ([]abi.Value, error) {
	t, err := abi.ParseTable(table)
	if err != nil {
		return nil, err
	}
	row := make([]abi.Value, t.Columns())
	for c := range row {
		row[c] = t.Value(0, c)
	}
	return row, nil
}

func text(s string) abi.SQLParam { return abi.SQLParam{Value: abi.Text(s)} }

func integer(v int64) abi.SQLParam {
	return abi.SQLParam{Value: abi.Int(v)}
}

// columns binds columns of the step's batch.
func columns(names ...uint32) []abi.SQLParam {
	params := make([]abi.SQLParam, len(names))
	for i, name := range names {
		params[i] = abi.SQLParam{Kind: abi.ParamColumn, Column: name}
	}
	return params
}

// one is the expectation of exactly one row.
func one() *uint64 {
	n := uint64(1)
	return &n
}
