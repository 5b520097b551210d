package adapter

import (
	"encoding/json"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/store"
)

// blockSize is how much memory payloads share, bytes: few allocations a page, and an entry that is
// kept for long holds little more than itself.
const blockSize = 16 << 10

// block gives out copies that lie behind one another.
type block struct{ free []byte }

func (b *block) clone(text []byte, left int) []byte {
	if len(text) == 0 {
		return []byte{} // which is not null
	}
	if len(text) > len(b.free) {
		if len(text) > blockSize/4 {
			return append(make([]byte, 0, len(text)), text...)
		}
		b.free = make([]byte, max(len(text), min(blockSize, left)))
	}
	n := copy(b.free, text)
	own := b.free[:n:n]
	b.free = b.free[n:]
	return own
}

// words keeps the texts that a page repeats in row after row: names, ids, events.
type words struct {
	recent [8]string
	next   int
}

func (w *words) intern(text []byte) string {
	for i := range w.recent {
		if w.recent[i] == string(text) {
			return w.recent[i]
		}
	}
	own := string(text)
	w.recent[w.next] = own
	w.next = (w.next + 1) % len(w.recent)
	return own
}

// decodeEntries copies a page of entries: nothing of it views the rows.
func decodeEntries(rows capability.Rows) ([]store.Entry, error) {
	count := rows.Len()
	entries := make([]store.Entry, count)
	c := cells{rows: rows}
	c.page, _ = rows.(*capability.Page)
	payloads := 0
	for c.row = range count {
		_, payload := c.view(abi.RowPayload)
		payloads += len(payload)
	}
	var events, ids words
	var texts block
	for i := range entries {
		c.row = i
		e := &entries[i]
		e.ID, e.StepIndex, e.TS = c.int(abi.RowID), c.whole(abi.RowStep), c.int(abi.RowTS)
		e.SandboxID, e.Name = ids.intern(c.bytes(abi.RowSandboxID)), ids.intern(c.bytes(abi.RowName))
		e.Event = events.intern(c.content(abi.RowEvent))
		if kind, _ := c.number(abi.RowBranch); kind != abi.KindNull {
			branch := c.whole(abi.RowBranch)
			e.Branch = &branch
		}
		if kind, _ := c.view(abi.RowPayload); kind != abi.KindNull {
			payload := c.content(abi.RowPayload)
			e.Payload = json.RawMessage(texts.clone(payload, payloads))
			payloads -= len(payload)
		}
		if kind, _ := c.view(abi.RowError); kind != abi.KindNull {
			text := string(c.content(abi.RowError))
			e.Error = &text
		}
		if c.err != nil {
			return nil, c.err
		}
	}
	return entries, nil
}
