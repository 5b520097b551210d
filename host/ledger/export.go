package ledger

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/alineo-labs/alineo-host/host/store"
)

// ExportFormat and ExportVersion are what an export begins with.
const (
	ExportFormat  = "alineo.ledger"
	ExportVersion = 1
)

// ExportOptions say what is exported. Without a filter that is everything, the environments included;
// environments belong to no sandbox, so an export of some sandboxes leaves them out.
type ExportOptions struct {
	Name      string // only sandboxes of this name
	SandboxID string // only the sandbox of this id
	// Progress is told now and then.
	Progress func(Progress)
}

// ExportReport says what is in an export.
type ExportReport struct {
	Sandboxes    uint64 `json:"sandboxes"`
	Entries      uint64 `json:"entries"`
	Unchained    uint64 `json:"unchained"` // of the entries, those that are part of no whole segment
	Segments     uint64 `json:"segments"`
	Broken       uint64 `json:"broken"` // of the segments, those whose entries are not all there as they were written
	Environments uint64 `json:"environments"`
	// Content is the hash of the entries alone, whoever wrote them, in their order. Two ledgers with equal
	// entries have it in common also when they were chained anew.
	Content string `json:"content"`
	SHA256  string `json:"sha256"` // of every byte before the last line
	// Unreadable are sandboxes some of whose entries could not be read and are left out.
	Unreadable []*UnreadableError `json:"-"`
	// Live counts sandboxes that were written to meanwhile; what came after the beginning is left out. What
	// is broken or unchained may be of one that was deleted meanwhile.
	Live uint64 `json:"-"`
}

// Export writes sandboxes as lines of JSON, by name and id, each with its entries by (ts, id) and the
// segments that chain them. Equal ledgers give equal bytes. It keeps a page of entries and a page of
// segments in memory, however large the ledger is. docs/ledger.md has the format.
//
// A ledger with rows that others wrote, or that is damaged, is exported as it is; what can't be read at
// all is left out and reported.
func Export(ctx context.Context, st store.Ledger, w io.Writer, opts ExportOptions) (*ExportReport, error) {
	o, err := operate(st)
	if err != nil {
		return nil, fmt.Errorf("exporting: %w", err)
	}
	x := &exporter{o: o, opts: opts, out: newLineWriter(w), content: sha256.New(), report: &ExportReport{}, meter: newMeter(opts.Progress)}
	if x.meter != nil && opts.Name == "" && opts.SandboxID == "" {
		x.meter.at.Total = o.total(ctx)
	}
	if err := x.run(ctx); err != nil {
		return x.report, fmt.Errorf("exporting: %w", err)
	}
	x.meter.end()
	return x.report, nil
}

type exporter struct {
	o       operable
	opts    ExportOptions
	out     *lineWriter
	content hash.Hash
	report  *ExportReport
	meter   *meter
	canon   Canonicalizer
	scratch []byte
	line    []byte
}

func (x *exporter) run(ctx context.Context) error {
	x.line = append(x.line[:0], `{"format":"`+ExportFormat+`","v":`...)
	x.line = append(strconv.AppendInt(x.line, ExportVersion, 10), '}')
	if err := x.out.write(x.line); err != nil {
		return err
	}
	for head, err := range x.o.heads(ctx) {
		if err != nil {
			return err
		}
		if x.opts.Name != "" && head.Key.Name != x.opts.Name || x.opts.SandboxID != "" && head.Key.SandboxID != x.opts.SandboxID {
			continue
		}
		before := x.report.Entries + x.report.Segments
		if err := x.sandbox(ctx, head); err != nil {
			return fmt.Errorf("%s: %w", head.Key, err)
		}
		if x.report.Entries+x.report.Segments > before {
			x.report.Sandboxes++
		}
		x.meter.sandbox()
	}
	if x.opts.Name == "" && x.opts.SandboxID == "" {
		if err := x.environments(ctx); err != nil {
			return err
		}
	}
	return x.end()
}

// chainReader reads a sandbox's segments up to its head, and knows which entry is expected next.
type chainReader struct {
	next     func() (store.StoredSegment, bool, error)
	head     []byte
	current  *store.StoredSegment // nil behind the last one
	ahead    []store.StoredSegment
	at       int  // the leaf of it that is expected
	whole    bool // it follows from the one before and from its content
	previous []byte
	last     int64 // highest id of a segment so far
	reached  bool  // the head: what is behind it is newer than that
}

// maxAhead bounds how many segments are looked at ahead of the current one.
const maxAhead = 64

// peek makes sure that there are n segments ahead; false when there are not so many.
func (c *chainReader) peek(n int) (bool, error) {
	for len(c.ahead) < n {
		if c.reached {
			return false, nil
		}
		s, ok, err := c.next()
		if err != nil {
			return false, err
		}
		if !ok {
			c.reached = true
			return false, nil
		}
		c.ahead = append(c.ahead, s)
		c.reached = bytes.Equal(s.Hash[:], c.head)
	}
	return true, nil
}

func (c *chainReader) advance() error {
	c.current, c.at = nil, 0
	ok, err := c.peek(1)
	if err != nil || !ok {
		return err
	}
	s := c.ahead[0]
	c.ahead = slices.Delete(c.ahead, 0, 1)
	c.current, c.last = &s, max(c.last, s.LastID)
	c.whole = bytes.Equal(s.Previous, c.previous) && len(s.Leaves)%len(Hash{}) == 0 && SegmentHash(s.Previous, s.ID, s.Leaves) == s.Hash
	c.previous = s.Hash[:]
	return nil
}

// begins tells whether an entry is the first one of a segment ahead: then nothing more will come of
// those before it. Somebody else's entry may have any id and any time, and tells nothing.
func (c *chainReader) begins(id int64, leaf Hash) (ahead int, err error) {
	if c.current == nil || id <= c.current.LastID {
		return 0, nil
	}
	for i := range maxAhead {
		ok, err := c.peek(i + 1)
		if err != nil || !ok || c.ahead[i].FirstID > id {
			return 0, err
		}
		if s := &c.ahead[i]; id <= s.LastID && bytes.HasPrefix(s.Leaves, leaf[:]) {
			return i + 1, nil
		}
	}
	return 0, nil
}

func (c *chainReader) count() int { return len(c.current.Leaves) / len(Hash{}) }

// holds tells whether an entry is the next one of the chain.
func (c *chainReader) holds(id int64, leaf Hash) bool {
	s := c.current
	return s != nil && s.FirstID <= id && id <= s.LastID && c.at < c.count() && Hash(s.Leaves[c.at*len(leaf):(c.at+1)*len(leaf)]) == leaf
}

func (x *exporter) sandbox(ctx context.Context, head placedHead) error {
	next, stop := pull(x.o.segments(ctx, head.Key))
	defer stop()
	c := &chainReader{next: next, head: head.Hash, reached: len(head.Hash) == 0}
	if err := c.advance(); err != nil {
		return err
	}
	live := &liveness{o: x.o, head: head}
	before := x.report.Broken + x.report.Unchained
	for e, err := range x.o.rows(ctx, head.Key, live.page) {
		if unreadable := (*UnreadableError)(nil); errors.As(err, &unreadable) {
			x.report.Unreadable = append(x.report.Unreadable, unreadable)
			break // what can be read is exported
		}
		if err != nil {
			return err
		}
		if c.current == nil && e.ID > c.last {
			changed, err := live.look(ctx)
			if err != nil {
				return err
			}
			if changed {
				continue
			}
		}
		var leaf Hash
		leaf, x.scratch = x.canon.formLeaf(e, x.scratch)
		chained := c.holds(e.ID, leaf)
		if !chained {
			passed, err := c.begins(e.ID, leaf)
			if err != nil {
				return err
			}
			for chained = passed > 0; passed > 0; passed-- {
				if err := x.segment(head.Key, c); err != nil {
					return err
				}
			}
		}
		if err := x.entry(chained); err != nil {
			return err
		}
		if chained {
			if c.at++; c.at == c.count() {
				if err := x.segment(head.Key, c); err != nil {
					return err
				}
			}
		}
	}
	for c.current != nil {
		if err := x.segment(head.Key, c); err != nil {
			return err
		}
	}
	if x.report.Broken+x.report.Unchained > before {
		// It may have been deleted after its segments were read, and before its rows were.
		live.page()
		if _, err := live.look(ctx); err != nil {
			return err
		}
	}
	if live.changed {
		x.report.Live++
	}
	return nil
}

// liveness tells rows that a driver wrote since the head was read from rows that others wrote: behind
// the chain's end both have no segment yet.
type liveness struct {
	o       operable
	head    placedHead
	changed bool
	asked   bool // since the last page was read
}

func (l *liveness) page() { l.asked = false }

// look asks for the head again, since rows may be newer than it. It need not for the rows of one page.
func (l *liveness) look(ctx context.Context) (bool, error) {
	if l.changed || l.asked {
		return l.changed, nil
	}
	now, ok, err := l.o.head(ctx, l.head)
	if err != nil {
		return false, err
	}
	l.asked, l.changed = true, !ok || !bytes.Equal(now.Hash, l.head.Hash)
	return l.changed, nil
}

// entry writes the entry whose form is in scratch.
func (x *exporter) entry(chained bool) error {
	x.report.Entries++
	x.meter.entry()
	x.content.Write(x.scratch)
	x.content.Write([]byte{'\n'})
	line := x.scratch
	if !chained {
		x.report.Unchained++
		x.line = append(append(append(x.line[:0], `{"unchained":`...), x.scratch...), '}')
		line = x.line
	}
	err := x.out.write(line)
	if cap(x.scratch) > maxScratch {
		x.scratch, x.line, x.canon = nil, nil, Canonicalizer{}
	}
	return err
}

// segment writes the record of the current segment and goes on to the next one.
func (x *exporter) segment(key store.Key, c *chainReader) error {
	s := segmentRecord{
		key: key, id: c.current.ID, previous: c.current.Previous, hash: c.current.Hash, entries: uint64(c.count()),
		broken: !c.whole || c.at < c.count() || c.count() == 0,
	}
	x.report.Segments++
	if s.broken {
		x.report.Broken++
	}
	x.line = s.append(x.line[:0])
	if err := x.out.write(x.line); err != nil {
		return err
	}
	return c.advance()
}

func (x *exporter) environments(ctx context.Context) error {
	list, err := x.o.ListEnvironments(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b store.Environment) int { return strings.Compare(a.Name, b.Name) })
	for i := range list {
		x.line = appendEnvironment(x.line[:0], &list[i])
		if err := x.out.write(x.line); err != nil {
			return err
		}
		x.report.Environments++
	}
	return nil
}

func (x *exporter) end() error {
	x.report.Content = hex.EncodeToString(x.content.Sum(nil))
	x.report.SHA256 = x.out.sum()
	if err := x.out.write(appendEnd(x.line[:0], x.report)); err != nil {
		return err
	}
	return x.out.flush()
}

// lineWriter writes lines and hashes them.
type lineWriter struct {
	w    *bufio.Writer
	hash hash.Hash
}

func newLineWriter(w io.Writer) *lineWriter {
	sum := sha256.New()
	return &lineWriter{w: bufio.NewWriterSize(w, 64<<10), hash: sum}
}

func (l *lineWriter) write(line []byte) error {
	l.hash.Write(line)
	l.hash.Write([]byte{'\n'})
	if _, err := l.w.Write(line); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	if err := l.w.WriteByte('\n'); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

func (l *lineWriter) sum() string { return hex.EncodeToString(l.hash.Sum(nil)) }

func (l *lineWriter) flush() error {
	if err := l.w.Flush(); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}
