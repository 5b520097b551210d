package ledger

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/host/store"
)

// CanonicalVersion is the version of the canonical form of an entry. It is a member of the form
// itself, so that a later one is told apart.
const CanonicalVersion = 1

// Hash is a leaf's or a segment's hash.
type Hash = [sha256.Size]byte

// AppendEntry appends the canonical form, version 1, of an entry: one JSON object in canonical form
// with the members branch, error, event, name, payload, sandboxId, stepIndex, ts and v, of which
// branch, error and payload are left out when the entry has none. The id is not part of it: a ledger
// that is copied keeps its hashes.
//
//	{"event":"sandbox.created","name":"run","payload":{"runId":"r"},"sandboxId":"id","stepIndex":-1,"ts":1700000000000,"v":1}
func (c *Canonicalizer) AppendEntry(dst []byte, e *store.Entry) ([]byte, error) {
	if err := checkTexts(e); err != nil {
		return dst, err
	}
	start := len(dst)
	dst = append(dst, '{')
	if e.Branch != nil {
		dst = append(dst, `"branch":`...)
		dst = strconv.AppendInt(dst, *e.Branch, 10)
		dst = append(dst, ',')
	}
	if e.Error != nil {
		dst = append(dst, `"error":`...)
		dst = appendString(dst, *e.Error)
		dst = append(dst, ',')
	}
	dst = append(dst, `"event":`...)
	dst = appendString(dst, e.Event)
	dst = append(dst, `,"name":`...)
	dst = appendString(dst, e.Name)
	if e.Payload != nil {
		dst = append(dst, `,"payload":`...)
		var err error
		if dst, err = c.AppendJSON(dst, e.Payload); err != nil {
			return dst[:start], err
		}
	}
	dst = append(dst, `,"sandboxId":`...)
	dst = appendString(dst, e.SandboxID)
	dst = append(dst, `,"stepIndex":`...)
	dst = strconv.AppendInt(dst, e.StepIndex, 10)
	dst = append(dst, `,"ts":`...)
	dst = strconv.AppendInt(dst, e.TS, 10)
	return append(dst, `,"v":1}`...), nil
}

// checkTexts refuses what a text column of some store can't hold.
func checkTexts(e *store.Entry) error {
	if err := checkText("event name", e.Event, true); err != nil {
		return err
	}
	if err := checkText("name", e.Name, true); err != nil {
		return err
	}
	if err := checkText("sandbox id", e.SandboxID, true); err != nil {
		return err
	}
	if e.Error != nil {
		return checkText("error", *e.Error, false)
	}
	return nil
}

func checkText(what, s string, needed bool) error {
	switch {
	case needed && s == "":
		return fmt.Errorf("%w: the %s is empty", store.ErrInvalid, what)
	case !utf8.ValidString(s):
		return fmt.Errorf("%w: the %s %q is not valid UTF-8", store.ErrInvalid, what, s)
	case strings.IndexByte(s, 0) >= 0:
		return fmt.Errorf("%w: the %s %q has a NUL", store.ErrInvalid, what, s)
	}
	return nil
}

// Leaf returns the hash of an entry: SHA-256 over its canonical form. scratch may be nil; it is
// returned grown, to be passed in again.
func (c *Canonicalizer) Leaf(e *store.Entry, scratch []byte) (Hash, []byte, error) {
	form, err := c.AppendEntry(scratch[:0], e)
	if err != nil {
		return Hash{}, form, err
	}
	return sha256.Sum256(form), form, nil
}

// segmentTag keeps the hash of a segment from ever being that of a leaf, and names the version.
const segmentTag = "alineo.segment.1"

// The parts of what a segment's hash is over.
const (
	previousAt = len(segmentTag)
	idAt       = previousAt + sha256.Size
	leavesAt   = idAt + 16
)

// SegmentHash returns the hash of a sandbox's chain after a segment: SHA-256 over the 16 bytes
// "alineo.segment.1", the hash before it (32 zero bytes when it is the first), its id, and the
// leaves of its entries in order. previous is empty or 32 bytes.
func SegmentHash(previous []byte, id [16]byte, leaves []byte) Hash {
	text := append(make([]byte, leavesAt, leavesAt+len(leaves)), leaves...)
	return hashSegment(text, previous, id)
}

// hashSegment fills in what stands before the leaves, from leavesAt on, and hashes the whole.
func hashSegment(text, previous []byte, id [16]byte) Hash {
	copy(text, segmentTag)
	clear(text[previousAt:idAt])
	copy(text[previousAt:idAt], previous)
	copy(text[idAt:leavesAt], id[:])
	return sha256.Sum256(text)
}
