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

func moving(sql *Statements) alineo.Step {
	return alineo.Statement(sql.Advance, alineo.Columns(
		abi.SegmentID, abi.SegmentHash, abi.SegmentMaxTS, abi.SegmentCount,
		abi.SegmentName, abi.SegmentSandboxID, abi.SegmentEpoch, abi.SegmentPrevious)...).
		Over(0).
		Expect(1, abi.CodeConflict, "the sandbox's ledger is held by another driver, or is not where this one left it")
}

func inserting(sql *Statements) alineo.Step {
	return alineo.Statement(sql.Insert, alineo.Columns(
		abi.EntrySandboxID, abi.EntryName, abi.EntryStep, abi.EntryBranch,
		abi.EntryEvent, abi.EntryPayload, abi.EntryError, abi.EntryTS)...).
		Many(manyRows).Over(1)
}

func listing(sql *Statements) alineo.Step {
	return alineo.Statement(sql.Segment, alineo.Columns(
		abi.SegmentName, abi.SegmentSandboxID, abi.SegmentAfter, abi.SegmentCount,
		abi.SegmentID, abi.SegmentPrevious, abi.SegmentHash, abi.SegmentLeaves)...).
		Over(0).
		Expect(1, abi.CodeInternal, "ids would be given again")
}

// Open claims a sandbox's ledger: its epoch goes up, so that older drivers can't append any more.
func (l *Ledger) Open(req *abi.LedgerOpenRequest) (*abi.Head, error) {
	if err := l.tables.ensure(); err != nil {
		return nil, err
	}
	pair := ledgerkit.Key(req.Key)
	reply, err := l.tables.Write(alineo.Query(l.sql.Claim, pair...).Expect(1, abi.CodeConflict, ledgerkit.Unfinished), alineo.Query(l.sql.Stand, pair...))
	if err != nil {
		return nil, err
	}
	var epoch, segment, hash, step, ts, entries abi.Value
	if _, err := alineo.FirstRow(reply.Steps[0].Rows, &epoch, &segment, &hash, &entries); err != nil {
		return nil, err
	}
	if _, err := alineo.FirstRow(reply.Steps[1].Rows, &step, &ts); err != nil {
		return nil, err
	}
	return &abi.Head{
		Epoch: uint64(epoch.Int), SegmentID: segment.Bytes, Hash: hash.Bytes,
		LastStep: step.Int, MaxTS: ts.Int, Entries: uint64(entries.Int),
	}, nil
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
	if err == nil || !errors.As(err, &failed) {
		return &abi.LedgerAppendReply{}, err
	}
	switch failed.Details[abi.DetailStep] {
	case stepAdvance:
		if failed.Code == abi.CodeConflict && l.applied(req) {
			return &abi.LedgerAppendReply{Already: true}, nil
		}
		if missing := l.headless(req); missing != nil {
			failed = missing
		}
		return nil, ledgerkit.About(failed, abi.DetailSegment)
	case insert:
		return nil, ledgerkit.About(failed, abi.DetailEntry)
	}
	return nil, failed
}

// applied tells whether every segment of the batch was written before: then this is the retry of an
// append whose answer was lost, however late it comes.
func (l *Ledger) applied(req *abi.LedgerAppendRequest) bool {
	written := alineo.Query(l.sql.Applied, alineo.Columns(
		abi.SegmentName, abi.SegmentSandboxID, abi.SegmentID, abi.SegmentHash)...).
		ForEach(req.Segments).Expect(1, abi.CodeNotFound, "")
	_, err := database.Read(written)
	return err == nil
}

// headless finds a segment of a sandbox that nobody has claimed in this file, nil when there is none.
func (l *Ledger) headless(req *abi.LedgerAppendRequest) *abi.Error {
	known := alineo.Query(l.sql.Head, alineo.Columns(abi.SegmentName, abi.SegmentSandboxID)...).
		ForEach(req.Segments).Expect(1, abi.CodeConflict, "this ledger does not know the sandbox; was its file replaced?")
	_, err := database.Read(known)
	var failed *abi.Error
	if errors.As(err, &failed) && failed.Code == abi.CodeConflict {
		return failed
	}
	return nil
}
