package main

import (
	"errors"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// ensure makes the schema at first use, or brings an older one up to date. Several instances, and several
// hosts, may do so at once.
func (l *ledger) ensure() error {
	if l.ready {
		return nil
	}
	version, err := l.version()
	if err == nil && version == 0 {
		if err = l.create(); err == nil {
			version, err = l.version()
		}
	}
	if err == nil && version < schemaVersion {
		var rows abi.Value
		if rows, err = ledgerkit.One(db, l.sql.spread); err == nil && ledgerkit.Affordable(rows.Int) {
			if err = l.index(version); err == nil {
				version, err = l.version() // which another host may have made a newer one
			}
		}
	}
	if err != nil {
		return err
	}
	if version > schemaVersion {
		return ledgerkit.ErrNewer(version, schemaVersion)
	}
	l.ready = true
	return nil
}

// version is that of the schema, 0 when there is none.
func (l *ledger) version() (int64, error) {
	there, err := ledgerkit.One(db, l.sql.there)
	if err != nil || there.Int == 0 {
		return 0, err
	}
	version, err := ledgerkit.One(db, l.sql.version)
	return version.Int, err
}

// create makes the tables in one transaction, unless another host has done it.
func (l *ledger) create() error {
	there, err := ledgerkit.One(db, l.sql.schemaThere)
	if err != nil {
		return err
	}
	steps := []alineo.Step{alineo.Statement(l.sql.lockMigration), alineo.Statement(l.sql.absent).Expect(1, abi.CodeConflict, faster)}
	if there.Int == 0 { // asking for one that is there takes a right that the role may not have
		steps = append(steps, alineo.Statement(l.sql.makeSchema))
	}
	for _, sql := range l.sql.schema {
		steps = append(steps, alineo.Statement(sql))
	}
	return first(db.Write(append(steps, alineo.Statement(l.sql.addVersion))...))
}

// index renames the events of the reference's older generation, and makes the indexes, in one
// transaction, unless another host has done it.
func (l *ledger) index(from int64) error {
	steps := []alineo.Step{
		alineo.Statement(l.sql.lockMigration), alineo.Statement(l.sql.still, alineo.Int(from)).Expect(1, abi.CodeConflict, faster),
		alineo.Statement(l.sql.noTimeout), alineo.Statement(l.sql.rename),
	}
	for _, sql := range l.sql.indexes {
		steps = append(steps, alineo.Statement(sql))
	}
	return first(db.Write(append(steps, alineo.Statement(l.sql.setVersion))...))
}

// faster is why a migration ends at its second step.
const faster = "another host has made the schema"

// first takes it for no failure that another host was the first.
func first(_ *abi.SQLExecReply, err error) error {
	var failed *abi.Error
	if errors.As(err, &failed) && failed.Code == abi.CodeConflict && failed.Details[abi.DetailStep] == "1" {
		return nil
	}
	return err
}
