package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/host/store"
)

// The members of an exported entry that hold what has no canonical form.
const (
	payloadText = "payloadText" // a payload that is not I-JSON, as text
	inBase64    = "Base64"      // ends the name of a member whose bytes are not UTF-8
)

// appendForm appends an entry as exports hold it: its canonical form where it has one. Somebody else's
// row may have none; it keeps every byte then, in members of other names: payloadText is a payload that
// is not I-JSON, and what is not UTF-8 stands in base64 (eventBase64, nameBase64 …).
func (c *Canonicalizer) appendForm(dst []byte, e *store.Entry) []byte {
	start := len(dst)
	dst, err := c.AppendEntry(dst, e)
	if err == nil {
		return dst
	}
	dst = append(dst[:start], '{')
	if e.Branch != nil {
		dst = append(dst, `"branch":`...)
		dst = append(strconv.AppendInt(dst, *e.Branch, 10), ',')
	}
	if e.Error != nil {
		dst = append(appendBytes(dst, "error", []byte(*e.Error)), ',')
	}
	dst = append(appendBytes(dst, "event", []byte(e.Event)), ',')
	dst = append(appendBytes(dst, "name", []byte(e.Name)), ',')
	if e.Payload != nil {
		dst = append(c.appendPayload(dst, e.Payload), ',')
	}
	dst = appendBytes(dst, "sandboxId", []byte(e.SandboxID))
	dst = append(dst, `,"stepIndex":`...)
	dst = strconv.AppendInt(dst, e.StepIndex, 10)
	dst = append(dst, `,"ts":`...)
	dst = strconv.AppendInt(dst, e.TS, 10)
	return append(dst, `,"v":1}`...)
}

// appendPayload appends the member that holds a payload.
func (c *Canonicalizer) appendPayload(dst []byte, payload json.RawMessage) []byte {
	start := len(dst)
	dst = append(dst, `"payload":`...)
	dst, err := c.AppendJSON(dst, payload)
	if err == nil {
		return dst
	}
	dst = dst[:start]
	if !utf8.Valid(payload) {
		return appendBytes(dst, "payload", payload)
	}
	return appendBytes(dst, payloadText, payload)
}

// appendBytes appends a member that is text, or bytes in base64 under another name.
func appendBytes(dst []byte, name string, value []byte) []byte {
	dst = append(append(dst, '"'), name...)
	if utf8.Valid(value) {
		return appendString(append(dst, `":`...), string(value))
	}
	dst = append(append(dst, inBase64...), `":"`...)
	return append(base64.StdEncoding.AppendEncode(dst, value), '"')
}

// formLeaf is Leaf for any entry: the hash of its form in an export.
func (c *Canonicalizer) formLeaf(e *store.Entry, scratch []byte) (Hash, []byte) {
	scratch = c.appendForm(scratch[:0], e)
	return sha256.Sum256(scratch), scratch
}

var errForm = errors.New("this is not the form that an export gives an entry")

// parseForm reads what appendForm wrote, and nothing else. The entry keeps nothing of form.
func (c *Canonicalizer) parseForm(form, scratch []byte) (store.Entry, []byte, error) {
	var e store.Entry
	o, err := openObject(form)
	if err != nil {
		return e, scratch, errForm
	}
	for name, value := range o.members() {
		if err := setMember(&e, name, value); err != nil {
			return e, scratch, err
		}
	}
	// There is one way to write an entry, so writing it again checks everything.
	if scratch = c.appendForm(scratch[:0], &e); !bytes.Equal(scratch, form) {
		return e, scratch, errForm
	}
	return e, scratch, nil
}

func setMember(e *store.Entry, name string, value []byte) error {
	plain, coded := name, false
	if len(name) > len(inBase64) && name[len(name)-len(inBase64):] == inBase64 {
		plain, coded = name[:len(name)-len(inBase64)], true
	}
	read := func() string { return text(value) }
	if coded {
		decoded, err := base64.StdEncoding.DecodeString(text(value))
		if err != nil {
			return fmt.Errorf("%q is not base64", name)
		}
		read = func() string { return string(decoded) }
	}
	switch plain {
	case "event":
		e.Event = read()
	case "name":
		e.Name = read()
	case "sandboxId":
		e.SandboxID = read()
	case "error":
		s := read()
		e.Error = &s
	case "payload":
		if coded {
			e.Payload = json.RawMessage(read())
		} else {
			e.Payload = bytes.Clone(value)
		}
	case payloadText:
		e.Payload = append(json.RawMessage{}, text(value)...) // which may be empty, and is not null then
	case "branch":
		n, err := wholeNumber(name, value)
		e.Branch = &n
		return err
	case "stepIndex":
		n, err := wholeNumber(name, value)
		e.StepIndex = n
		return err
	case "ts":
		n, err := wholeNumber(name, value)
		e.TS = n
		return err
	}
	return nil
}

func wholeNumber(name string, value []byte) (int64, error) {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no whole number of 64 bits", name)
	}
	return n, nil
}
