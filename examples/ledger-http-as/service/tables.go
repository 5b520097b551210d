package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/store"
)

// entryError names the entry of a batch that was refused.
type entryError struct {
	entry int
	err   error
}

func (e *entryError) Error() string { return fmt.Sprintf("entry %d: %v", e.entry, e.err) }
func (e *entryError) Unwrap() error { return e.err }

// append writes the batch that two tables are.
func (s *Service) append(ctx context.Context, body []byte) (abi.Message, error) {
	segments, body, err := readTable(body, abi.SegmentColumns)
	if err != nil {
		return nil, err
	}
	rows, _, err := readTable(body, abi.EntryColumns)
	if err != nil {
		return nil, err
	}
	batch := store.Batch{Segments: make([]store.Segment, segments.Len())}
	for i := range batch.Segments {
		text := func(column uint32) []byte { return bytes.Clone(segments.Value(i, int(column)).Bytes) }
		one := &batch.Segments[i]
		one.Key = store.Key{Name: string(text(abi.SegmentName)), SandboxID: string(text(abi.SegmentSandboxID))}
		one.Epoch = uint64(segments.Value(i, int(abi.SegmentEpoch)).Int)
		one.Previous, one.Leaves = text(abi.SegmentPrevious), text(abi.SegmentLeaves)
		if copy(one.ID[:], text(abi.SegmentID)) != len(one.ID) || copy(one.Hash[:], text(abi.SegmentHash)) != len(one.Hash) {
			return nil, fmt.Errorf("%w: segment %d has no whole id or hash", store.ErrInvalid, i)
		}
	}
	firsts := make([]int, len(batch.Segments)) // the batch's number of each segment's first entry
	for i := range rows.Len() {
		at := rows.Value(i, int(abi.EntrySegment)).Int
		if at < 0 || at >= int64(len(batch.Segments)) {
			return nil, &entryError{i, fmt.Errorf("%w: it is of no segment", store.ErrInvalid)}
		}
		segment := &batch.Segments[at]
		if len(segment.Entries) == 0 {
			firsts[at] = i
		}
		segment.Entries = append(segment.Entries, readEntry(rows, i, segment.Key))
	}
	err = s.ledger.Append(ctx, &batch)
	if refused, ok := errors.AsType[*store.SegmentError](err); ok && refused.Entry >= 0 {
		err = &entryError{firsts[refused.Segment] + refused.Entry, refused.Err}
	}
	return &abi.LedgerAppendReply{}, err
}

func readTable(body []byte, columns uint32) (*abi.Table, []byte, error) {
	part, rest, err := split(body)
	if err != nil {
		return nil, nil, err
	}
	table, err := abi.ParseTable(part)
	if err == nil && table.Columns() != int(columns) {
		err = fmt.Errorf("a table of %d columns, not %d", table.Columns(), columns)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	return table, rest, nil
}

func readEntry(rows *abi.Table, i int, key store.Key) store.Entry {
	value := func(column uint32) abi.Value { return rows.Value(i, int(column)) }
	entry := store.Entry{
		Name: key.Name, SandboxID: key.SandboxID, StepIndex: value(abi.EntryStep).Int, TS: value(abi.EntryTS).Int,
		Event: string(value(abi.EntryEvent).Bytes),
	}
	if branch := value(abi.EntryBranch); branch.Kind == abi.KindInt {
		entry.Branch = &branch.Int
	}
	if payload := value(abi.EntryPayload); payload.Kind != abi.KindNull {
		entry.Payload = bytes.Clone(payload.Bytes)
	}
	if text := value(abi.EntryError); text.Kind != abi.KindNull {
		said := string(text.Bytes)
		entry.Error = &said
	}
	return entry
}

// page makes a reply of rows.
func page[T any](list []T, columns uint32, row func(T) []abi.Value) *abi.RowsReply {
	table := abi.AppendTableHeader(nil, uint32(len(list)), columns)
	for _, one := range list {
		for _, v := range row(one) {
			table = abi.AppendValue(table, v)
		}
	}
	return &abi.RowsReply{Table: table}
}

// optional is a text, or null when it is empty.
func optional(text string) abi.Value {
	if text == "" {
		return abi.Null
	}
	return abi.Text(text)
}

func entries(list []store.Entry) *abi.RowsReply {
	return page(list, abi.RowColumns, func(e store.Entry) []abi.Value {
		branch, payload, said := abi.Null, abi.Null, abi.Null
		if e.Branch != nil {
			branch = abi.Int(*e.Branch)
		}
		if e.Payload != nil {
			payload = abi.JSON(e.Payload)
		}
		if e.Error != nil {
			said = abi.Text(*e.Error)
		}
		return []abi.Value{
			abi.Int(e.ID), abi.Text(e.SandboxID), abi.Text(e.Name), abi.Int(e.StepIndex), branch, abi.Text(e.Event), payload, said, abi.Int(e.TS),
		}
	})
}

func checkpoints(list []store.Checkpoint) *abi.RowsReply {
	return page(list, abi.CheckpointColumns, func(c store.Checkpoint) []abi.Value {
		return []abi.Value{abi.Text(c.SnapshotID), optional(c.Tag), abi.Int(c.CreatedAt), abi.Int(c.ID)}
	})
}

func sandboxes(list []store.Details) *abi.RowsReply {
	return page(list, abi.SandboxColumns, func(d store.Details) []abi.Value {
		completed := abi.Null
		if d.Status == store.StatusCompleted {
			completed = abi.Int(d.CompletedAt)
		}
		return []abi.Value{
			abi.Text(d.Name), abi.Text(d.SandboxID), abi.Text(d.Status), abi.Int(d.StartedAt), completed, abi.Int(d.ExecCount), abi.Text(d.RunID),
			optional(d.ResourceID), optional(d.TeamID), optional(d.ParentSandboxID), abi.Int(0),
		}
	})
}

func environments(list []store.Environment) *abi.RowsReply {
	return page(list, abi.EnvironmentColumns, func(e store.Environment) []abi.Value {
		return []abi.Value{abi.Text(e.Name), abi.Text(e.SnapshotID), abi.Text(e.Image), abi.Int(e.BuiltAt)}
	})
}
