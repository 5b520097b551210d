package adapter

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/store"
)

// batchRows shows a batch to the sql capability as two tables without copying it.
type batchRows struct {
	batch   *store.Batch
	entries []flatEntry
	ends    []int // index after each segment's last entry
	size    uint64
}

type flatEntry struct {
	entry   *store.Entry
	segment int
}

func newBatchRows(batch *store.Batch) *batchRows {
	n := 0
	for i := range batch.Segments {
		n += len(batch.Segments[i].Entries)
	}
	rows := &batchRows{batch: batch, entries: make([]flatEntry, 0, n), ends: make([]int, len(batch.Segments))}
	for s := range batch.Segments {
		entries := batch.Segments[s].Entries
		for e := range entries {
			rows.entries = append(rows.entries, flatEntry{entry: &entries[e], segment: s})
			rows.size += uint64(len(entries[e].Event) + len(entries[e].Payload))
		}
		rows.ends[s] = len(rows.entries)
	}
	return rows
}

// locate returns the segment of the batch's nth entry and the entry's index in it.
func (r *batchRows) locate(n int) (segment, entry int) {
	segment = r.entries[n].segment
	if segment > 0 {
		n -= r.ends[segment-1]
	}
	return segment, n
}

type entryRows batchRows

func (r *entryRows) Len() int     { return len(r.entries) }
func (r *entryRows) Columns() int { return int(abi.EntryColumns) }

func (r *entryRows) Value(row, column int) abi.Value {
	flat := r.entries[row]
	e := flat.entry
	switch uint32(column) {
	case abi.EntrySegment:
		return abi.Int(int64(flat.segment))
	case abi.EntrySandboxID:
		return abi.Text(e.SandboxID)
	case abi.EntryName:
		return abi.Text(e.Name)
	case abi.EntryStep:
		return abi.Int(e.StepIndex)
	case abi.EntryBranch:
		if e.Branch != nil {
			return abi.Int(*e.Branch)
		}
	case abi.EntryEvent:
		return abi.Text(e.Event)
	case abi.EntryPayload:
		if e.Payload != nil {
			return abi.JSON(e.Payload)
		}
	case abi.EntryError:
		if e.Error != nil {
			return abi.Text(*e.Error)
		}
	case abi.EntryTS:
		return abi.Int(e.TS)
	}
	return abi.Null
}

type segmentRows batchRows

func (r *segmentRows) Len() int     { return len(r.batch.Segments) }
func (r *segmentRows) Columns() int { return int(abi.SegmentColumns) }

func (r *segmentRows) Value(row, column int) abi.Value {
	s := &r.batch.Segments[row]
	switch uint32(column) {
	case abi.SegmentSandboxID:
		return abi.Text(s.Key.SandboxID)
	case abi.SegmentName:
		return abi.Text(s.Key.Name)
	case abi.SegmentEpoch:
		return abi.Int(int64(s.Epoch)) //nolint:gosec // epochs count claims
	case abi.SegmentPrevious:
		return abi.Blob(s.Previous)
	case abi.SegmentID:
		return abi.Blob(s.ID[:])
	case abi.SegmentHash:
		return abi.Blob(s.Hash[:])
	case abi.SegmentLeaves:
		return abi.Blob(s.Leaves)
	case abi.SegmentCount:
		return abi.Int(int64(len(s.Entries)))
	case abi.SegmentAfter:
		return abi.Int(int64(len(r.entries) - r.ends[row]))
	case abi.SegmentMaxTS:
		ts := int64(0)
		for i := range s.Entries {
			ts = max(ts, s.Entries[i].TS)
		}
		return abi.Int(ts)
	}
	return abi.Null
}

// noRows is an empty page.
type noRows struct{}

func (noRows) Len() int                 { return 0 }
func (noRows) Columns() int             { return 0 }
func (noRows) Value(int, int) abi.Value { return abi.Null }

// cells reads one row of a guest's page; the first cell of a wrong kind is kept in err.
type cells struct {
	rows capability.Rows
	row  int
	err  error
}

func (c *cells) fail(column uint32, want string, got abi.Value) {
	if c.err == nil {
		c.err = fmt.Errorf("row %d, column %d of the plugin's answer is of kind %d, not %s", c.row, column, got.Kind, want)
	}
}

// text returns a copy of a text cell; null is "".
func (c *cells) text(column uint32) string {
	v := c.rows.Value(c.row, int(column))
	switch v.Kind {
	case abi.KindNull:
		return ""
	case abi.KindText, abi.KindJSON:
		return strings.Clone(v.String())
	default:
		c.fail(column, "text", v)
		return ""
	}
}

// int returns an integer cell; null is 0.
func (c *cells) int(column uint32) int64 {
	v := c.rows.Value(c.row, int(column))
	if v.Kind != abi.KindInt && v.Kind != abi.KindNull {
		c.fail(column, "an integer", v)
	}
	return v.Int
}

func decodeEntries(rows capability.Rows) ([]store.Entry, error) {
	entries := make([]store.Entry, rows.Len())
	for i := range entries {
		c := cells{rows: rows, row: i}
		e := &entries[i]
		e.ID, e.StepIndex, e.TS = c.int(abi.RowID), c.int(abi.RowStep), c.int(abi.RowTS)
		e.SandboxID, e.Name, e.Event = c.text(abi.RowSandboxID), c.text(abi.RowName), c.text(abi.RowEvent)
		if v := rows.Value(i, int(abi.RowBranch)); v.Kind != abi.KindNull {
			branch := c.int(abi.RowBranch)
			e.Branch = &branch
		}
		if v := rows.Value(i, int(abi.RowPayload)); v.Kind != abi.KindNull {
			e.Payload = json.RawMessage(c.text(abi.RowPayload))
		}
		if v := rows.Value(i, int(abi.RowError)); v.Kind != abi.KindNull {
			text := c.text(abi.RowError)
			e.Error = &text
		}
		if c.err != nil {
			return nil, c.err
		}
	}
	return entries, nil
}
