package ledger

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/alineo-labs/alineo-host/host/store"
)

// segmentRecord is the line behind the entries of a segment.
type segmentRecord struct {
	key      store.Key
	id       [16]byte
	previous []byte // nil for the first
	hash     Hash
	entries  uint64
	broken   bool // not all of its entries are there as they were written
}

func (s *segmentRecord) append(dst []byte) []byte {
	dst = append(dst, `{"segment":{`...)
	if s.broken {
		dst = append(dst, `"broken":true,`...)
	}
	dst = append(strconv.AppendUint(append(dst, `"entries":`...), s.entries, 10), `,"hash":"`...)
	dst = append(hex.AppendEncode(dst, s.hash[:]), `","id":"`...)
	dst = append(hex.AppendEncode(dst, s.id[:]), `",`...)
	dst = append(appendBytes(dst, "name", []byte(s.key.Name)), ',')
	if len(s.previous) > 0 {
		dst = append(hex.AppendEncode(append(dst, `"previous":"`...), s.previous), `",`...)
	}
	return append(appendBytes(dst, "sandboxId", []byte(s.key.SandboxID)), `}}`...)
}

func appendEnvironment(dst []byte, e *store.Environment) []byte {
	dst = strconv.AppendInt(append(dst, `{"environment":{"builtAt":`...), e.BuiltAt, 10)
	dst = appendBytes(append(dst, ','), "image", []byte(e.Image))
	dst = appendBytes(append(dst, ','), "name", []byte(e.Name))
	dst = appendBytes(append(dst, ','), "snapshotId", []byte(e.SnapshotID))
	return append(dst, `}}`...)
}

func appendEnd(dst []byte, r *ExportReport) []byte {
	number := func(name string, n uint64) {
		dst = append(append(append(dst, '"'), name...), `":`...)
		dst = append(strconv.AppendUint(dst, n, 10), ',')
	}
	dst = append(dst, `{"end":{`...)
	number("broken", r.Broken)
	dst = append(append(append(dst, `"content":"`...), r.Content...), `",`...)
	number("entries", r.Entries)
	number("environments", r.Environments)
	number("sandboxes", r.Sandboxes)
	number("segments", r.Segments)
	dst = append(append(append(dst, `"sha256":"`...), r.SHA256...), `",`...)
	number("unchained", r.Unchained)
	dst[len(dst)-1] = '}'
	return append(dst, '}')
}

var errLine = errors.New("no line of an export looks like this")

// fields are the members of a record, of which each may be asked for once. What is wrong shows when the
// record is written again and differs, so reading is lenient.
type fields map[string][]byte

// openRecord reads a line that is an object with one member, such as {"segment":{…}}.
func openRecord(line []byte) (kind string, inner []byte, err error) {
	o, err := openObject(line)
	if err != nil {
		return "", nil, errLine
	}
	for name, value := range o.members() {
		return name, value, nil
	}
	return "", nil, errLine
}

func openFields(inner []byte) (fields, error) {
	o, err := openObject(inner)
	if err != nil {
		return nil, errLine
	}
	f := fields{}
	maps.Insert(f, o.members())
	return f, nil
}

func (f fields) text(name string) string {
	if value, ok := f[name+inBase64]; ok {
		decoded, err := base64.StdEncoding.DecodeString(text(value))
		if err != nil {
			return ""
		}
		return string(decoded)
	}
	if value, ok := f[name]; ok {
		return text(value)
	}
	return ""
}

func (f fields) count(name string) uint64 {
	n, err := strconv.ParseUint(string(f[name]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (f fields) hex(name string) []byte {
	b, err := hex.DecodeString(f.text(name))
	if err != nil {
		return nil
	}
	return b
}

func parseSegment(line, inner []byte) (segmentRecord, error) {
	var s segmentRecord
	f, err := openFields(inner)
	if err != nil {
		return s, err
	}
	s.key = store.Key{Name: strings.Clone(f.text("name")), SandboxID: strings.Clone(f.text("sandboxId"))}
	s.entries, s.broken = f.count("entries"), string(f["broken"]) == "true"
	s.previous = f.hex("previous")
	copy(s.id[:], f.hex("id"))
	copy(s.hash[:], f.hex("hash"))
	if len(s.previous) != 0 && len(s.previous) != len(Hash{}) {
		return s, fmt.Errorf("the hash before the segment has %d bytes", len(s.previous))
	}
	if !bytes.Equal(s.append(nil), line) {
		return s, errors.New("this is not how an export writes a segment")
	}
	return s, nil
}

func parseEnvironment(line, inner []byte) (store.Environment, error) {
	var e store.Environment
	f, err := openFields(inner)
	if err != nil {
		return e, err
	}
	e = store.Environment{Name: f.text("name"), SnapshotID: f.text("snapshotId"), Image: f.text("image")}
	if n, err := strconv.ParseInt(string(f["builtAt"]), 10, 64); err == nil {
		e.BuiltAt = n
	}
	if !bytes.Equal(appendEnvironment(nil, &e), line) {
		return e, errors.New("this is not how an export writes an environment")
	}
	return e, nil
}

func parseEnd(line, inner []byte) (*ExportReport, error) {
	f, err := openFields(inner)
	if err != nil {
		return nil, err
	}
	r := &ExportReport{
		Broken: f.count("broken"), Content: f.text("content"), Entries: f.count("entries"), Environments: f.count("environments"),
		Sandboxes: f.count("sandboxes"), Segments: f.count("segments"), SHA256: f.text("sha256"), Unchained: f.count("unchained"),
	}
	if !bytes.Equal(appendEnd(nil, r), line) {
		return nil, errors.New("this is not how an export ends")
	}
	return r, nil
}
