package alineo

import (
	"errors"

	"github.com/alineo-labs/alineo-host/abi"
)

// guest is this module instance. A guest has exactly one, and the functions that the host calls have
// no receiver to hand it over with.
var guest instance

// Buffers start this large and are given back after a call that needed more than keepBuffer, bytes.
const (
	firstBuffer = 4 << 10
	keepBuffer  = 1 << 20
)

// instance is the state of a guest: its plugin and the buffers that are used again for every call.
// It serves one call at a time.
type instance struct {
	platform // the host's functions

	plugin   Plugin
	served   bool                    // plugin is set
	in       []byte                  // request of the host
	out      []byte                  // response frame to the host
	request  []byte                  // to the host
	answers  arena                   // responses of the host during this call
	envelope abi.Request             // of this call
	append   abi.LedgerAppendRequest // of the last append
}

// buffer returns where the host writes its next request of size bytes. It is as large as asked, and
// its address changes only when it has to grow.
func (g *instance) buffer(size uint32) []byte {
	switch {
	case uint64(cap(g.in)) < uint64(size),
		cap(g.in) > keepBuffer && size <= keepBuffer: // after a large request
		g.in = make([]byte, max(size, firstBuffer))
	}
	g.in = g.in[:cap(g.in)]
	return g.in
}

// call answers the request in the first size bytes of the buffer. The frame is valid until the next
// call.
func (g *instance) call(op abi.Op, size uint32) (frame []byte) {
	g.trim()
	if uint64(size) > uint64(len(g.in)) {
		return g.fail(&abi.Error{Code: abi.CodeInvalid, Message: "the request is longer than the buffer"})
	}
	if err := g.envelope.Unmarshal(g.in[:size]); err != nil {
		return g.fail(invalid(err))
	}
	if op == abi.OpEcho {
		g.out = append(append(g.out[:0], abi.FrameOK), g.envelope.Body...)
		return g.out
	}
	return g.guarded(op)
}

// guarded runs the plugin's own code, whose panics it answers for.
func (g *instance) guarded(op abi.Op) (frame []byte) {
	defer func() {
		if p := recover(); p != nil {
			frame = g.fail(&abi.Error{Code: abi.CodeInternal, Message: "panic in " + op.String() + ": " + panicText(p)})
		}
	}()
	if !g.served {
		return g.fail(&abi.Error{Code: abi.CodeInternal, Message: "the plugin did not call alineo.Serve in an init function"})
	}
	return g.dispatch(op, g.envelope.Body)
}

// trim makes the buffers ready for the next call and gives back those that a large one has grown.
func (g *instance) trim() {
	g.answers.reset()
	if cap(g.out) > keepBuffer {
		g.out = nil
	}
	if cap(g.request) > keepBuffer {
		g.request = nil
	}
}

// ok frames a reply.
func (g *instance) ok(m abi.Message) []byte {
	g.out = abi.AppendOK(g.out[:0], m)
	return g.out
}

// fail frames an error.
func (g *instance) fail(err error) []byte {
	g.out = abi.AppendError(g.out[:0], asError(err))
	return g.out
}

// asError finds the *abi.Error in err and keeps the words around it.
func asError(err error) *abi.Error {
	var e *abi.Error
	if !errors.As(err, &e) || e == nil {
		return &abi.Error{Code: abi.CodeInternal, Message: err.Error()}
	}
	if err == error(e) { //nolint:errorlint // whether something is wrapped around it is the question
		return e
	}
	wrapped := *e
	wrapped.Message = err.Error()
	return &wrapped
}

// invalid is the error for a request that can't be read.
func invalid(err error) *abi.Error {
	return &abi.Error{Code: abi.CodeInvalid, Message: err.Error()}
}

func panicText(p any) string {
	switch p := p.(type) {
	case error:
		return p.Error()
	case string:
		return p
	default:
		return "a value that is neither an error nor a string"
	}
}

// arena holds the host's responses of one call, so that all of them stay good until its end without
// an allocation each.
type arena struct {
	block []byte
}

// take returns n bytes.
func (a *arena) take(n int) []byte {
	if free := cap(a.block) - len(a.block); n > free {
		// What was taken before stays alive through its own views.
		a.block = make([]byte, 0, max(n, min(2*cap(a.block), keepBuffer), firstBuffer))
	}
	start := len(a.block)
	a.block = a.block[:start+n]
	return a.block[start : start+n : start+n]
}

// mark says how much was taken.
func (a *arena) mark() int { return len(a.block) }

// release gives back what was taken between the marks start and end, unless more was taken since. When
// a new block was begun in between, what lies before start in it is of no use to anybody.
func (a *arena) release(start, end int) {
	if len(a.block) == end && start <= end {
		a.block = a.block[:start]
	}
}

func (a *arena) reset() {
	if cap(a.block) > keepBuffer {
		a.block = nil
	}
	a.block = a.block[:0]
}
