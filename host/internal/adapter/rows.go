package adapter

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
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

// set shows another batch.
func (r *batchRows) set(batch *store.Batch) {
	r.batch = batch
	for s := range batch.Segments {
		entries := batch.Segments[s].Entries
		for e := range entries {
			r.entries = append(r.entries, flatEntry{entry: &entries[e], segment: s})
			r.size += uint64(len(entries[e].Event) + len(entries[e].Payload))
		}
		r.ends = append(r.ends, len(r.entries))
	}
}

// reset lets go of the batch and keeps the memory.
func (r *batchRows) reset() {
	clear(r.entries)
	*r = batchRows{entries: r.entries[:0], ends: r.ends[:0]}
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
	var cells [abi.EntryColumns]abi.Value
	r.ReadRow(row, cells[:])
	return cells[column]
}

// ReadRow implements capability.RowReader.
func (r *entryRows) ReadRow(row int, dst []abi.Value) {
	flat := r.entries[row]
	e := flat.entry
	dst[abi.EntrySegment] = abi.Int(int64(flat.segment))
	dst[abi.EntrySandboxID] = abi.Text(e.SandboxID)
	dst[abi.EntryName] = abi.Text(e.Name)
	dst[abi.EntryStep] = abi.Int(e.StepIndex)
	dst[abi.EntryEvent] = abi.Text(e.Event)
	dst[abi.EntryTS] = abi.Int(e.TS)
	dst[abi.EntryBranch], dst[abi.EntryPayload], dst[abi.EntryError] = abi.Null, abi.Null, abi.Null
	if e.Branch != nil {
		dst[abi.EntryBranch] = abi.Int(*e.Branch)
	}
	if e.Payload != nil {
		dst[abi.EntryPayload] = abi.JSON(e.Payload)
	}
	if e.Error != nil {
		dst[abi.EntryError] = abi.Text(*e.Error)
	}
}

type segmentRows batchRows

func (r *segmentRows) Len() int     { return len(r.batch.Segments) }
func (r *segmentRows) Columns() int { return int(abi.SegmentColumns) }

func (r *segmentRows) Value(row, column int) abi.Value {
	var cells [abi.SegmentColumns]abi.Value
	r.ReadRow(row, cells[:])
	return cells[column]
}

// ReadRow implements capability.RowReader.
func (r *segmentRows) ReadRow(row int, dst []abi.Value) {
	s := &r.batch.Segments[row]
	dst[abi.SegmentSandboxID] = abi.Text(s.Key.SandboxID)
	dst[abi.SegmentName] = abi.Text(s.Key.Name)
	dst[abi.SegmentEpoch] = abi.Int(int64(s.Epoch)) //nolint:gosec // epochs count claims
	dst[abi.SegmentPrevious] = abi.Blob(s.Previous)
	dst[abi.SegmentID] = abi.Blob(s.ID[:])
	dst[abi.SegmentHash] = abi.Blob(s.Hash[:])
	dst[abi.SegmentLeaves] = abi.Blob(s.Leaves)
	dst[abi.SegmentCount] = abi.Int(int64(len(s.Entries)))
	dst[abi.SegmentAfter] = abi.Int(int64(len(r.entries) - r.ends[row]))
	ts := int64(0)
	for i := range s.Entries {
		ts = max(ts, s.Entries[i].TS)
	}
	dst[abi.SegmentMaxTS] = abi.Int(ts)
}

// noRows is an empty page.
type noRows struct{}

func (noRows) Len() int                 { return 0 }
func (noRows) Columns() int             { return 0 }
func (noRows) Value(int, int) abi.Value { return abi.Null }

// cells reads one row of a guest's page; the first cell of a wrong kind is kept in err.
type cells struct {
	rows capability.Rows
	page *capability.Page // rows, when they are one: asked directly it answers twice as fast
	row  int
	err  error
}

// number returns a cell's kind, and its integer when it is one.
func (c *cells) number(column uint32) (abi.Kind, int64) {
	if c.page != nil {
		return c.page.Number(c.row, int(column))
	}
	v := c.rows.Value(c.row, int(column))
	return v.Kind, v.Int
}

// view returns a cell's kind, and its bytes as they lie in the page when it has some.
func (c *cells) view(column uint32) (abi.Kind, []byte) {
	if c.page != nil {
		return c.page.Bytes(c.row, int(column))
	}
	v := c.rows.Value(c.row, int(column))
	return v.Kind, v.Bytes
}

func (c *cells) fail(column uint32, want string, got abi.Kind) {
	if c.err == nil {
		c.err = fmt.Errorf("row %d, column %d of the plugin's answer is %s, not %s", c.row, column, got, want)
	}
}

// bytes returns a text cell as it lies in the page; null has no bytes.
func (c *cells) bytes(column uint32) []byte {
	kind, b := c.view(column)
	if kind != abi.KindText && kind != abi.KindJSON && kind != abi.KindNull {
		c.fail(column, "text", kind)
		return nil
	}
	return b
}

// content is bytes for a column whose blobs count as text.
func (c *cells) content(column uint32) []byte {
	kind, b := c.view(column)
	if kind < abi.KindText && kind != abi.KindNull {
		c.fail(column, "text", kind)
	}
	return b
}

// text returns a copy of a text cell; null is "".
func (c *cells) text(column uint32) string { return string(c.bytes(column)) }

// int returns an integer cell; null is 0.
func (c *cells) int(column uint32) int64 {
	kind, n := c.number(column)
	if kind != abi.KindInt && kind != abi.KindNull {
		c.fail(column, "an integer", kind)
		return 0
	}
	return n
}

// whole is int for a column in which others may have put something else: what that begins with counts.
func (c *cells) whole(column uint32) int64 {
	kind, n := c.number(column)
	if kind == abi.KindInt || kind == abi.KindNull {
		return n
	}
	v := c.rows.Value(c.row, int(column))
	if v.Kind == abi.KindReal {
		switch {
		case v.Real >= math.MaxInt64:
			return math.MaxInt64
		case v.Real <= math.MinInt64:
			return math.MinInt64
		case v.Real != v.Real:
			return 0
		}
		return int64(v.Real)
	}
	text := strings.TrimLeft(string(v.Bytes), " \t\r\n")
	end := 0
	for end < len(text) && ('0' <= text[end] && text[end] <= '9' || end == 0 && (text[0] == '-' || text[0] == '+')) {
		end++
	}
	n, _ = strconv.ParseInt(text[:end], 10, 64) //nolint:errcheck // no digits are 0, and too many are the largest
	return n
}

// count returns a number of things, which is not negative; null is 0.
func (c *cells) count(column uint32) uint64 {
	n := c.int(column)
	if n < 0 && c.err == nil {
		c.err = fmt.Errorf("row %d, column %d of the plugin's answer is %d, which counts nothing", c.row, column, n)
	}
	return uint64(max(n, 0))
}

// bytesOf returns a blob as it lies in the page; null has no bytes.
func (c *cells) bytesOf(column uint32) []byte {
	kind, b := c.view(column)
	if kind != abi.KindBlob && kind != abi.KindNull {
		c.fail(column, "a blob", kind)
		return nil
	}
	return b
}

// blob returns a copy of a blob that has so many bytes, or nil when it has none.
func (c *cells) blob(column uint32, size int) []byte {
	b := c.bytesOf(column)
	if len(b) == 0 {
		return nil
	}
	if len(b) != size && c.err == nil {
		c.err = fmt.Errorf("row %d, column %d of the plugin's answer has %d bytes, not %d", c.row, column, len(b), size)
	}
	return bytes.Clone(b)
}

// exactly copies a blob that has as many bytes as dst.
func (c *cells) exactly(column uint32, dst []byte) {
	b := c.bytesOf(column)
	if copy(dst, b) != len(b) || len(b) != len(dst) {
		if c.err == nil {
			c.err = fmt.Errorf("row %d, column %d of the plugin's answer has %d bytes, not %d", c.row, column, len(b), len(dst))
		}
	}
}
