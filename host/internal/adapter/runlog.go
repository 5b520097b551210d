package adapter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/store"
)

// RunLog is a guest as a store of logs. It is safe for concurrent use.
type RunLog struct{ asker }

var _ store.RunLog = (*RunLog)(nil)

// Features says what the guest declares.
func (s *RunLog) Features() store.LogFeatures {
	return store.LogFeatures{Truncate: s.has(abi.OpLogTruncate)}
}

// logRows shows the events of an append as a table without copying them.
type logRows struct {
	run    string
	events []store.LogEvent
}

func (r *logRows) Len() int     { return len(r.events) }
func (r *logRows) Columns() int { return int(abi.LogEventColumns) }

func (r *logRows) Value(row, column int) abi.Value {
	var cells [abi.LogEventColumns]abi.Value
	r.ReadRow(row, cells[:])
	return cells[column]
}

// ReadRow implements capability.RowReader.
func (r *logRows) ReadRow(row int, dst []abi.Value) {
	e := &r.events[row]
	dst[abi.LogEventRun], dst[abi.LogEventKind] = abi.Text(r.run), abi.Text(e.Kind)
	dst[abi.LogEventData] = abi.Blob(e.Data)
	dst[abi.LogEventBehind] = abi.Int(int64(len(r.events) - 1 - row))
}

// Append stores events.
func (s *RunLog) Append(ctx context.Context, batch store.LogAppend) (uint64, error) {
	tail, err := s.append(ctx, &batch)
	if err != nil {
		return 0, fmt.Errorf("appending %d events to the log of run %q: %w", len(batch.Events), batch.RunID, err)
	}
	return tail, nil
}

func (s *RunLog) append(ctx context.Context, batch *store.LogAppend) (uint64, error) {
	const op = abi.OpLogAppend
	if err := checkKey("the run's id", batch.RunID); err != nil {
		return 0, err
	}
	if batch.Epoch > math.MaxInt64 || batch.After != nil && *batch.After > math.MaxInt64 {
		return 0, fmt.Errorf("%w: a number of the append is too large", store.ErrInvalid)
	}
	var call capability.Call
	req := abi.LogAppendRequest{RunID: batch.RunID, Epoch: batch.Epoch, After: batch.After, Count: uint64(len(batch.Events))}
	for i := range batch.Events {
		if err := checkText("the kind of an event", batch.Events[i].Kind); err != nil {
			return 0, err
		}
		req.Size += uint64(len(batch.Events[i].Data))
	}
	if req.Count > 0 {
		req.Events = call.Put(&logRows{batch.RunID, batch.Events})
	}
	var reply abi.LogTail
	err := s.guest.Call(ctx, op, &req, &call, &reply)
	switch {
	case err != nil:
	case reply.Tail < req.Count || reply.Tail > maxNumber:
		err = s.brokenf(op, "the plugin answered that a log with %d more events ends with event %d", req.Count, reply.Tail)
	case req.After != nil && reply.Tail != *req.After+req.Count:
		err = s.brokenf(op, "the plugin appended %d events behind %d and answered that the log ends with event %d", req.Count, *req.After, reply.Tail)
	}
	if err != nil {
		return 0, s.mapLogError(err)
	}
	return reply.Tail, nil
}

// mapLogError is mapWriteError for an append, whose refusal says how the log stands.
func (s *RunLog) mapLogError(err error) error {
	guest, ok := errors.AsType[*abi.Error](err)
	if !ok || guest.Code != abi.CodeConflict {
		return mapWriteError(err)
	}
	tail, tailErr := strconv.ParseUint(guest.Details[abi.DetailTail], 10, 63)
	epoch, epochErr := strconv.ParseUint(guest.Details[abi.DetailEpoch], 10, 63)
	if tailErr != nil || epochErr != nil {
		return s.brokenf(abi.OpLogAppend, "the plugin refused an append and does not say how the log stands: %w", err)
	}
	return &logError{store.LogError{Closed: guest.Details[abi.DetailClosed] == "1", Epoch: epoch, Tail: tail}, err}
}

// logError is a refusal with the plugin's error beneath it.
type logError struct {
	refused store.LogError
	err     error
}

func (e *logError) Error() string   { return e.refused.Error() }
func (e *logError) Unwrap() []error { return []error{&e.refused, e.err} }

// Read returns a page of a log.
func (s *RunLog) Read(ctx context.Context, runID string, opts store.LogReadOptions) (store.LogPage, error) {
	page, err := s.read(ctx, runID, opts)
	if err != nil {
		return store.LogPage{}, fmt.Errorf("reading the log of run %q: %w", runID, mapError(err))
	}
	return page, nil
}

func (s *RunLog) read(ctx context.Context, runID string, opts store.LogReadOptions) (store.LogPage, error) {
	const op = abi.OpLogRead
	if err := checkKey("the run's id", runID); err != nil {
		return store.LogPage{}, err
	}
	limit, size := bounds(store.ReadOptions{Limit: opts.Limit, MaxBytes: opts.MaxBytes})
	req := abi.LogReadRequest{RunID: runID, After: opts.After, Limit: limit, MaxBytes: size}
	var reply abi.LogPage
	rows, err := s.answered(ctx, op, &req, &reply, func() (uint64, []byte) { return reply.Rows, reply.Table }, shape{abi.LogColumns, limit})
	if err != nil {
		return store.LogPage{}, err
	}
	page := store.LogPage{Tail: reply.Tail, Dropped: reply.Dropped, Epoch: reply.Epoch, Closed: reply.Closed, More: reply.More}
	if page.Events, err = decodeLog(rows); err != nil {
		return store.LogPage{}, s.broken(op, err)
	}
	// Events follow one another without a gap, up to the last or to where the page ends.
	at := max(opts.After, page.Dropped)
	for i := range page.Events {
		if page.Events[i].Offset != at+uint64(i)+1 {
			return store.LogPage{}, s.brokenf(op, "event %d of the plugin's answer has the offset %d, not %d", i, page.Events[i].Offset, at+uint64(i)+1)
		}
	}
	end := at + uint64(len(page.Events))
	switch {
	case page.Tail > maxNumber || page.Dropped > page.Tail:
		err = fmt.Errorf("the plugin answered with a log that ends with event %d and has lost those up to %d", page.Tail, page.Dropped)
	case page.More && (len(page.Events) == 0 || end >= page.Tail):
		err = fmt.Errorf("the plugin says that there are events behind event %d of a log that ends with %d", end, page.Tail)
	case !page.More && end < page.Tail || len(page.Events) > 0 && end > page.Tail:
		err = fmt.Errorf("the plugin answered with the events up to %d of a log that ends with %d, and that there are no more", end, page.Tail)
	default:
		return page, nil
	}
	return store.LogPage{}, s.broken(op, err)
}

// decodeLog copies a page of events: nothing of it views the rows.
func decodeLog(rows capability.Rows) ([]store.LogEvent, error) {
	events := make([]store.LogEvent, rows.Len())
	c := cells{rows: rows}
	c.page, _ = rows.(*capability.Page)
	size := 0
	for c.row = range events {
		size += len(c.bytesOf(abi.LogData))
	}
	var kinds words
	var data block
	for i := range events {
		c.row = i
		e := &events[i]
		e.Offset, e.TS, e.Kind = c.count(abi.LogOffset), c.int(abi.LogTS), kinds.intern(c.bytes(abi.LogKind))
		text := c.bytesOf(abi.LogData)
		e.Data = data.clone(text, size)
		size -= len(text)
		if c.err != nil {
			return nil, c.err
		}
	}
	return events, c.err
}

// Close ends a log.
func (s *RunLog) Close(ctx context.Context, runID string) error {
	err := checkKey("the run's id", runID)
	if err == nil {
		err = s.guest.Call(ctx, abi.OpLogClose, &abi.KeyRequest{Key: runID}, nil, nil)
	}
	return wrote("closing the log of run", runID, err)
}

// Truncate removes the events of a log, in as many calls as the guest takes.
func (s *RunLog) Truncate(ctx context.Context, runID string) error {
	const op = abi.OpLogTruncate
	err := checkKey("the run's id", runID)
	if err == nil {
		err = s.offers(op)
	}
	for err == nil {
		var reply abi.DeleteReply
		err = s.guest.Call(ctx, op, &abi.KeyRequest{Key: runID}, nil, &reply)
		if err == nil && !reply.More {
			return nil
		}
		if err == nil && reply.Rows == 0 {
			err = s.brokenf(op, "the plugin has removed nothing, and says that there is more to remove")
		}
	}
	return wrote("truncating the log of run", runID, err)
}
