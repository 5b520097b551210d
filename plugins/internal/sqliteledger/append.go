package sqliteledger

import (
	"errors"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// manyRows is how many rows the multi-row form of the insert has: beyond 64 SQLite gains nothing.
const manyRows = 64

// newAppend is the program of an append, over the segments and the entries of a batch: the heads
// move, or nothing is written.
func newAppend(sql *Statements) *alineo.Program {
	return database.Program(false, moving(sql), inserting(sql), listing(sql))
}

// The steps of newAppend, as errors name them.
const (
	stepAdvance = "0"
	stepInsert  = "1"
	stepSegment = "2"
)

// newAppendAbove is newAppend for when SQLite would give ids again: it gives the one behind the highest
// that there is, and others have deleted the highest. A row that stands for them is there meanwhile.
func newAppendAbove(sql *Statements) *alineo.Program {
	return database.Program(false, moving(sql),
		alineo.Statement(sql.Above, alineo.Columns(abi.SegmentName, abi.SegmentSandboxID)...).Over(0),
		inserting(sql), listing(sql), alineo.Statement(sql.Below))
}

// stepInsertAbove is the insert of newAppendAbove.
const stepInsertAbove = "2"

func moving(sql *Statements) alineo.Step { return ledgerkit.Advance(sql.Advance).Over(0) }

func inserting(sql *Statements) alineo.Step {
	return ledgerkit.Insert(sql.Insert).Many(manyRows).Over(1)
}

func listing(sql *Statements) alineo.Step {
	return ledgerkit.Segment(sql.Segment).Over(0).Expect(1, abi.CodeInternal, "ids would be given again")
}

// Open claims a sandbox's ledger.
func (l *Ledger) Open(req *abi.LedgerOpenRequest) (*abi.Head, error) {
	if err := l.tables.ensure(); err != nil {
		return nil, err
	}
	return ledgerkit.Claim(&l.tables, req.Key, l.sql.Claim, l.sql.Stand)
}

// Append writes a batch in one crossing, or in two after others have deleted the newest entries.
func (l *Ledger) Append(req *abi.LedgerAppendRequest) (*abi.LedgerAppendReply, error) {
	if err := l.tables.ensure(); err != nil {
		return nil, err
	}
	err := l.store.Do(req.Segments, req.Entries)
	if err == nil {
		return nil, nil //nolint:nilnil // the empty reply
	}
	insert := stepInsert
	_, err = l.tables.checked(nil, err)
	var failed *abi.Error
	if errors.As(err, &failed) && failed.Code == abi.CodeInternal && failed.Details[abi.DetailStep] == stepSegment {
		insert = stepInsertAbove
		_, err = l.tables.checked(l.storeAbove.Run(req.Segments, req.Entries))
	}
	if err == nil {
		return nil, nil //nolint:nilnil // the empty reply
	}
	failure := ledgerkit.Failure{DB: &l.tables, Advance: stepAdvance, Insert: insert, Applied: l.sql.Applied, Explain: l.headless}
	return failure.Answer(req, err)
}

// headless finds a segment of a sandbox that nobody has claimed in this file: the file was replaced.
func (l *Ledger) headless(req *abi.LedgerAppendRequest, failed *abi.Error) *abi.Error {
	known := alineo.Query(l.sql.Head, alineo.Columns(abi.SegmentName, abi.SegmentSandboxID)...).
		ForEach(req.Segments).Expect(1, abi.CodeConflict, "this ledger does not know the sandbox; was its file replaced?")
	_, err := l.tables.Read(known)
	var missing *abi.Error
	if errors.As(err, &missing) && missing.Code == abi.CodeConflict {
		return missing
	}
	return failed
}
