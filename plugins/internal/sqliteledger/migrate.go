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
	ready    bool // the schema is there
	bare     bool // only the reference's tables are, and none can be made
	version  int64
	patience ledgerkit.Patience
}

var _ ledgerkit.Database = (*tables)(nil)

// ensure makes the schema at first use, or brings an older one up to date. Several instances, and several
// hosts, may do so at once.
func (t *tables) ensure() error {
	if t.ready {
		return nil
	}
	known, err := version()
	if err == nil && known == 0 {
		if err = migrate(0, firstVersion, schema[:]); err == nil {
			known, err = version() // which another host may have made a newer one
		}
	}
	if err != nil {
		return err
	}
	t.bare, t.version = false, known
	if known > schemaVersion {
		return ledgerkit.ErrNewer(known, schemaVersion)
	}
	if known == schemaVersion {
		t.ready = true
		return nil
	}
	// What an older version lacks is needed to be quick, not to be right.
	if t.patience.Wait() {
		return nil
	}
	err = t.upgrade()
	if t.version == known && (err == nil || ledgerkit.Hindered(err)) {
		t.patience.Failed()
		return nil
	}
	return err // the next call sees whether that is enough
}

// upgrade brings an older schema up to date, unless that takes longer than the call has.
func (t *tables) upgrade() error {
	known := t.version
	if known < indexed {
		rows, err := ledgerkit.One(database, sqlSpread)
		if err != nil || !ledgerkit.Affordable(rows.Int) {
			return err
		}
	}
	err := migrate(known, schemaVersion, upgrade(known))
	if err == nil {
		t.version, err = version()
	}
	return err
}

// readable is ensure for what only reads the reference's tables: where none of ours can be made, those
// are enough.
func (t *tables) readable() error {
	if t.bare && t.patience.Wait() {
		return nil
	}
	err := t.ensure()
	if !ledgerkit.Hindered(err) {
		return err
	}
	there, failed := ledgerkit.One(database, sqlBaseThere)
	if failed != nil || there.Int == 0 {
		return err
	}
	t.bare = true
	t.patience.Failed()
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
	if !errors.As(err, &failed) || failed.Code != abi.CodeInvalid || !strings.HasPrefix(failed.Message, "no such table: ") {
		return reply, err
	}
	t.ready, t.bare = false, false
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

// migrate brings the schema from one version to another in one transaction, unless another host was
// faster. A first version finds nothing, or what a host made of it meanwhile.
func migrate(from, to int64, statements []string) error {
	steps := []alineo.Step{
		alineo.Statement(sqlSchemaTable),
		alineo.Query(sqlSchemaStill, alineo.Int(from)).Expect(1, abi.CodeConflict, "another host has made the schema"),
	}
	for _, sql := range statements {
		steps = append(steps, alineo.Statement(sql))
	}
	steps = append(steps, alineo.Statement(sqlSchemaSet, alineo.Int(to)))
	_, err := database.Write(steps...)
	var failed *abi.Error
	if errors.As(err, &failed) && failed.Code == abi.CodeConflict && failed.Details[abi.DetailStep] == "1" {
		return nil
	}
	return err
}
