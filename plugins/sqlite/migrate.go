package main

import (
	"strconv"

	"github.com/alineo-labs/alineo-host/abi"
)

// ensure makes the schema at first use. Several instances, and several hosts, may do so at once:
// each program is one immediate transaction and every statement of it may run twice.
func (l *ledger) ensure() error {
	if l.ready {
		return nil
	}
	there, err := run(true, abi.SQLStep{SQL: sqlSchemaThere, Result: abi.ResultInline})
	if err != nil {
		return err
	}
	row, err := firstRow(there.Steps[0])
	if err != nil {
		return err
	}
	if row[0].Int == 0 {
		if err := migrate(); err != nil {
			return err
		}
	}
	version, err := run(true, abi.SQLStep{SQL: sqlSchemaVersion, Result: abi.ResultInline})
	if err != nil {
		return err
	}
	row, err = firstRow(version.Steps[0])
	if err != nil {
		return err
	}
	if row == nil || row[0].Int != schemaVersion {
		found := "none"
		if row != nil {
			found = strconv.FormatInt(row[0].Int, 10)
		}
		return &abi.Error{
			Code: abi.CodeUnsupported,
			Message: "the ledger's schema is of version " + found + ", this plugin knows " +
				strconv.Itoa(schemaVersion) + "; it was left untouched, use a newer plugin",
		}
	}
	l.ready = true
	return nil
}

// migrate makes everything in one transaction, and renames the events of the reference's older
// generation once.
func migrate() error {
	var steps []abi.SQLStep
	for _, sql := range schema {
		steps = append(steps, abi.SQLStep{SQL: sql})
	}
	steps = append(steps,
		abi.SQLStep{SQL: renameSQL()},
		abi.SQLStep{SQL: sqlSchemaSet, Params: []abi.SQLParam{integer(schemaVersion)}},
	)
	_, err := run(false, steps...)
	return err
}
