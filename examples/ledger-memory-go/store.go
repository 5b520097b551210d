package main

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/alineo-labs/alineo-host/abi"
)

// ledger is all that there is. Its methods are the operations, see append.go, read.go and list.go.
type ledger struct {
	sandboxes    map[key]*sandbox
	entries      []*entry // of all sandboxes, in the order of writing
	environments map[string]abi.Environment
	lastID       int64
	lastEpoch    uint64
}

type key struct{ name, id string }

// sandbox is what is known of one that was claimed.
type sandbox struct {
	epoch    uint64
	segments []segment
	counted  uint64   // entries that the segments hold
	entries  []*entry // by (ts, id): in the order of reading
}

type segment struct{ id, hash []byte }

type entry struct {
	id, ts, step int64
	branch       abi.Value // a number, or null
	key          key
	event        string
	payload, err abi.Value // JSON and text, or null
}

// head is the last segment, empty when there is none.
func (s *sandbox) head() segment {
	if len(s.segments) == 0 {
		return segment{}
	}
	return s.segments[len(s.segments)-1]
}

// add puts an entry in its place, which is almost always the end.
func (s *sandbox) add(e *entry) {
	at := len(s.entries)
	for at > 0 && s.entries[at-1].ts > e.ts {
		at--
	}
	s.entries = slices.Insert(s.entries, at, e)
}

// compare orders entries for reading.
func compare(a, b *entry) int { return cmp.Or(cmp.Compare(a.ts, b.ts), cmp.Compare(a.id, b.id)) }

// size is about how much room an entry takes in a page.
func (e *entry) size() uint64 {
	const rest = 100
	return rest + uint64(len(e.key.name)+len(e.key.id)+len(e.event)+len(e.payload.Bytes)+len(e.err.Bytes))
}

// field is a text of the payload. A payload that is no object has none.
func (e *entry) field(name string) (string, bool) {
	var object map[string]json.RawMessage
	var text *string
	if json.Unmarshal(e.payload.Bytes, &object) != nil || json.Unmarshal(object[name], &text) != nil || text == nil {
		return "", false
	}
	return *text, true
}

// optional is a text of the payload, or null.
func (e *entry) optional(name string) abi.Value {
	if text, ok := e.field(name); ok {
		return abi.Text(text)
	}
	return abi.Null
}
