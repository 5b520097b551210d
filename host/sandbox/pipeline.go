package sandbox

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// How much of one exec's output may be between the socket and its reader.
const (
	maxChunks     = 1024
	maxChunkBytes = 4 << 20
)

// pipeline carries the frames of one exec into the ledger, several at a time, and hands each on when
// it is committed, in order. When the ledger is slow, push is slow, and with it the socket.
type pipeline struct {
	x      *Exec
	cancel context.CancelCauseFunc // of the command, when the ledger fails
	// writing is a context that does not end with the caller's: what the sandbox said goes into the
	// ledger even when nobody waits for it any more.
	writing context.Context //nolint:containedctx // lives exactly as long as the exec
	room    *semaphore.Weighted
	chunks  chan chunk
	done    sync.WaitGroup

	// direct is set as long as nothing is recorded and nothing has to be looked through: then text goes
	// from the frame to its reader.
	direct  bool
	scratch []byte

	flows pieces // when there is something to redact
	place place  // where the next text begins, of what can be detached

	mu  sync.Mutex
	err error // the ledger's
}

// chunk is a frame on its way. Its text may be a part of its payload.
type chunk struct {
	ticket *ledger.Ticket // nil when there is nothing to wait for
	size   int64          // of its payload and text, as far as it counts
	text   []byte
	line   bool   // a line end follows the text
	event  *Event // nil unless somebody wants it
	to     *spool // nil for frames that aren't output
}

func (x *Exec) newPipeline(ctx context.Context, cancel context.CancelCauseFunc) *pipeline {
	p := &pipeline{
		x: x, cancel: cancel, writing: context.WithoutCancel(ctx),
		room: semaphore.NewWeighted(maxChunkBytes), chunks: make(chan chunk, maxChunks),
	}
	p.direct = !x.h.c.opts.Ledger.Keeps()
	p.done.Go(p.deliver)
	return p
}

// push takes a frame. After the ledger has failed it does nothing.
func (p *pipeline) push(frame *opensandbox.Frame) {
	if p.failure() != nil {
		return
	}
	if p.redacts() {
		p.clean(frame)
		return
	}
	if p.direct {
		p.pass(frame)
		return
	}
	from, to, plain := frame.TextAt()
	payload, whole := outputPayload(p.x.seq, frame.Raw, from, to)
	c := chunk{to: p.x.spoolOf(frame.Type)}
	size := int64(cap(payload))
	lines := p.x.work.spec.Kind.Lines()
	switch {
	case c.to == nil, from == to:
	case plain && whole:
		// Both end in the same way. Of a text without escapes only the line's end is missing.
		gone := len(frame.Raw) - len(payload)
		c.text = payload[from-gone : to-gone : to-gone]
		c.line = lines
	case lines:
		c.text = appendLine(nil, frame)
		size += int64(cap(c.text))
	default:
		c.text = frame.AppendText(nil)
		size += int64(cap(c.text))
	}
	if p.x.events != nil {
		c.event = &Event{Type: frame.Type, Text: frame.Text(), Raw: slices.Clone(frame.Raw)}
	}
	p.put(c, payload, size)
}

// pass hands a frame's text to its reader.
func (p *pipeline) pass(frame *opensandbox.Frame) {
	if p.x.events != nil {
		p.x.tell(&Event{Type: frame.Type, Text: frame.Text(), Raw: slices.Clone(frame.Raw)})
	}
	to := p.x.spoolOf(frame.Type)
	if to == nil {
		return
	}
	from, end, plain := frame.TextAt()
	switch {
	case from == end:
	case plain:
		to.add(frame.Raw[from:end], p.x.work.spec.Kind.Lines())
	case p.x.work.spec.Kind.Lines():
		p.scratch = appendLine(p.scratch[:0], frame)
		to.write(p.scratch)
	default:
		p.scratch = frame.AppendText(p.scratch[:0])
		to.write(p.scratch)
	}
	if cap(p.scratch) > window {
		p.scratch = nil
	}
}

// text takes output that did not come as a frame, and what it stands for.
func (p *pipeline) text(kind, recorded string, text []byte) {
	if p.failure() != nil {
		return
	}
	if p.redacts() {
		p.cleanPiece(&piece{kind: kind, text: []byte(recorded), place: p.place})
		return
	}
	payload, err := textPayload(p.x.seq, kind, recorded)
	if err != nil {
		p.fail(err)
		return
	}
	c := chunk{to: p.x.spoolOf(kind), text: text}
	if p.x.events != nil {
		c.event = &Event{Type: kind, Text: recorded}
	}
	p.put(c, payload, int64(len(payload)+len(text)))
}

// show sends on what is for its reader alone.
func (p *pipeline) show(c chunk, size int64) {
	p.direct = false // or it would be overtaken
	c.size = min(size, maxChunkBytes)
	if err := p.room.Acquire(p.writing, c.size); err != nil {
		p.fail(err)
		return
	}
	p.chunks <- c
}

// put sends a chunk on its way.
func (p *pipeline) put(c chunk, payload []byte, size int64) {
	p.direct = false
	c.size = min(size, maxChunkBytes)
	// The deliverer gives room back whatever happens, so this ends.
	if err := p.room.Acquire(p.writing, c.size); err != nil {
		p.fail(err)
		return
	}
	var err error
	c.ticket, err = p.x.h.stream.Enqueue(p.writing, ledger.Event{
		Step: p.x.seq, Name: store.EventExecOutput, Payload: payload,
	})
	if err != nil {
		p.room.Release(c.size)
		p.fail(err)
		return
	}
	p.chunks <- c
}

// spoolOf returns where the text of an event goes, nil for nowhere.
func (x *Exec) spoolOf(kind string) *spool {
	switch kind {
	case opensandbox.TypeStdout:
		return x.stdout
	case opensandbox.TypeStderr:
		return x.stderr
	}
	return nil
}

// appendLine appends the text that a frame of a command's output stands for: a line without its end,
// or, when it is nothing but a line end, an empty line. It is ledger.Kind.AppendText for a frame that
// was not made a string.
func appendLine(dst []byte, frame *opensandbox.Frame) []byte {
	before := len(dst)
	dst = frame.AppendText(dst)
	if len(dst) == before || string(dst[before:]) == "\n" {
		return dst
	}
	return append(dst, '\n')
}

func (p *pipeline) deliver() {
	for c := range p.chunks {
		var err error
		if c.ticket != nil {
			err = c.ticket.Wait(p.writing)
		}
		if err != nil {
			p.fail(err)
		} else if p.failure() == nil {
			p.x.tell(c.event)
			if c.to != nil {
				c.to.add(c.text, c.line)
			}
		}
		p.room.Release(c.size)
	}
}

// fail ends the command: nothing more of it can be recorded.
func (p *pipeline) fail(err error) {
	p.mu.Lock()
	if p.err == nil {
		p.err = err
	}
	p.mu.Unlock()
	_ = p.x.h.noted(err) // what matters here is that the handle knows
	p.cancel(err)
}

func (p *pipeline) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// close waits until everything is delivered and returns what the ledger had against it.
func (p *pipeline) close() error {
	p.flush()
	close(p.chunks)
	p.done.Wait()
	return p.failure()
}
