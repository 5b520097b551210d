package main

import (
	"errors"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// manyRows is how many rows the multi-row form of the insert has: beyond 32 SQLite gains little.
const manyRows = 32

// newAppend is the program of an append, over the segments and the entries of a batch: the heads
// move, or nothing is written.
func newAppend() *alineo.Program {
	return db.Program(false,
		alineo.Statement(sqlAdvance, alineo.Columns(
			abi.SegmentID, abi.SegmentHash, abi.SegmentMaxTS, abi.SegmentCount,
			abi.SegmentName, abi.SegmentSandboxID, abi.SegmentEpoch, abi.SegmentPrevious)...).
			Over(0).
			Expect(1, abi.CodeConflict, "the sandbox's ledger is held by another driver, or is not where this one left it"),
		alineo.Statement(sqlInsert, alineo.Columns(
			abi.EntrySandboxID, abi.EntryName, abi.EntryStep, abi.EntryBranch,
			abi.EntryEvent, abi.EntryPayload, abi.EntryError, abi.EntryTS)...).
			Many(manyRows).Over(1),
		alineo.Statement(sqlSegment, alineo.Columns(
			abi.SegmentName, abi.SegmentSandboxID, abi.SegmentAfter, abi.SegmentAfter, abi.SegmentCount,
			abi.SegmentID, abi.SegmentPrevious, abi.SegmentHash, abi.SegmentLeaves)...).
			Over(0),
	)
}

// The steps of newAppend, as errors name them.
const (
	stepAdvance = "0"
	stepInsert  = "1"
)

// Open claims a sandbox's ledger: its epoch goes up, so that older drivers can't append any more.
func (l *ledger) Open(req *abi.LedgerOpenRequest) (*abi.Head, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	pair := key(req.Key)
	reply, err := l.write(alineo.Query(sqlClaim, pair...), alineo.Query(sqlStand, pair...))
	if err != nil {
		return nil, err
	}
	var epoch, segment, hash, step, ts, entries abi.Value
	if _, err := alineo.FirstRow(reply.Steps[0].Rows, &epoch, &segment, &hash); err != nil {
		return nil, err
	}
	if _, err := alineo.FirstRow(reply.Steps[1].Rows, &step, &ts, &entries); err != nil {
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
	_, err := l.checked(l.store.Run(req.Segments, req.Entries))
	var failed *abi.Error
	if !errors.As(err, &failed) {
		return &abi.LedgerAppendReply{}, err
	}
	switch failed.Details[abi.DetailStep] {
	case stepAdvance:
		if failed.Code == abi.CodeConflict && applied(req) {
			return &abi.LedgerAppendReply{Already: true}, nil
		}
		if missing := headless(req); missing != nil {
			failed = missing
		}
		return nil, about(failed, abi.DetailSegment)
	case stepInsert:
		return nil, about(failed, abi.DetailEntry)
	}
	return nil, failed
}

// applied tells whether every segment of the batch was written before: then this is the retry of an
// append whose answer was lost, however late it comes.
func applied(req *abi.LedgerAppendRequest) bool {
	written := alineo.Query(sqlApplied, alineo.Columns(
		abi.SegmentName, abi.SegmentSandboxID, abi.SegmentID, abi.SegmentHash)...).
		ForEach(req.Segments).Expect(1, abi.CodeNotFound, "")
	_, err := db.Read(written)
	return err == nil
}

// headless finds a segment of a sandbox that nobody has claimed in this file, nil when there is none.
func headless(req *abi.LedgerAppendRequest) *abi.Error {
	known := alineo.Query(sqlHead, alineo.Columns(abi.SegmentName, abi.SegmentSandboxID)...).
		ForEach(req.Segments).Expect(1, abi.CodeConflict, "this ledger does not know the sandbox; was its file replaced?")
	_, err := db.Read(known)
	var failed *abi.Error
	if errors.As(err, &failed) && failed.Code == abi.CodeConflict {
		return failed
	}
	return nil
}

// about names the part of the batch that the failing row was.
func about(err *abi.Error, part string) *abi.Error {
	row, ok := err.Details[abi.DetailRow]
	if !ok {
		return err
	}
	return &abi.Error{
		Code: err.Code, Message: err.Message, Retryable: err.Retryable, Details: map[string]string{part: row},
	}
}
