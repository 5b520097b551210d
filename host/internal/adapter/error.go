package adapter

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/store"
)

// sentinel says what a caller of the store branches on, nil when the store is at fault.
func sentinel(err error) error {
	if guest, ok := errors.AsType[*abi.Error](err); ok {
		switch guest.Code {
		case abi.CodeNotFound:
			return store.ErrNotFound
		case abi.CodeConflict:
			return store.ErrConflict
		case abi.CodeInvalid, abi.CodeResourceExhausted:
			return store.ErrInvalid
		case abi.CodeUnavailable, abi.CodeDeadline:
			return store.ErrUnavailable
		case abi.CodeUnknownOutcome:
			return store.ErrUnknownOutcome
		case abi.CodeUnsupported, abi.CodeDenied:
			return store.ErrUnsupported // nothing was done, and trying again is no use
		case abi.CodeOK, abi.CodeInternal:
		}
		return nil
	}
	if plugin.IsKind(err, plugin.KindBusy, plugin.KindFailed, plugin.KindClosed, plugin.KindStart, plugin.KindDeadline) {
		return store.ErrUnavailable
	}
	return nil
}

// mapError gives a plugin's error the sentinel of package store.
func mapError(err error) error {
	if s := sentinel(err); s != nil {
		return &storeError{sentinel: s, err: err}
	}
	return err
}

// mapWriteError is mapError for what may have written something: a guest that was asked and did not
// answer, or whose answer is nonsense, may have done it.
func mapWriteError(err error) error {
	if _, ok := errors.AsType[*abi.Error](err); ok {
		return mapError(err)
	}
	failed, ok := errors.AsType[*plugin.Error](err)
	switch {
	case !ok:
		return err
	case failed.Sent:
		return &storeError{sentinel: store.ErrUnknownOutcome, err: err}
	case sentinel(err) == nil:
		return &storeError{sentinel: store.ErrUnavailable, err: err} // it never reached the guest
	default:
		return mapError(err)
	}
}

// wrapped says what an error of a read is about, wrote what one of a write is about; nil stays nil.
func wrapped(doing, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %q: %w", doing, name, mapError(err))
}

func wrote(doing, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %q: %w", doing, name, mapWriteError(err))
}

// storeError is a plugin's error that also is one of the store's sentinels; its text is the
// plugin's.
type storeError struct {
	sentinel, err error
}

func (e *storeError) Error() string   { return e.err.Error() }
func (e *storeError) Unwrap() []error { return []error{e.sentinel, e.err} }

// mapAppendError is mapError for an append. A guest that had the batch and did not answer may have
// written it: only the identical batch can tell.
func (r *batchRows) mapAppendError(err error) error {
	var guest *abi.Error
	if !errors.As(err, &guest) {
		var failed *plugin.Error
		if errors.As(err, &failed) && failed.Sent {
			return &storeError{sentinel: store.ErrUnknownOutcome, err: err}
		}
		if s := sentinel(err); s != nil {
			return &storeError{sentinel: s, err: err}
		}
		// It never reached the guest.
		return &storeError{sentinel: store.ErrUnavailable, err: err}
	}
	mapped := mapError(err)
	if n, ok := detail(guest, abi.DetailEntry, len(r.entries)); ok {
		segment, entry := r.locate(n)
		return &store.SegmentError{Segment: segment, Entry: entry, Err: mapped}
	}
	if n, ok := detail(guest, abi.DetailSegment, len(r.batch.Segments)); ok {
		return &store.SegmentError{Segment: n, Entry: -1, Err: mapped}
	}
	if guest.Code == abi.CodeConflict {
		return fmt.Errorf("the plugin does not say which sandbox: %w", mapped)
	}
	return mapped
}

// detail reads an index that a guest gives; one that is out of range counts as not given.
func detail(e *abi.Error, key string, below int) (int, bool) {
	n, err := strconv.Atoi(e.Details[key])
	return n, err == nil && n >= 0 && n < below
}
