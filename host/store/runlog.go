package store

import (
	"context"
	"fmt"
)

// LogEvent is one event of a run's log.
type LogEvent struct {
	Offset uint64 // its place in the log, from 1, without gaps; given by the store
	TS     int64  // when it was stored, by the store's clock, Unix milliseconds
	Kind   string // for whoever reads the log; may be empty
	Data   []byte // kept byte for byte
}

// LogAppend is what is appended in one step, all or nothing.
type LogAppend struct {
	RunID string
	// Epoch is the claim it is written under. One that is lower than any before is refused, and from this
	// append on so is every lower one. An append without events does only that: it is how a new driver
	// shuts the ones before it out, before it looks at what they left.
	Epoch uint64
	// After is the offset that the log must end with, nil for any. A driver that knows it can send an append
	// again whose outcome is unknown: it was applied when the LogError says that the log ends with its
	// last event.
	After  *uint64
	Events []LogEvent // Kind and Data of each
}

// LogError says why an append was refused. It is an ErrConflict.
type LogError struct {
	Closed bool   // the log is closed
	Epoch  uint64 // highest that the log has seen; above the append's: its driver was superseded
	Tail   uint64 // offset of the last event, 0 when there was none
}

// Error says it in a sentence.
func (e *LogError) Error() string {
	if e.Closed {
		return fmt.Sprintf("the log is closed (it ends with event %d)", e.Tail)
	}
	return fmt.Sprintf("the log is at epoch %d and ends with event %d", e.Epoch, e.Tail)
}

// Unwrap returns ErrConflict.
func (e *LogError) Unwrap() error { return ErrConflict }

// LogReadOptions bounds a page of a log. Zero lets the store choose.
type LogReadOptions struct {
	After    uint64 // offset of the last event that is known; 0 starts at the beginning
	Limit    int    // most events
	MaxBytes int64  // the page ends with the event that passes this; it has one event at least
}

// LogPage is one page of a log, as it was at one moment.
type LogPage struct {
	Events []LogEvent // with an offset above After, in order
	Tail   uint64     // offset of the last event that was ever stored, 0 when there was none
	// Dropped is the offset of the last event that was removed by Truncate, 0 when none was: a reader whose
	// After is lower has missed some.
	Dropped uint64
	Epoch   uint64 // highest that the log has seen
	Closed  bool   // nothing follows Tail any more
	More    bool   // there are events behind the last one of the page
}

// LogFeatures are the optional abilities of a RunLog. A method without its feature returns ErrUnsupported.
type LogFeatures struct {
	Truncate bool
}

// RunLog stores the log of each run: what its viewers read. Implementations are safe for concurrent use, and
// what one wrote is there for all who read later.
type RunLog interface {
	Features() LogFeatures
	// Append stores events and returns the offset that the log ends with. It is durable when the error is
	// nil. A refused one is a *LogError.
	Append(ctx context.Context, batch LogAppend) (uint64, error)
	// Read returns what is stored and never waits. A run without a log has an empty page.
	Read(ctx context.Context, runID string, opts LogReadOptions) (LogPage, error)
	// Close ends a log, also one that has no event. It is idempotent and not fenced.
	Close(ctx context.Context, runID string) error
	// Truncate removes the events that are stored now. Offsets, epoch and the end stay: an event that is
	// appended later gets the offset that it would have got. A store may remove a large log piece by
	// piece, oldest first. Feature: Truncate.
	Truncate(ctx context.Context, runID string) error
}
