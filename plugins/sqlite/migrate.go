package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// ensure makes the schema at first use. Several instances, and several hosts, may do so at once:
// each program is one immediate transaction and every statement of it may run twice.
func (l *ledger) ensure() error {
	if l.ready {
		return nil
	}
	there, err := one(sqlSchemaThere)
	if err != nil {
		return err
	}
	if there.Int == 0 {
		if err := migrate(); err != nil {
			return err
		}
	}
	version, err := one(sqlSchemaVersion)
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

// checked looks again at the next call whether the schema is there, when it turns out that it is not:
// the file was replaced while it was open.
func (l *ledger) checked(reply *abi.SQLExecReply, err error) (*abi.SQLExecReply, error) {
	var failed *abi.Error
	if !errors.As(err, &failed) || failed.Code != abi.CodeInvalid || !strings.HasPrefix(failed.Message, "no such table: alineo_") {
		return reply, err
	}
	l.ready = false
	return nil, &abi.Error{
		Code: abi.CodeUnavailable, Retryable: true,
		Message: "the ledger's tables are gone: its database file was replaced while it was open",
	}
}

func (l *ledger) read(steps ...alineo.Step) (*abi.SQLExecReply, error) {
	return l.checked(db.Read(steps...))
}

func (l *ledger) write(steps ...alineo.Step) (*abi.SQLExecReply, error) {
	return l.checked(db.Write(steps...))
}

// one returns the only value of a query, null when it has no row.
func one(sql string) (abi.Value, error) {
	var value abi.Value
	reply, err := db.Read(alineo.Query(sql))
	if err == nil {
		_, err = alineo.FirstRow(reply.Steps[0].Rows, &value)
	}
	return value, err
}

// migrate makes everything in one transaction, and renames the events of the reference's older
// generation once.
func migrate() error {
	steps := make([]alineo.Step, 0, len(schema)+2)
	for _, sql := range &schema {
		steps = append(steps, alineo.Statement(sql))
	}
	steps = append(steps, alineo.Statement(renameSQL()), alineo.Statement(sqlSchemaSet, alineo.Int(schemaVersion)))
	_, err := db.Write(steps...)
	return err
}
