package main

import (
	"errors"

	"github.com/alineo-labs/alineo-host/abi"
)

// Open claims a sandbox's ledger: its epoch goes up, so that older drivers can't append any more.
func (l *ledger) Open(req *abi.LedgerOpenRequest) (*abi.Head, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	pair := []abi.SQLParam{text(req.Key.Name), text(req.Key.SandboxID)}
	reply, err := run(false,
		abi.SQLStep{SQL: sqlClaim, Params: pair, Result: abi.ResultInline},
		abi.SQLStep{SQL: sqlStand, Params: pair, Result: abi.ResultInline},
	)
	if err != nil {
		return nil, err
	}
	claim, err := firstRow(reply.Steps[0])
	if err != nil {
		return nil, err
	}
	stand, err := firstRow(reply.Steps[1])
	if err != nil {
		return nil, err
	}
	return &abi.Head{
		Epoch: uint64(claim[0].Int), SegmentID: claim[1].Bytes, Hash: claim[2].Bytes,
		LastStep: stand[0].Int, MaxTS: stand[1].Int, Entries: uint64(stand[2].Int),
	}, nil
}

// Append writes a batch in one crossing: the heads move, or nothing is written.
func (l *ledger) Append(req *abi.LedgerAppendRequest) (*abi.LedgerAppendReply, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	_, err := run(false,
		abi.SQLStep{
			SQL: sqlAdvance, Batch: req.Segments,
			Params: columns(abi.SegmentID, abi.SegmentHash, abi.SegmentMaxTS, abi.SegmentCount,
				abi.SegmentName, abi.SegmentSandboxID, abi.SegmentEpoch, abi.SegmentPrevious),
			Expect: one(), MismatchCode: abi.CodeConflict,
			MismatchMessage: "the sandbox's ledger is held by another driver, or is not where this one left it",
		},
		abi.SQLStep{
			SQL: sqlInsert, Batch: req.Entries, ManySQL: l.insertMany, ManyRows: manyRows,
			Params: columns(abi.EntrySandboxID, abi.EntryName, abi.EntryStep, abi.EntryBranch,
				abi.EntryEvent, abi.EntryPayload, abi.EntryError, abi.EntryTS),
		},
		abi.SQLStep{
			SQL: sqlSegment, Batch: req.Segments,
			Params: columns(abi.SegmentName, abi.SegmentSandboxID, abi.SegmentAfter, abi.SegmentAfter, abi.SegmentCount,
				abi.SegmentID, abi.SegmentPrevious, abi.SegmentHash, abi.SegmentLeaves),
		},
	)
	var failed *abi.Error
	if !errors.As(err, &failed) {
		return &abi.LedgerAppendReply{}, err
	}
	if failed.Code == abi.CodeConflict && failed.Details[abi.DetailStep] == "0" {
		if applied(req) {
			return &abi.LedgerAppendReply{Already: true}, nil
		}
		return nil, about(failed, abi.DetailSegment)
	}
	if failed.Details[abi.DetailStep] == "1" {
		return nil, about(failed, abi.DetailEntry)
	}
	return nil, failed
}

// applied tells whether every segment of the batch was written before: then this is the retry of an
// append whose answer was lost, however late it comes.
func applied(req *abi.LedgerAppendRequest) bool {
	_, err := run(true, abi.SQLStep{
		SQL: sqlApplied, Batch: req.Segments, Result: abi.ResultInline, Expect: one(),
		Params: columns(abi.SegmentName, abi.SegmentSandboxID, abi.SegmentID, abi.SegmentHash),
	})
	return err == nil
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
