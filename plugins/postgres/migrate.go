package main

import (
	"errors"
	"strconv"

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
	if err == nil && version < schemaVersion {
		if err = l.migrate(version); err == nil {
			version, err = l.version() // which another host may have made a newer one
		}
	}
	if err != nil {
		return err
	}
	if version != schemaVersion {
		return &abi.Error{
			Code: abi.CodeUnsupported,
			Message: "the ledger's schema is of version " + strconv.FormatInt(version, 10) + ", this plugin knows " +
				strconv.Itoa(schemaVersion) + "; it was left untouched, use a newer plugin",
		}
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

// stepFaster is the step of a migration that finds that another host was faster.
const stepFaster = "2"

// migrate makes in one transaction what a schema of that version lacks. The events of the reference's
// older generation are renamed once.
func (l *ledger) migrate(from int64) error {
	const faster = "another host has made the schema"
	steps := []alineo.Step{alineo.Statement(l.sql.noTimeout), alineo.Statement(l.sql.lockMigration)}
	if from == 0 {
		steps = append(steps, alineo.Statement(l.sql.absent).Expect(1, abi.CodeConflict, faster))
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
		steps = append(steps, alineo.Statement(l.sql.rename), alineo.Statement(l.sql.addVersion))
	} else {
		steps = append(steps, alineo.Statement(l.sql.still, alineo.Int(from)).Expect(1, abi.CodeConflict, faster))
	}
	for _, sql := range l.sql.indexes {
		steps = append(steps, alineo.Statement(sql))
	}
	steps = append(steps, alineo.Statement(l.sql.setVersion))
	_, err := db.Write(steps...)
	var failed *abi.Error
	if errors.As(err, &failed) && failed.Code == abi.CodeConflict && failed.Details[abi.DetailStep] == stepFaster {
		return nil
	}
	return err
}
