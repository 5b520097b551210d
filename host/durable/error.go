package durable

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/alineo-labs/alineo-host/host/store"
)

// What a caller branches on, besides the sentinels of host/store.
var (
	// ErrClosed: the Runs was closed.
	ErrClosed = errors.New("closed")
	// ErrExists: there is a run with this id already. Attach to it, or take another id.
	ErrExists = errors.New("there is such a run already")
	// ErrEnded: the run has ended, so nothing can be done to it.
	ErrEnded = errors.New("the run has ended")
	// ErrDriven: another host drives the run.
	ErrDriven = errors.New("another host drives the run")
	// ErrUnfenced: the store can't keep a superseded driver out, and allow_unfenced is not set.
	ErrUnfenced = errors.New("the store of runs is not fenced (set allow_unfenced to go on all the same)")
	// ErrSuperseded: another driver has claimed the run.
	ErrSuperseded = errors.New("superseded by another driver")
	// ErrDiverged: the journal is not what the run's log was written from.
	ErrDiverged = errors.New("the journal differs from the log")
	// ErrTruncated: a viewer wants events that were removed.
	ErrTruncated = errors.New("events were removed from the log")
)

// What ends a drive from outside, as causes of its context.
var (
	errCanceled = errors.New("cancel was requested")
	errExpired  = errors.New("nobody came back in time")
	errLetGo    = errors.New("this host lets go of the run")
	errLease    = errors.New("the lease was lost")
)

// DivergedError is the place where a replay and the log part. It holds digests, not what was said. It
// answers errors.Is for ErrDiverged.
type DivergedError struct {
	Offset           uint64 // of the stored event
	Stored, Replayed string // fingerprints; empty where one of them ends
}

// Error shows both sides.
func (e *DivergedError) Error() string {
	if e.Replayed == "" {
		return fmt.Sprintf("%v: it ends before event %d (%s)", ErrDiverged, e.Offset, e.Stored)
	}
	return fmt.Sprintf("%v: at event %d the log has %s, the journal %s", ErrDiverged, e.Offset, e.Stored, e.Replayed)
}

// Is answers for ErrDiverged.
func (e *DivergedError) Is(target error) bool { return target == ErrDiverged } //nolint:errorlint // a sentinel is itself

// fingerprint says in a few characters what an event is, and gives nothing of it away.
func fingerprint(e store.LogEvent) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%d:%s", len(e.Kind), e.Kind) // a hash takes everything
	_, _ = h.Write(e.Data)
	return e.Kind + ":" + hex.EncodeToString(h.Sum(nil))[:16]
}
