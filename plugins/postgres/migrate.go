package main

import (
	"errors"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/plugins/internal/runkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// tables is what is known of the ledger's.
type tables struct {
	ready    bool // the schema is there
	bare     bool // only the reference's tables are, and none can be made
	version  int64
	order    order
	patience ledgerkit.Patience
}

// order is how the database orders names and ids.
type order struct {
	known   bool
	collate string // what makes it the order of bytes, behind a column: nothing where it is that
}

// ensure makes the schema at first use, or brings an older one up to date. Several instances, and several
// hosts, may do so at once.
func (l *ledger) ensure() error {
	t := &l.tables
	if t.ready || t.version >= runs && t.patience.Wait() {
		return nil
	}
	version, err := l.version()
	if err == nil && version == 0 {
		if err = l.create(); err == nil {
			version, err = l.version()
		}
	}
	if err != nil {
		return err
	}
	t.bare, t.version = false, version
	if version > schemaVersion {
		return ledgerkit.ErrNewer(version, schemaVersion)
	}
	if version == schemaVersion {
		t.ready = true
		return nil
	}
	// What an older version lacks is needed to be quick, not to be right.
	if t.patience.Wait() {
		return nil
	}
	err = l.upgrade()
	if t.version == version && (err == nil || ledgerkit.Hindered(err)) {
		t.patience.Failed()
		return nil
	}
	return err // the next call sees whether that is enough
}

// upgrade brings older tables up to date, as far as that does not take longer than the call has.
func (l *ledger) upgrade() error {
	t := &l.tables
	if err := l.askOrder(); err != nil {
		return err
	}
	to := int64(schemaVersion)
	if t.version < indexed || t.order.collate != "" {
		rows, err := ledgerkit.One(db, l.sql.spread)
		if err != nil {
			return err
		}
		if !ledgerkit.Affordable(rows.Int) {
			if t.version < indexed || t.version >= runs {
				return nil
			}
			to = runs // which reads no large table
		}
	}
	err := l.renew(t.version, to)
	if err == nil {
		t.order = order{} // it has indexes now
		t.version, err = l.version()
	}
	return err
}

// readable is ensure for what only reads the reference's tables: where none of ours can be made, those
// are enough.
func (l *ledger) readable() error {
	t := &l.tables
	if t.bare && t.patience.Wait() {
		return nil
	}
	err := l.ensure()
	if !ledgerkit.Hindered(err) {
		return err
	}
	there, failed := ledgerkit.One(db, l.sql.baseThere)
	if failed != nil || there.Int == 0 {
		return err
	}
	t.bare = true
	t.patience.Failed()
	return nil
}

// maintenanceSQL returns the statements for the tables that are there.
func (l *ledger) maintenanceSQL() (*ledgerkit.MaintenanceSQL, int64, error) {
	if err := l.readable(); err != nil {
		return nil, 0, err
	}
	if l.tables.bare {
		return &l.sql.bare, 0, nil
	}
	if err := l.askOrder(); err != nil {
		return nil, 0, err
	}
	return &l.sql.maintenance, l.tables.version, nil
}

// askOrder asks, once, how the database orders names and ids.
func (l *ledger) askOrder() error {
	if l.tables.order.known {
		return nil
	}
	var bytewise, indexed abi.Value
	if _, err := ledgerkit.Row(db, l.sql.order, nil, &bytewise, &indexed); err != nil {
		return err
	}
	collate := byteOrder
	if bytewise.Int != 0 {
		collate = ""
	}
	l.tables.order = order{known: true, collate: collate}
	if collate == "" || indexed.Int != 0 {
		l.sql.maintenance.Heads, l.sql.maintenance.Tombstones = l.sql.quick(collate)
		l.Most = ledgerkit.HeadsPage
	}
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
	err = first(db.Write(append(steps, alineo.Statement(l.sql.addVersion))...))
	var failed *abi.Error
	if errors.As(err, &failed) && failed.Code == abi.CodeDenied {
		return &abi.Error{Code: failed.Code, Message: "the role may not make the ledger's tables, which are needed for anything but reading: " + failed.Message}
	}
	return err
}

// renew brings the tables up to date in one transaction, unless another host has done it. The names that
// the reference's older generation gave are changed once, when there is nothing yet but what it wrote.
func (l *ledger) renew(from, to int64) error {
	steps := []alineo.Step{
		alineo.Statement(l.sql.lockMigration), alineo.Statement(l.sql.still, alineo.Int(from)).Expect(1, abi.CodeConflict, faster),
		alineo.Statement(l.sql.noTimeout), alineo.Statement(l.sql.lockTimeout),
	}
	if from < renamed {
		steps = append(steps, alineo.Statement(l.sql.rename))
	}
	if from < indexed {
		for _, sql := range l.sql.indexes {
			steps = append(steps, alineo.Statement(sql))
		}
	}
	if to >= bytewise && l.tables.order.collate != "" {
		for _, sql := range l.sql.byteIndexes {
			steps = append(steps, alineo.Statement(sql))
		}
	}
	d := runDialect(l.sql.place)
	for _, sql := range runkit.Schema(&d) {
		steps = append(steps, alineo.Statement(sql))
	}
	return first(db.Write(append(steps, alineo.Statement(l.sql.setVersion, alineo.Int(to)))...))
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
