package main

import (
	"errors"
	"strconv"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// ensure makes the schema at first use. Several instances, and several hosts, may do so at once.
func (l *ledger) ensure() error {
	if l.ready {
		return nil
	}
	there, err := ledgerkit.One(db, l.sql.there)
	if err != nil {
		return err
	}
	if there.Int == 0 {
		if err := l.migrate(); err != nil {
			return err
		}
	}
	version, err := ledgerkit.One(db, l.sql.version)
	if err != nil {
		return err
	}
	if version.Int != schemaVersion {
		return &abi.Error{
			Code: abi.CodeUnsupported,
			Message: "the ledger's schema is of version " + strconv.FormatInt(version.Int, 10) + ", this plugin knows " +
				strconv.Itoa(schemaVersion) + "; it was left untouched, use a newer plugin",
		}
	}
	l.ready = true
	return nil
}

// stepAbsent is the step of a migration that finds that another host was faster.
const stepAbsent = "1"

// migrate makes everything in one transaction, and renames the events of the reference's older
// generation once.
func (l *ledger) migrate() error {
	steps := []alineo.Step{
		alineo.Statement(l.sql.lockMigration),
		alineo.Statement(l.sql.absent).Expect(1, abi.CodeConflict, "another host has made the schema"),
	}
	there, err := ledgerkit.One(db, l.sql.schemaThere)
	if err != nil {
		return err
	}
	if there.Int == 0 { // asking for one that is there takes a right that the role may not have
		steps = append(steps, alineo.Statement(l.sql.makeSchema))
	}
	for _, sql := range l.sql.schema {
		steps = append(steps, alineo.Statement(sql))
	}
	steps = append(steps, alineo.Statement(l.sql.setVersion))
	_, err = db.Write(steps...)
	var failed *abi.Error
	if errors.As(err, &failed) && failed.Code == abi.CodeConflict && failed.Details[abi.DetailStep] == stepAbsent {
		return nil
	}
	return err
}
