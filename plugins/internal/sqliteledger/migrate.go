package sqliteledger

import (
	"errors"
	"strconv"
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
	if err != nil {
		return err
	}
	switch {
	case version > schemaVersion:
		return errNewer(version)
	case version < schemaVersion:
		if err := migrate(version); err != nil {
			var failed *abi.Error
			if version > 0 && errors.As(err, &failed) && failed.Code == abi.CodeUnavailable {
				return nil // read-only, or busy: what version 1 lacks is needed to be quick, not to be right
			}
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

func errNewer(version int64) error {
	return &abi.Error{
		Code: abi.CodeUnsupported,
		Message: "the ledger's schema is of version " + strconv.FormatInt(version, 10) + ", this plugin knows " +
			strconv.Itoa(schemaVersion) + "; it was left untouched, use a newer plugin",
	}
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

// migrate makes in one transaction what a schema of that version lacks. Each statement may run again:
// another host may have been faster. The events of the reference's older generation are renamed once.
func migrate(from int64) error {
	steps := make([]alineo.Step, 0, len(schema)+len(indexes)+3)
	for _, sql := range &schema {
		steps = append(steps, alineo.Statement(sql))
	}
	newer := len(steps)
	steps = append(steps, alineo.Query(sqlSchemaNewer, alineo.Int(schemaVersion)).Expect(0, abi.CodeConflict, "another host has made a newer schema"))
	if from == 0 {
		steps = append(steps, alineo.Statement(ledgerkit.RenameSQL("alineo_events")))
	}
	for _, sql := range &indexes {
		steps = append(steps, alineo.Statement(sql))
	}
	steps = append(steps, alineo.Statement(sqlSchemaSet, alineo.Int(schemaVersion)))
	_, err := database.Write(steps...)
	var failed *abi.Error
	if errors.As(err, &failed) && failed.Code == abi.CodeConflict && failed.Details[abi.DetailStep] == strconv.Itoa(newer) {
		return errNewer(schemaVersion + 1)
	}
	return err
}
