package main

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// maxEntry is the largest entry, so that one can't take all of the plugin's memory.
const maxEntry = 8 << 20

// Open claims a sandbox's ledger: whoever had it can't append any more.
func (l *ledger) Open(req *abi.LedgerOpenRequest) (*abi.Head, error) {
	k := key{req.Key.Name, req.Key.SandboxID}
	s := l.sandboxes[k]
	if s == nil {
		s = &sandbox{}
		l.sandboxes[clone(k)] = s
	}
	l.lastEpoch++ // one count for all: it is higher than every earlier claim, of deleted sandboxes too
	s.epoch = l.lastEpoch
	head := &abi.Head{Epoch: s.epoch, LastStep: -1, Entries: s.counted, Hash: s.head().hash, SegmentID: s.head().id}
	for _, e := range s.entries {
		head.LastStep, head.MaxTS = max(head.LastStep, e.step), max(head.MaxTS, e.ts)
	}
	return head, nil
}

// change is what a segment of a batch does; one that was applied before does nothing.
type change struct {
	retry   bool
	key     key
	segment segment
	entries []*entry
}

// Append writes a batch, all of it or nothing: it is looked at whole before anything is changed.
func (l *ledger) Append(req *abi.LedgerAppendRequest) (*abi.LedgerAppendReply, error) {
	var changes []*change
	err := alineo.Batch(req.Segments).Each(func(row uint64, v []abi.Value) error {
		c, err := l.change(row, v)
		changes = append(changes, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = alineo.Batch(req.Entries).Each(func(row uint64, v []abi.Value) error {
		at := v[abi.EntrySegment].Int
		if at < 0 || at >= int64(len(changes)) {
			return refused(abi.CodeInvalid, "an entry of no segment", abi.DetailEntry, row)
		}
		if len(v[abi.EntryPayload].Bytes)+len(v[abi.EntryError].Bytes) > maxEntry {
			return refused(abi.CodeInvalid, "an entry of more than 8 MiB, which this ledger does not take", abi.DetailEntry, row)
		}
		if c := changes[at]; !c.retry {
			c.entries = append(c.entries, newEntry(c.key, v))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	already := true
	for _, c := range changes {
		if c.retry {
			continue
		}
		already = false
		s := l.sandboxes[c.key]
		s.segments, s.counted = append(s.segments, c.segment), s.counted+uint64(len(c.entries))
		for _, e := range c.entries {
			l.lastID++
			e.id = l.lastID
			s.add(e)
			l.entries = append(l.entries, e)
		}
	}
	return &abi.LedgerAppendReply{Already: already}, nil
}

// change looks at a segment: it follows the head, or it was applied before, or the ledger has moved on.
func (l *ledger) change(row uint64, v []abi.Value) (*change, error) {
	k := key{v[abi.SegmentName].String(), v[abi.SegmentSandboxID].String()}
	id, hash := v[abi.SegmentID].Bytes, v[abi.SegmentHash].Bytes
	s := l.sandboxes[k]
	switch {
	case s == nil:
	case s.epoch == uint64(v[abi.SegmentEpoch].Int) && bytes.Equal(s.head().hash, v[abi.SegmentPrevious].Bytes):
		return &change{key: clone(k), segment: segment{bytes.Clone(id), bytes.Clone(hash)}}, nil
	case slices.ContainsFunc(s.segments, func(g segment) bool { return bytes.Equal(g.id, id) && bytes.Equal(g.hash, hash) }):
		return &change{retry: true}, nil
	}
	return nil, refused(abi.CodeConflict, "the sandbox's ledger has moved on", abi.DetailSegment, row)
}

// newEntry copies a row: what a request holds ends with the call.
func newEntry(k key, v []abi.Value) *entry {
	e := &entry{
		key: k, ts: v[abi.EntryTS].Int, step: v[abi.EntryStep].Int, branch: v[abi.EntryBranch],
		event:   string(v[abi.EntryEvent].Bytes),
		payload: v[abi.EntryPayload], err: v[abi.EntryError],
	}
	e.payload.Bytes, e.err.Bytes = bytes.Clone(e.payload.Bytes), bytes.Clone(e.err.Bytes)
	if e.payload.Kind != abi.KindNull {
		e.payload.Kind = abi.KindJSON // a large one was read on its own, as text
	}
	return e
}

// DeleteSandbox removes all that is kept of a sandbox.
func (l *ledger) DeleteSandbox(req *abi.SandboxRequest) (*abi.DeleteReply, error) {
	k := key{req.Key.Name, req.Key.SandboxID}
	s := l.sandboxes[k]
	if s == nil {
		return &abi.DeleteReply{}, nil
	}
	delete(l.sandboxes, k)
	l.entries = slices.DeleteFunc(l.entries, func(e *entry) bool { return e.key == k })
	return &abi.DeleteReply{Rows: uint64(len(s.entries))}, nil
}

func clone(k key) key {
	return key{string([]byte(k.name)), string([]byte(k.id))}
}

// refused is an error about one row of a batch.
func refused(code abi.Code, message, detail string, row uint64) error {
	return &abi.Error{Code: code, Message: message, Details: map[string]string{detail: strconv.FormatUint(row, 10)}}
}
