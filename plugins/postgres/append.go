package main

import (
	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/plugins/internal/ledgerkit"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// newAppend is the program of an append, over the segments and the entries of a batch: the heads
// move, or nothing is written.
func newAppend(sql *statements) *alineo.Program {
	return db.Program(false,
		ledgerkit.Advance(sql.advance).Arrays(sql.advanceMany).Over(0),
		alineo.Statement(sql.mark),
		ledgerkit.Insert(sql.insert).Arrays(sql.insertMany).Over(1),
		ledgerkit.Segment(sql.segment).Arrays(sql.segmentMany).Over(0),
	)
}

// The steps of newAppend, as errors name them.
const (
	stepAdvance = "0"
	stepInsert  = "2"
)

// Open claims a sandbox's ledger. An append that is under way is waited for.
func (l *ledger) Open(req *abi.LedgerOpenRequest) (*abi.Head, error) {
	if err := l.ensure(); err != nil {
		return nil, err
	}
	return ledgerkit.Claim(db, req.Key, l.sql.claim, l.sql.stand)
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
	failure := ledgerkit.Failure{DB: db, Advance: stepAdvance, Insert: stepInsert, Applied: l.sql.applied}
	return failure.Answer(req, err)
}
