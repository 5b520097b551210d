package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// piece is output on its way through a flow.
type piece struct {
	kind  string
	raw   []byte // the frame, nil when it came in another form
	text  []byte // as it came
	shown bool   // its reader has it already
	place place  // where it begins, of what can be detached
}

// pieces are the flows of one exec's output. Values are not looked for across its two streams, and
// what one holds back does not hold up the other.
type pieces struct{ stdout, stderr *credential.Flow[*piece] }

// redacts reports whether values have to be taken out of what comes.
func (p *pipeline) redacts() bool {
	return p.x.h.c.redacts() || p.x.h.c.opts.Ledger.Redacts() && (p.flows.stdout != nil && !p.flows.stdout.Idle() || p.flows.stderr != nil && !p.flows.stderr.Idle())
}

// redacts reports whether there are values that may not be recorded.
func (c *Client) redacts() bool { return c.opts.Ledger.Redacts() && c.redactor().Active() }

// flow returns the flow of a stream.
func (p *pipeline) flow(kind string) *credential.Flow[*piece] {
	flow := &p.flows.stdout
	if kind == opensandbox.TypeStderr {
		flow = &p.flows.stderr
	}
	if *flow == nil {
		*flow = credential.NewFlow[*piece](p.x.h.c.redactor())
	}
	return *flow
}

// clean takes a frame and sends it on its way without values.
func (p *pipeline) clean(frame *opensandbox.Frame) {
	raw := slices.Clone(frame.Raw)
	if p.x.spoolOf(frame.Type) != nil {
		p.cleanPiece(&piece{kind: frame.Type, raw: raw, text: frame.AppendText(nil)})
		return
	}
	var c chunk
	if p.x.events != nil {
		c.event = p.event(frame.Type, frame.Text(), raw)
	}
	payload := framePayload(p.x.seq, p.x.h.c.redactor().JSON(raw, true))
	p.put(c, payload, int64(len(payload)))
}

// event is what the reader of events gets of a frame that is no output.
func (p *pipeline) event(kind, text string, raw []byte) *Event {
	if p.x.h.c.opts.LiveSecrets {
		return &Event{Type: kind, Text: text, Raw: raw}
	}
	r := p.x.h.c.redactor()
	return &Event{Type: kind, Text: r.Text(text), Raw: r.JSON(raw, true)}
}

// cleanPiece sends output on its way, or holds it back. A terminal's is shown at once.
func (p *pipeline) cleanPiece(item *piece) {
	now, held := p.flow(item.kind).Push(item, item.text, p.release)
	if !held || p.x.work.spec.Kind != ledger.KindInteractive || item.shown {
		return
	}
	item.shown = true
	c := p.output(item, now, false)
	p.show(c, int64(len(c.text)))
}

// release sends on what need not stay back any more.
func (p *pipeline) release(item *piece, text []byte, changed bool) {
	if p.failure() != nil {
		return
	}
	if changed && len(text) == 0 && item.raw == nil {
		// There is nothing left of it to be recorded.
		if c := p.output(item, text, changed); !item.shown && len(c.text) > 0 {
			p.show(c, int64(len(c.text)))
		}
		return
	}
	var payload []byte
	var err error
	switch {
	case item.raw == nil:
		payload, err = textPayload(p.x.seq, item.kind, string(text))
	case changed:
		var raw []byte
		raw, err = withText(item.raw, string(text))
		payload = framePayload(p.x.seq, raw)
	default:
		payload = framePayload(p.x.seq, item.raw)
	}
	if err != nil {
		p.fail(err)
		return
	}
	var c chunk
	if !item.shown {
		item.shown = true
		c = p.output(item, text, changed)
	}
	p.put(c, payload, int64(len(payload)+len(c.text)))
}

// output is what readers get of a piece.
func (p *pipeline) output(item *piece, text []byte, changed bool) chunk {
	raw := item.raw
	switch {
	case p.x.h.c.opts.LiveSecrets:
		text = item.text
	case raw != nil && changed:
		// It was written a moment ago, so it can be written again.
		raw, _ = withText(raw, string(text))
	}
	c := chunk{to: p.x.spoolOf(item.kind), text: text}
	if p.x.work.spec.Kind.Lines() {
		c.text = p.x.work.spec.Kind.AppendText(nil, string(text))
	}
	if p.x.events != nil {
		c.event = p.event(item.kind, string(text), raw)
		if item.raw == nil {
			c.event.Raw = nil
		}
	}
	return c
}

// flush sends on what is held back: no more comes.
func (p *pipeline) flush() {
	for _, flow := range [...]*credential.Flow[*piece]{p.flows.stdout, p.flows.stderr} {
		if flow != nil {
			flow.Flush(p.release)
		}
	}
}

// withText is a frame with another text.
func withText(frame []byte, text string) ([]byte, error) {
	value, err := encode(text)
	if err != nil {
		return nil, err
	}
	return rewrite(frame, func(name string, old json.RawMessage) (json.RawMessage, bool) {
		if name == "text" {
			return value, true
		}
		return old, true
	})
}

// rewrite is a JSON object with other values, or without some members. What is no object comes back as
// it is.
func rewrite(object []byte, change func(name string, value json.RawMessage) (json.RawMessage, bool)) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.Token(); err != nil {
		return object, nil //nolint:nilerr // as it is
	}
	out := []byte{'{'}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return object, nil //nolint:nilerr // as it is
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return object, nil //nolint:nilerr // as it is
		}
		text, _ := key.(string)
		value, keep := change(text, value)
		if !keep {
			continue
		}
		name, err := encode(key)
		if err != nil {
			return nil, err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}'), nil
}

// fail says what was done to which sandbox when an error came up, without known values.
func (c *Client) fail(op, sandboxID string, err error) error {
	return &Error{Op: c.redactor().Text(op), SandboxID: sandboxID, Err: c.redactor().Error(err)}
}

// redacted is what may be shown of a text.
func (h *Handle) redacted(text string) string { return h.c.redactor().Text(text) }

// redactedException is what may be shown of what code ended with.
func (h *Handle) redactedException(e *Exception) *Exception {
	if h.c.opts.LiveSecrets {
		return e
	}
	clean := &Exception{Name: h.redacted(e.Name), Value: h.redacted(e.Value)}
	for _, line := range e.Traceback {
		clean.Traceback = append(clean.Traceback, h.redacted(line))
	}
	return clean
}

// sameCommand reports whether a command is the one that is recorded, which may have lost values of
// credentials that nobody knows any more.
func sameCommand(recorded, asked string) bool {
	first, rest, cut := strings.Cut(recorded, credential.Redacted)
	if !cut {
		return recorded == asked
	}
	if !strings.HasPrefix(asked, first) {
		return false
	}
	asked = asked[len(first):]
	for {
		part, more, cut := strings.Cut(rest, credential.Redacted)
		if !cut {
			return strings.HasSuffix(asked, rest)
		}
		at := strings.Index(asked, part)
		if at < 0 {
			return false
		}
		asked, rest = asked[at+len(part):], more
	}
}

// mayRecord refuses what readers of the ledger go by, when a known value in it would have to be taken
// out.
func (c *Client) mayRecord(what string, payload any) error {
	if !c.opts.Ledger.Redacts() || !c.redactor().Active() {
		return nil
	}
	raw, err := encode(payload)
	if err != nil {
		return err
	}
	if !bytes.Equal(c.redactor().JSON(raw, true), raw) {
		return fmt.Errorf("%w: %s has the value of a credential in it", ErrInvalid, what)
	}
	return nil
}
