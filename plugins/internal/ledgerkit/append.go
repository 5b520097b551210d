package ledgerkit

import (
	"errors"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// Advance is the step of an append that moves the heads of its segments, or fails: its statement has the
// new segment's id and hash, the highest time, the number of entries, name, sandbox id, epoch and the hash
// that the head must have.
func Advance(sql string) alineo.Step {
	return alineo.Statement(sql, alineo.Columns(
		abi.SegmentID, abi.SegmentHash, abi.SegmentMaxTS, abi.SegmentCount,
		abi.SegmentName, abi.SegmentSandboxID, abi.SegmentEpoch, abi.SegmentPrevious)...).
		Expect(1, abi.CodeConflict, "the sandbox's ledger is held by another driver, or is not where this one left it")
}

// Insert is the step that writes the entries: sandbox id, name, step, branch, event, payload, error, ts.
func Insert(sql string) alineo.Step {
	return alineo.Statement(sql, alineo.Columns(
		abi.EntrySandboxID, abi.EntryName, abi.EntryStep, abi.EntryBranch,
		abi.EntryEvent, abi.EntryPayload, abi.EntryError, abi.EntryTS)...)
}

// Segment is the step that lists the segments: name, sandbox id, how many entries follow the segment's,
// how many it has, its id, the hash before it, its own, and the leaves.
func Segment(sql string) alineo.Step {
	return alineo.Statement(sql, alineo.Columns(
		abi.SegmentName, abi.SegmentSandboxID, abi.SegmentAfter, abi.SegmentCount,
		abi.SegmentID, abi.SegmentPrevious, abi.SegmentHash, abi.SegmentLeaves)...)
}

// Claim claims a sandbox's ledger: its epoch goes up, so that older drivers can't append any more. The
// statements have the key; the first gives epoch, segment id, hash and entries of the head, the second the
// last step and the last time of the entries.
func Claim(db Database, key abi.SandboxKey, claim, stand string) (*abi.Head, error) {
	pair := Key(key)
	done, err := db.Write(alineo.Query(claim, pair...).Expect(1, abi.CodeConflict, Unfinished), alineo.Query(stand, pair...))
	if err != nil {
		return nil, err
	}
	var epoch, segment, hash, step, ts, entries abi.Value
	if _, err := alineo.FirstRow(done.Steps[0].Rows, &epoch, &segment, &hash, &entries); err != nil {
		return nil, err
	}
	if _, err := alineo.FirstRow(done.Steps[1].Rows, &step, &ts); err != nil {
		return nil, err
	}
	return &abi.Head{
		Epoch: uint64(epoch.Int), SegmentID: segment.Bytes, Hash: hash.Bytes,
		LastStep: step.Int, MaxTS: ts.Int, Entries: uint64(entries.Int),
	}, nil
}

// Failure is what an append answers with when its program failed.
type Failure struct {
	DB      Database
	Advance string // the steps, as errors name them
	Insert  string
	Applied string                                                      // finds the segment of this name, sandbox id, segment id and hash
	Explain func(req *abi.LedgerAppendRequest, e *abi.Error) *abi.Error // says more of a head that did not move; may be nil
}

// Answer tells what of the batch the failure is about, or that all of it was written before.
func (f *Failure) Answer(req *abi.LedgerAppendRequest, err error) (*abi.LedgerAppendReply, error) {
	var failed *abi.Error
	if !errors.As(err, &failed) {
		return nil, err
	}
	switch failed.Details[abi.DetailStep] {
	case f.Advance:
		if failed.Code == abi.CodeConflict && f.applied(req) {
			return &abi.LedgerAppendReply{Already: true}, nil
		}
		if f.Explain != nil {
			failed = f.Explain(req, failed)
		}
		return nil, About(failed, abi.DetailSegment)
	case f.Insert:
		return nil, About(failed, abi.DetailEntry)
	}
	return nil, failed
}

// applied tells whether every segment of the batch was written before: then this is the retry of an
// append whose answer was lost, however late it comes.
func (f *Failure) applied(req *abi.LedgerAppendRequest) bool {
	written := alineo.Query(f.Applied, alineo.Columns(
		abi.SegmentName, abi.SegmentSandboxID, abi.SegmentID, abi.SegmentHash)...).
		ForEach(req.Segments).Expect(1, abi.CodeNotFound, "")
	_, err := f.DB.Read(written)
	return err == nil
}
