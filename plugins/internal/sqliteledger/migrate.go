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

// ensure makes the schema at first use. Several instances, and several hosts, may do so at once:
// each program is one immediate transaction and every statement of it may run twice.
func (t *tables) ensure() error {
	if t.ready {
		return nil
	}
	there, err := ledgerkit.One(database, sqlSchemaThere)
	if err != nil {
		return err
	}
	if there.Int == 0 {
		if err := migrate(); err != nil {
			return err
		}
	}
	version, err := ledgerkit.One(database, sqlSchemaVersion)
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
	t.ready = true
	return nil
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

// migrate makes everything in one transaction, and renames the events of the reference's older
// generation once.
func migrate() error {
	steps := make([]alineo.Step, 0, len(schema)+2)
	for _, sql := range &schema {
		steps = append(steps, alineo.Statement(sql))
	}
	steps = append(steps, alineo.Statement(ledgerkit.RenameSQL("alineo_events")), alineo.Statement(sqlSchemaSet, alineo.Int(schemaVersion)))
	_, err := database.Write(steps...)
	return err
}
