package store

import (
	"errors"
	"fmt"
)

// What a caller branches on. Errors of a store wrap one of these, or none when the store is at
// fault.
var (
	// ErrNotFound: what was named is not in the store.
	ErrNotFound = errors.New("not found")
	// ErrConflict: another driver holds the sandbox, or its ledger is not where the caller thinks.
	// Open the ledger again, or stop.
	ErrConflict = errors.New("conflict")
	// ErrInvalid: the store refuses the request or one of its entries; sending it again is no use.
	ErrInvalid = errors.New("invalid")
	// ErrUnavailable: nothing was written and the same call may succeed later.
	ErrUnavailable = errors.New("unavailable")
	// ErrUnknownOutcome: it may have been written; only the identical segments may be sent again.
	ErrUnknownOutcome = errors.New("unknown outcome")
	// ErrUnsupported: the store does not have this operation.
	ErrUnsupported = errors.New("unsupported")
)

// SegmentError says which part of a batch was refused.
type SegmentError struct {
	Segment int // index into Batch.Segments
	Entry   int // index into the segment's Entries, -1 when it is not about one entry
	Err     error
}

// Error names the segment and entry.
func (e *SegmentError) Error() string {
	if e.Entry < 0 {
		return fmt.Sprintf("segment %d: %v", e.Segment, e.Err)
	}
	return fmt.Sprintf("segment %d, entry %d: %v", e.Segment, e.Entry, e.Err)
}

// Unwrap returns the cause.
func (e *SegmentError) Unwrap() error { return e.Err }
