package main

import (
	"errors"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// newAppend is the program of an append, over the segments and the entries of a batch: the heads
// move, or nothing is written.
func newAppend(sql *statements) *alineo.Program {
	return db.Program(false,
		alineo.Statement(sql.advance, alineo.Columns(
			abi.SegmentID, abi.SegmentHash, abi.SegmentMaxTS, abi.SegmentCount,
			abi.SegmentName, abi.SegmentSandboxID, abi.SegmentEpoch, abi.SegmentPrevious)...).
			Arrays(sql.advanceMany).Over(0).
			Expect(1, abi.CodeConflict, "the sandbox's ledger is held by another driver, or is not where this one left it"),
		alineo.Statement(sql.mark),
		alineo.Statement(sql.insert, alineo.Columns(
			abi.EntrySandboxID, abi.EntryName, abi.EntryStep, abi.EntryBranch,
			abi.EntryEvent, abi.EntryPayload, abi.EntryError, abi.EntryTS)...).
			Arrays(sql.insertMany).Over(1),
		alineo.Statement(sql.segment, alineo.Columns(
			abi.SegmentName, abi.SegmentSandboxID, abi.SegmentAfter, abi.SegmentCount,
			abi.SegmentID, abi.SegmentPrevious, abi.SegmentHash, abi.SegmentLeaves)...).
			Arrays(sql.segmentMany).Over(0),
	)
}

// The steps of newAppend, as errors name them.
const (
	stepAdvance = "0"
	stepInsert  = "2"
)

// Open claims a sandbox's ledger: its epoch goes up, so that older drivers can't append any more. An
// append that is under way is waited for.
func (l *ledger) Open(req *abi.LedgerOpenRequest) (*abi.Head, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	pair := ledgerkit.Key(req.Key)
	reply, err := db.Write(alineo.Query(l.sql.claim, pair...).Expect(1, abi.CodeConflict, ledgerkit.Unfinished), alineo.Query(l.sql.stand, pair...))
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

// Append writes a batch in one crossing.
func (l *ledger) Append(req *abi.LedgerAppendRequest) (*abi.LedgerAppendReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	err := l.store.Do(req.Segments, req.Entries)
	if err == nil {
		return nil, nil //nolint:nilnil // the empty reply
	}
	var failed *abi.Error
	if !errors.As(err, &failed) {
		return nil, err
	}
	switch failed.Details[abi.DetailStep] {
	case stepAdvance:
		if failed.Code == abi.CodeConflict && l.applied(req) {
			return &abi.LedgerAppendReply{Already: true}, nil
		}
		return nil, ledgerkit.About(failed, abi.DetailSegment)
	case stepInsert:
		return nil, ledgerkit.About(failed, abi.DetailEntry)
	}
	return nil, failed
}

// applied tells whether every segment of the batch was written before: then this is the retry of an
// append whose answer was lost, however late it comes.
func (l *ledger) applied(req *abi.LedgerAppendRequest) bool {
	written := alineo.Query(l.sql.applied, alineo.Columns(
		abi.SegmentName, abi.SegmentSandboxID, abi.SegmentID, abi.SegmentHash)...).
		ForEach(req.Segments).Expect(1, abi.CodeNotFound, "")
	_, err := db.Read(written)
	return err == nil
}
