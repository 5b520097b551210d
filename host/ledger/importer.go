package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/alineo-labs/alineo-host/host/store"
)

// How much an import writes in one commit, and keeps in memory.
const (
	importRows    = 512
	importBytes   = 1 << 20
	maxPending    = 64 << 20 // of one segment that is written as it was; a larger one is chained anew
	importTries   = 8
	importBackoff = 50 * time.Millisecond
)

// importer reads an export once. Without write it looks at the ledger and changes nothing.
type importer struct {
	o      operable
	in     *exportReader
	bytes  *countingReader
	write  bool
	skip   bool // entries without a canonical form
	meter  *meter
	report *ImportReport

	heads    func() (placedHead, bool, error) // of the ledger, in the export's order
	nextHead *placedHead
	current  *arrival
	canon    Canonicalizer
	scratch  []byte
	batch    []store.Segment
	lines    [][]int // of the batch's entries
	rows     int
	size     int
	oneByOne bool               // the ledger does not take two segments of a sandbox in one batch
	written  map[store.Key]Hash // where chains end that were written
}

// arrival is a sandbox on its way into the ledger.
type arrival struct {
	key      store.Key
	line     int // its first
	previous []byte
	there    func() (store.StoredSegment, bool, error) // that the ledger has already
	stop     func()
	all      bool // those were all met
	epoch    uint64
	claimed  bool

	verbatim bool // every segment so far was written as it was
	written  bool // something that was not there
	damaged  bool
	pending  []store.Entry // that no segment followed yet
	leaves   []byte
	lines    []int
	size     int
}

// countingReader counts what was read.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err //nolint:wrapcheck // as it came
}

func newImporter(o operable, r io.Reader, write bool, m *meter) *importer {
	counted := &countingReader{r: r}
	return &importer{
		o: o, in: newExportReader(counted), bytes: counted, write: write, meter: m, report: &ImportReport{},
		written: map[store.Key]Hash{},
	}
}

func (im *importer) run(ctx context.Context) error {
	heads, stop := pull(im.o.heads(ctx))
	defer stop()
	im.heads = heads
	defer func() {
		if im.current != nil {
			im.current.stop()
		}
	}()
	if err := im.advanceHead(); err != nil {
		return err
	}
	before := int64(0)
	if im.meter != nil {
		before = im.meter.at.Done
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		rec, err := im.in.next()
		if err != nil {
			return err
		}
		if im.meter != nil && im.meter.own {
			im.meter.at.Done = before + im.bytes.n
		}
		if rec.end != nil {
			if err := im.leave(ctx); err != nil {
				return err
			}
			im.report.Sandboxes, im.report.Entries = rec.end.Sandboxes, rec.end.Entries
			return im.flush(ctx)
		}
		if err := im.take(ctx, rec); err != nil {
			return err
		}
	}
}

func (im *importer) take(ctx context.Context, rec *record) error {
	if rec.environment != nil {
		if err := im.leave(ctx); err != nil {
			return err
		}
		return im.environment(ctx, rec)
	}
	var key store.Key
	if rec.entry != nil {
		key = store.Key{Name: rec.entry.Name, SandboxID: rec.entry.SandboxID}
	} else {
		key = rec.segment.key
	}
	if im.current == nil || im.current.key != key {
		if err := im.leave(ctx); err != nil {
			return err
		}
		if err := im.enter(ctx, key, rec.line); err != nil {
			return err
		}
	}
	a := im.current
	if rec.segment != nil {
		return im.segment(ctx, rec.segment)
	}
	im.meter.entry()
	if im.skip && !rec.chained && !im.canonical(rec.entry) {
		a.verbatim = false
		im.report.Skipped++
		return nil
	}
	a.pending, a.leaves, a.lines = append(a.pending, *rec.entry), append(a.leaves, rec.leaf[:]...), append(a.lines, rec.line)
	a.size += len(rec.entry.Payload) + len(rec.entry.Event)
	if !rec.chained || a.size > maxPending {
		a.verbatim = false
	}
	if !a.verbatim && (len(a.pending) >= importRows || a.size >= importBytes) {
		return im.own(ctx)
	}
	return nil
}

// canonical tells whether an entry has a canonical form, which every ledger can hold.
func (im *importer) canonical(e *store.Entry) bool {
	var err error
	im.scratch, err = im.canon.AppendEntry(im.scratch[:0], e)
	return err == nil
}

// advanceHead goes on to the ledger's next sandbox.
func (im *importer) advanceHead() error {
	h, ok, err := im.heads()
	im.nextHead = nil
	if err == nil && ok {
		im.nextHead = &h
	}
	return err
}

// enter looks what the ledger has of a sandbox.
func (im *importer) enter(ctx context.Context, key store.Key, line int) error {
	a := &arrival{key: key, line: line, verbatim: true, stop: func() {}, all: true}
	im.current = a
	for im.nextHead != nil && compareKeys(im.nextHead.Key, key) < 0 {
		if err := im.advanceHead(); err != nil {
			return err
		}
	}
	if im.nextHead == nil || im.nextHead.Key != key {
		return nil
	}
	usage, err := im.o.Usage(ctx, key)
	if err != nil {
		return err
	}
	if usage.Entries != im.nextHead.Entries {
		return im.conflict(fmt.Sprintf("it has %d entries there, of which its segments hold %d", usage.Entries, im.nextHead.Entries))
	}
	a.there, a.stop = pull(im.o.segments(ctx, key))
	a.all = false
	return nil
}

func (im *importer) conflict(reason string) error {
	return &ImportConflictError{Key: im.current.key, Line: im.current.line, Reason: reason}
}

// segment takes up the record of a segment.
func (im *importer) segment(ctx context.Context, s *segmentRecord) error {
	a := im.current
	if s.broken {
		a.verbatim, a.damaged = false, true
	}
	if !a.verbatim {
		return nil
	}
	return im.add(ctx, s.id, s.hash)
}

// own makes a segment of what waits. Its id follows from its content, so that a second import of the
// same makes the same.
func (im *importer) own(ctx context.Context) error {
	a := im.current
	sum := sha256.New()
	sum.Write([]byte("alineo.import.1"))
	sum.Write(a.previous)
	sum.Write(a.leaves)
	id := [16]byte(sum.Sum(nil))
	return im.add(ctx, id, SegmentHash(a.previous, id, a.leaves))
}

// add writes what waits as one segment, unless the ledger has it.
func (im *importer) add(ctx context.Context, id [16]byte, hash Hash) error {
	a := im.current
	count := uint64(len(a.pending))
	s := store.Segment{
		Key: a.key, Epoch: a.epoch, Previous: a.previous, ID: id, Hash: hash, Leaves: a.leaves, Entries: a.pending,
	}
	lines := a.lines
	a.previous, a.pending, a.leaves, a.lines, a.size = bytes.Clone(hash[:]), nil, nil, nil, 0
	if !a.all {
		there, ok, err := a.there()
		if err != nil {
			return err
		}
		if ok {
			if there.ID != id || there.Hash != hash {
				return im.conflict("what it has there is not what is imported")
			}
			im.report.Already += count
			return nil
		}
		a.all = true
	}
	a.written = true
	if !im.write {
		im.report.Written += count
		return nil
	}
	if !a.claimed {
		head, err := im.o.OpenLedger(ctx, a.key)
		if err != nil {
			return err
		}
		if !bytes.Equal(head.Hash, s.Previous) {
			return im.conflict("somebody writes to it now")
		}
		a.epoch, a.claimed = head.Epoch, true
	}
	s.Epoch = a.epoch
	twice := len(im.batch) > 0 && im.batch[len(im.batch)-1].Key == a.key
	if len(im.batch) > 0 && (twice && im.oneByOne || im.rows+len(s.Entries) > importRows || im.size > importBytes) {
		if err := im.flush(ctx); err != nil {
			return err
		}
	}
	im.batch, im.lines = append(im.batch, s), append(im.lines, lines)
	im.rows += len(s.Entries)
	for i := range s.Entries {
		im.size += len(s.Entries[i].Payload) + len(s.Entries[i].Event)
	}
	im.written[a.key] = hash
	return nil
}

// leave ends a sandbox.
func (im *importer) leave(ctx context.Context) error {
	a := im.current
	if a == nil {
		return nil
	}
	if len(a.pending) > 0 {
		if err := im.own(ctx); err != nil {
			return err
		}
	}
	if !a.all {
		_, more, err := a.there()
		if err != nil {
			return err
		}
		if more {
			return im.conflict("it went on there after what is imported")
		}
	}
	a.stop()
	switch {
	case a.previous == nil: // nothing of it is left
	case a.verbatim:
		im.report.Verbatim++
	case a.written:
		im.report.Rechained++
	}
	if a.damaged && a.written {
		im.report.Damaged++
	}
	im.meter.sandbox()
	im.current = nil
	return nil
}

// flush commits what was added.
func (im *importer) flush(ctx context.Context) error {
	if len(im.batch) == 0 {
		return nil
	}
	err := im.append(ctx, im.batch)
	// A chain's segments go in one commit where the ledger moves its head for each in turn. One that moves
	// heads all at once refuses that, and writes nothing.
	if im.chained() && errors.Is(err, store.ErrConflict) {
		im.oneByOne, err = true, nil
		for i := range im.batch {
			if err = im.append(ctx, im.batch[i:i+1]); err != nil {
				im.batch, im.lines = im.batch[i:i+1], im.lines[i:i+1]
				break
			}
		}
	}
	if err != nil {
		return im.located(err)
	}
	im.batch, im.lines, im.rows, im.size = nil, nil, 0, 0
	return nil
}

// chained tells whether a sandbox has several segments in the batch.
func (im *importer) chained() bool {
	for i := 1; i < len(im.batch); i++ {
		if im.batch[i].Key == im.batch[i-1].Key {
			return true
		}
	}
	return false
}

// append commits segments and counts what is written.
func (im *importer) append(ctx context.Context, segments []store.Segment) error {
	wait := importBackoff
	for try := 1; ; try++ {
		err := im.o.Append(ctx, &store.Batch{Segments: segments})
		if err == nil {
			for i := range segments {
				im.report.Written += uint64(len(segments[i].Entries))
			}
			return nil
		}
		// The same batch is good for another try: what was written is recognised.
		again := errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknownOutcome)
		if !again || try == importTries || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
		wait *= 2
	}
}

// located names the line that the ledger refuses.
func (im *importer) located(err error) error {
	var at *store.SegmentError
	if !errors.As(err, &at) || at.Segment < 0 || at.Segment >= len(im.batch) {
		return err
	}
	key, lines := im.batch[at.Segment].Key, im.lines[at.Segment]
	if at.Entry >= 0 && at.Entry < len(lines) {
		return &LineError{Line: lines[at.Entry], Err: fmt.Errorf("the ledger can't hold this entry of %s: %w", key, err)}
	}
	return &LineError{Line: lines[0], Err: fmt.Errorf("sandbox %s: %w", key, err)}
}

func (im *importer) environment(ctx context.Context, rec *record) error {
	e := *rec.environment
	there, err := im.o.GetEnvironment(ctx, e.Name)
	switch {
	case err == nil && there == e:
		return nil
	case err == nil:
		return &ImportConflictError{Environment: e.Name, Line: rec.line, Reason: "it is another one there"}
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	if im.write {
		if err := im.flush(ctx); err != nil {
			return err
		}
		if err := im.o.SaveEnvironment(ctx, e); err != nil {
			return &LineError{Line: rec.line, Err: err}
		}
	}
	im.report.Environments++
	return nil
}

// check verifies what was written.
func (im *importer) check(ctx context.Context) error {
	for head, err := range im.o.heads(ctx) {
		if err != nil {
			return fmt.Errorf("verifying what was written: %w", err)
		}
		hash, ours := im.written[head.Key]
		if !ours {
			continue
		}
		found := false
		r, err := im.o.verify(ctx, head, func(h Hash, _ uint64) { found = found || h == hash }, nil)
		if err != nil {
			return fmt.Errorf("verifying what was written: %w", err)
		}
		if r.Damage != nil {
			return fmt.Errorf("verifying what was written: this ledger does not give back what was written to it: sandbox %s: %s", head.Key, r.Damage.Text)
		}
		if !found && !r.Live {
			return fmt.Errorf("verifying what was written: sandbox %s is not there as it was written", head.Key)
		}
		delete(im.written, head.Key)
		im.report.Verified++
	}
	for key := range im.written {
		return fmt.Errorf("verifying what was written: sandbox %s is not there", key)
	}
	return nil
}
