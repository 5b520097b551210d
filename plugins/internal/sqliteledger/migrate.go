package sqliteledger

import (
	"errors"
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// tables are the ledger's, made at first use.
type tables struct {
	ready bool // the schema is there
}

var _ ledgerkit.Database = (*tables)(nil)

// ensure makes the schema at first use, or brings an older one up to date. Several instances, and several
// hosts, may do so at once.
func (t *tables) ensure() error {
	if t.ready {
		return nil
	}
	version, err := version()
	if err == nil && version == 0 {
		version = firstVersion
		err = migrate(version, schema[:])
	}
	if err != nil {
		return err
	}
	if version > schemaVersion {
		return ledgerkit.ErrNewer(version, schemaVersion)
	}
	if version < schemaVersion {
		rows, err := ledgerkit.One(database, sqlSpread)
		if err != nil {
			return err
		}
		if ledgerkit.Affordable(rows.Int) {
			err = migrate(schemaVersion, append([]string{ledgerkit.RenameSQL("alineo_events")}, indexes[:]...))
		}
		var failed *abi.Error
		if errors.As(err, &failed) && failed.Code == abi.CodeUnavailable {
			return nil // read-only, or busy: what version 1 lacks is needed to be quick, not to be right
		}
		if err != nil {
			return err
		}
	}
	t.ready = true
	return nil
}

// version is that of the schema, 0 when there is none.
func version() (int64, error) {
	there, err := ledgerkit.One(database, sqlSchemaThere)
	if err != nil || there.Int == 0 {
		return 0, err
	}
	version, err := ledgerkit.One(database, sqlSchemaVersion)
	return version.Int, err
}

// checked looks again at the next call whether the schema is there, when it turns out that it is not:
// the file was replaced while it was open.
func (t *tables) checked(reply *abi.SQLExecReply, err error) (*abi.SQLExecReply, error) {
	var failed *abi.Error
	if !errors.As(err, &failed) || failed.Code != abi.CodeInvalid || !strings.HasPrefix(failed.Message, "no such table: alineo_") {
		return reply, err
	}
	t.ready = false
	return nil, &abi.Error{
		Code: abi.CodeUnavailable, Retryable: true,
		Message: "the ledger's tables are gone: its database file was replaced while it was open",
	}
}

// Read is database.Read on tables that are there.
func (t *tables) Read(steps ...alineo.Step) (*abi.SQLExecReply, error) {
	return t.checked(database.Read(steps...))
}

// Write is database.Write on tables that are there.
func (t *tables) Write(steps ...alineo.Step) (*abi.SQLExecReply, error) {
	return t.checked(database.Write(steps...))
}

// migrate brings the schema to a version in one transaction. Each statement may run again: another host
// may have been faster.
func migrate(to int64, statements []string) error {
	steps := []alineo.Step{alineo.Statement(sqlSchemaTable)}
	steps = append(steps, alineo.Query(sqlSchemaNewer, alineo.Int(schemaVersion)).Expect(0, abi.CodeConflict, "another host has made a newer schema"))
	for _, sql := range statements {
		steps = append(steps, alineo.Statement(sql))
	}
	steps = append(steps, alineo.Statement(sqlSchemaSet, alineo.Int(to)))
	_, err := database.Write(steps...)
	var failed *abi.Error
	if errors.As(err, &failed) && failed.Code == abi.CodeConflict && failed.Details[abi.DetailStep] == "1" {
		return ledgerkit.ErrNewer(schemaVersion+1, schemaVersion)
	}
	return err
}
