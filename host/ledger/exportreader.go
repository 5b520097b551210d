package ledger

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/alineo-labs/alineo-host/host/store"
)

// Limits of an export that is read.
const (
	maxLine    = 256 << 20 // bytes
	maxSegment = 1 << 20   // entries
)

// LineError says what is wrong with an export, and in which line.
type LineError struct {
	Line int // from 1
	Err  error
}

// Error names the line.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// errTruncated is an export whose end is not there.
var errTruncated = errors.New("the export ends here without its last line: it was truncated")

// record is one line of an export, one of several kinds.
type record struct {
	line int

	entry   *store.Entry // or
	chained bool
	leaf    Hash

	segment     *segmentRecord     // or
	environment *store.Environment // or
	end         *ExportReport
}

// exportReader reads an export line by line, and checks of each line all that can be known by then: its
// form, the order of lines, every hash of every segment, and in the last line the whole.
type exportReader struct {
	r       *bufio.Reader
	number  int
	hash    hash.Hash
	content hash.Hash
	seen    ExportReport
	canon   Canonicalizer
	scratch []byte
	long    []byte

	key      *store.Key // of the sandbox; nil before the first
	last     *int64     // time of its last entry
	previous []byte     // its hash
	leaves   []byte     // of its entries that no segment followed yet
	since    int        // the line of the first of them
	place    *string    // the last environment's name
	ended    bool
}

func newExportReader(r io.Reader) *exportReader {
	content, sum := sha256.New(), sha256.New()
	return &exportReader{r: bufio.NewReaderSize(r, 64<<10), hash: sum, content: content}
}

// read returns the next line without its end. It is good until the next call.
func (x *exportReader) read() ([]byte, error) {
	x.number++
	x.long = x.long[:0]
	for {
		part, err := x.r.ReadSlice('\n')
		switch {
		case err == nil && len(x.long) == 0:
			return part[:len(part)-1], nil
		case err == nil:
			x.long = append(x.long, part...)
			return x.long[:len(x.long)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
			if x.long = append(x.long, part...); len(x.long) > maxLine {
				return nil, fmt.Errorf("it has more than %d bytes", maxLine)
			}
		case errors.Is(err, io.EOF) && (len(part) > 0 || len(x.long) > 0):
			return nil, errors.New("it is not complete: the export was truncated")
		default:
			return nil, err
		}
	}
}

// next returns the next record; the one with end is the last.
func (x *exportReader) next() (*record, error) {
	for {
		rec, err := x.step()
		if err != nil {
			if _, located := errors.AsType[*LineError](err); !located {
				err = &LineError{Line: x.number, Err: err}
			}
			return nil, err
		}
		if rec != nil {
			return rec, nil
		}
	}
}

func (x *exportReader) step() (*record, error) {
	line, err := x.read()
	switch {
	case errors.Is(err, io.EOF) && x.ended:
		return &record{end: &x.seen, line: x.number}, nil
	case errors.Is(err, io.EOF) && x.number == 1:
		return nil, errors.New("the export is empty")
	case errors.Is(err, io.EOF):
		return nil, errTruncated
	case err != nil:
		return nil, err
	case x.ended:
		return nil, errors.New("there is something behind the end of the export")
	case x.number == 1:
		err = x.header(line)
		x.sum(line)
		return nil, err
	}
	kind, inner, err := openRecord(line)
	if err != nil {
		return nil, err
	}
	rec := &record{line: x.number}
	switch kind {
	case "segment":
		segment, err := parseSegment(line, inner)
		if err != nil {
			return nil, err
		}
		rec.segment = &segment
		err = x.segment(&segment)
		x.sum(line)
		return rec, err
	case "environment":
		env, err := parseEnvironment(line, inner)
		if err != nil {
			return nil, err
		}
		rec.environment = &env
		err = x.environment(&env)
		x.sum(line)
		return rec, err
	case "end":
		return nil, x.end(line, inner)
	case "unchained":
		if !bytes.Equal(line[:len(`{"unchained":`)], []byte(`{"unchained":`)) || len(line) != len(`{"unchained":`)+len(inner)+1 {
			return nil, errForm
		}
	default:
		inner, rec.chained = line, true
	}
	err = x.entry(rec, inner)
	x.sum(line)
	return rec, err
}

func (x *exportReader) sum(line []byte) {
	x.hash.Write(line)
	x.hash.Write([]byte{'\n'})
}

func (x *exportReader) header(line []byte) error {
	_, _, err := openRecord(line)
	var f fields
	if err == nil {
		f, err = openFields(line)
	}
	if err != nil || f.text("format") != ExportFormat {
		return fmt.Errorf("this is no export of a ledger: it does not begin with {\"format\":%q,…}", ExportFormat)
	}
	if want := fmt.Sprintf(`{"format":%q,"v":%d}`, ExportFormat, ExportVersion); string(line) != want {
		return fmt.Errorf("this export is of version %s, this program knows %d", f["v"], ExportVersion)
	}
	return nil
}

// enter goes on to a sandbox, if it is another one.
func (x *exportReader) enter(key store.Key) error {
	if x.place != nil {
		return errors.New("a sandbox comes behind the environments")
	}
	if x.key != nil {
		switch c := compareKeys(*x.key, key); {
		case c == 0:
			return nil
		case c > 0:
			return fmt.Errorf("sandbox %s comes behind %s: the lines are not in their order", key, *x.key)
		}
	}
	if err := x.leave(); err != nil {
		return err
	}
	x.seen.Sandboxes++
	x.key, x.last, x.previous = &key, nil, nil
	return nil
}

// leave ends a sandbox.
func (x *exportReader) leave() error {
	if len(x.leaves) > 0 {
		return &LineError{Line: x.since, Err: errors.New("no segment follows this entry: lines were deleted or changed")}
	}
	return nil
}

func (x *exportReader) entry(rec *record, form []byte) error {
	e, scratch, err := x.canon.parseForm(form, x.scratch)
	if x.scratch = scratch; cap(x.scratch) > maxScratch {
		x.scratch, x.long, x.canon = nil, nil, Canonicalizer{}
	}
	if err != nil {
		return err
	}
	if err := x.enter(store.Key{Name: e.Name, SandboxID: e.SandboxID}); err != nil {
		return err
	}
	if x.last != nil && e.TS < *x.last {
		return errors.New("the entry is older than the one before it: the lines are not in their order")
	}
	x.last = &e.TS
	x.seen.Entries++
	x.content.Write(form)
	x.content.Write([]byte{'\n'})
	rec.entry, rec.leaf = &e, sha256.Sum256(form)
	if !rec.chained {
		x.seen.Unchained++
		return nil
	}
	if len(x.leaves) == 0 {
		x.since = x.number
	}
	if len(x.leaves) >= maxSegment*len(Hash{}) {
		return fmt.Errorf("no segment follows the last %d entries", maxSegment)
	}
	x.leaves = append(x.leaves, rec.leaf[:]...)
	return nil
}

func (x *exportReader) segment(s *segmentRecord) error {
	if err := x.enter(s.key); err != nil {
		return err
	}
	x.seen.Segments++
	if s.broken {
		x.seen.Broken++
	} else {
		n := uint64(len(x.leaves) / len(Hash{}))
		switch {
		case n == 0:
			return errors.New("the segment has no entries")
		case n != s.entries:
			return fmt.Errorf("the segment says that %d entries are before it, and there are %d: lines were deleted, added or changed", s.entries, n)
		case !bytes.Equal(s.previous, x.previous):
			return errors.New("the segment does not follow the one before it: lines were deleted or changed")
		case SegmentHash(s.previous, s.id, x.leaves) != s.hash:
			return fmt.Errorf("the segment's hash is not that of its entries, lines %d to %d: one of them was changed", x.since, x.number-1)
		}
	}
	x.previous, x.leaves = bytes.Clone(s.hash[:]), x.leaves[:0]
	return nil
}

func (x *exportReader) environment(e *store.Environment) error {
	if err := x.leave(); err != nil {
		return err
	}
	if x.place != nil && *x.place >= e.Name {
		return fmt.Errorf("environment %q comes behind %q: the lines are not in their order", e.Name, *x.place)
	}
	x.place = &e.Name
	x.seen.Environments++
	return nil
}

func (x *exportReader) end(line, inner []byte) error {
	said, err := parseEnd(line, inner)
	if err != nil {
		return err
	}
	if err := x.leave(); err != nil {
		return err
	}
	x.seen.SHA256, x.seen.Content = hex.EncodeToString(x.hash.Sum(nil)), hex.EncodeToString(x.content.Sum(nil))
	if !bytes.Equal(appendEnd(nil, &x.seen), line) {
		return fmt.Errorf("the export is not what it was: it ended with %d entries of %d sandboxes and hash %.12s…, it has %d of %d and %.12s…",
			said.Entries, said.Sandboxes, said.SHA256, x.seen.Entries, x.seen.Sandboxes, x.seen.SHA256)
	}
	x.ended = true
	return nil
}

// CheckExport reads an export to its end and checks all of it; an error is a *LineError, or that of the
// reader. It says what is in it.
func CheckExport(r io.Reader) (*ExportReport, error) {
	x := newExportReader(r)
	for {
		rec, err := x.next()
		if err != nil {
			return nil, fmt.Errorf("reading an export: %w", err)
		}
		if rec.end != nil {
			return rec.end, nil
		}
	}
}
