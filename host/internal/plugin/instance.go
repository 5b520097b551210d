package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/span"
)

// keepBuffer is how large a scratch buffer may be kept between calls, bytes.
const keepBuffer = 1 << 20

// instance is one guest: a memory and what runs in it, one call at a time.
type instance struct {
	plugin *Plugin
	module api.Module
	memory api.Memory
	buffer api.Function
	entry  api.Function
	stdout stream
	stderr stream

	running  *callContext // while the guest runs
	spare    *callContext // the last call's, when nobody else can have it
	response []byte       // of the last capability call
	pending  bool         // it was not taken yet
	body     []byte       // scratch
	frame    []byte       // scratch
	stack    [2]uint64    // parameters and results of the guest's functions
	pages    uint32       // of memory, after the last call
	request  uint32       // where the guest's request buffer is, and its size, 0 before it was asked for
	room     uint32
}

// start makes an instance and runs its start functions. The deadline is counted from began.
func (p *Plugin) start(ctx context.Context, began time.Duration) (*instance, *Error) {
	i := &instance{plugin: p}
	i.stdout = stream{inst: i, level: hclog.Info}
	i.stderr = stream{inst: i, level: hclog.Warn}
	c := i.enter(ctx, 0, began, p.limits.StartDeadline)
	defer i.leave(c)
	var memory experimental.LinearMemory
	allocating := experimental.WithMemoryAllocator(c, experimental.MemoryAllocatorFunc(func(_, limit uint64) experimental.LinearMemory {
		memory = allocateMemory(limit)
		return memory
	}))
	module, err := p.engine.wazero.InstantiateModule(allocating, p.engine.compiled, i.moduleConfig())
	if err != nil {
		if memory != nil {
			memory.Free() // the engine does not, when the start function fails
		}
		return nil, i.failed(c, KindStart, startFunction, err)
	}
	i.module = module
	i.memory = module.Memory()
	i.buffer = module.ExportedFunction(abi.ExportBuffer)
	i.entry = module.ExportedFunction(abi.ExportCall)
	if initialize := module.ExportedFunction(abi.ExportInitialize); initialize != nil {
		if err := initialize.CallWithStack(c, nil); err != nil {
			failure := i.failed(c, KindStart, abi.ExportInitialize, err)
			i.destroy()
			return nil, failure
		}
	}
	return i, nil
}

// enter begins a trip into the guest.
func (i *instance) enter(ctx context.Context, op abi.Op, began, limit time.Duration) *callContext {
	c := i.spare
	if c == nil {
		c = new(callContext)
	}
	i.spare = nil
	c.reset(ctx, i, op, began, limit)
	i.running = c
	return c
}

// leave ends it, and counts.
func (i *instance) leave(c *callContext) {
	i.running = nil
	c.end()
	if c.fuel != 0 {
		i.plugin.fuel.Add(uint64(c.fuel))
	}
	i.measure()
	if !c.lent {
		c.parent, c.call = nil, nil
		i.spare = c
	}
}

// measure keeps the books on memory, which only ever grows.
func (i *instance) measure() {
	if i.memory == nil {
		return
	}
	if pages := i.memory.Size() >> 16; pages != i.pages {
		i.plugin.pages.Add(int64(pages) - int64(i.pages))
		i.pages = pages
		for {
			high := i.plugin.highPages.Load()
			if pages <= high || i.plugin.highPages.CompareAndSwap(high, pages) {
				break
			}
		}
	}
}

// do makes one call. When the error's Sent is true and its Kind is not KindGuest, the instance is
// broken. A reply holds memory of its own, not the guest's.
func (i *instance) do(ctx context.Context, op abi.Op, req abi.Message, call *capability.Call, reply abi.Message,
	began, limit time.Duration,
) *Error {
	c := i.enter(ctx, op, began, limit)
	defer i.leave(c)
	c.call = call
	if failure := i.encode(c, req); failure != nil {
		return failure
	}
	frame, failure := i.exchange(c)
	if failure != nil {
		return failure
	}
	if len(frame) == 1 && frame[0] == abi.FrameOK && reply == nil {
		return nil
	}
	if body, err := abi.ParseFrame(bytes.Clone(frame)); err != nil {
		return i.answer(c, err)
	} else if reply != nil {
		if err := reply.Unmarshal(body); err != nil {
			return i.plugin.fail(op, KindProtocol, true, fmt.Errorf("the guest's reply of %d bytes: %w", len(body), err))
		}
	}
	return nil
}

// answer turns a frame that is no reply into an error: the guest's own, or that it is garbage.
func (i *instance) answer(c *callContext, err error) *Error {
	if guest, ok := errors.AsType[*abi.Error](err); ok && !errors.Is(err, abi.ErrFrame) {
		tidy(guest)
		return i.plugin.fail(c.op, KindGuest, true, guest)
	}
	return i.plugin.fail(c.op, KindProtocol, true, fmt.Errorf("the guest's response: %w", err))
}

// encode leaves the request in i.frame. The guest is told how much time there is in milliseconds.
func (i *instance) encode(c *callContext, req abi.Message) *Error {
	p := i.plugin
	envelope := abi.Request{CallID: p.runtime.calls.Add(1), DeadlineMS: uint64(max(c.left().Milliseconds(), 1))}
	if p.runtime.tracer != nil {
		envelope.Traceparent = span.Traceparent(c.parent)
	}
	if req != nil {
		i.body = req.AppendTo(i.body[:0])
		envelope.Body = i.body
	}
	i.frame = envelope.AppendTo(i.frame[:0])
	size := len(i.frame)
	if int64(size) > p.limits.MaxRequest {
		i.body, i.frame = nil, nil
		return p.fail(c.op, KindTooLarge, false,
			fmt.Errorf("the request has %d bytes, limits.max_request allows %d", size, p.limits.MaxRequest))
	}
	return nil
}

// exchange hands i.frame to the guest and returns its response frame, a view of its memory.
func (i *instance) exchange(c *callContext) ([]byte, *Error) {
	p := i.plugin
	i.response, i.pending = i.response[:0], false
	size := uint32(len(i.frame))
	ptr, failure := i.requestBuffer(c, size)
	if failure != nil {
		return nil, failure
	}
	if !i.memory.Write(ptr, i.frame) {
		return nil, p.fail(c.op, KindProtocol, true, outside("request buffer", ptr, size, i.memory))
	}
	if cap(i.frame) > keepBuffer || cap(i.body) > keepBuffer {
		i.frame, i.body = nil, nil
	}
	i.stack[0], i.stack[1] = uint64(c.op), uint64(size)
	if err := i.entry.CallWithStack(c, i.stack[:2]); err != nil {
		return nil, i.failed(c, KindTrap, abi.ExportCall, err)
	}
	ptr, size = uint32(i.stack[0]>>32), uint32(i.stack[0])
	if int64(size) > p.limits.MaxResponse {
		return nil, p.fail(c.op, KindTooLarge, true,
			fmt.Errorf("the response has %d bytes, limits.max_response allows %d", size, p.limits.MaxResponse))
	}
	frame, ok := i.memory.Read(ptr, size)
	if !ok {
		return nil, p.fail(c.op, KindProtocol, true, outside("response", ptr, size, i.memory))
	}
	return frame, nil
}

// keepRequest is the largest request buffer that is used again without asking the guest, bytes. One that
// had to grow for a larger request is asked for each time, so that the guest can give it back.
const keepRequest = 64 << 10

// requestBuffer returns where the guest wants its request. A trip into the guest takes about a
// microsecond, so it is asked when the last buffer is too small.
func (i *instance) requestBuffer(c *callContext, size uint32) (uint32, *Error) {
	if size <= i.room && i.room <= keepRequest {
		return i.request, nil
	}
	i.stack[0] = uint64(size)
	if err := i.buffer.CallWithStack(c, i.stack[:1]); err != nil {
		return 0, i.failed(c, KindTrap, abi.ExportBuffer, err)
	}
	i.request, i.room = uint32(i.stack[0]), size
	if i.request == 0 {
		return 0, i.plugin.fail(c.op, KindProtocol, true, fmt.Errorf("%s returned no buffer for %d bytes", abi.ExportBuffer, size))
	}
	return i.request, nil
}

// startFunction is where a guest crashes whose module has one.
const startFunction = "its start function"

// failed explains why the guest's code did not come to its end. kind is what a crash counts as.
func (i *instance) failed(c *callContext, kind Kind, doing string, err error) *Error {
	text, trace, _ := strings.Cut(err.Error(), "\nwasm stack trace:\n\t")
	if rest, ok := strings.CutPrefix(text, "start function"); ok {
		_, text, _ = strings.Cut(rest, " failed: ") // the function's number is another one in the metered module
	} else if doing == startFunction {
		doing = "its data or element segments"
	}
	trace, stack, _ := strings.Cut(trace, "\n\nGo runtime stack trace:")
	e := i.plugin.fail(c.op, kind, c.op != 0, nil)
	e.Trace = strings.ReplaceAll(trace, "\n\t", "\n")
	var (
		f    *fault
		exit *sys.ExitError
		bug  runtime.Error
	)
	switch {
	case errors.As(err, &f):
		e.Kind, e.Err, e.blameless = f.kind, f, f.blameless
	case c.refused:
		e.Kind = KindMemory
		e.Err = fmt.Errorf("the guest crashed in %s after it was refused memory beyond limits.memory, which is %d pages (%d bytes): %s",
			doing, i.plugin.limits.pages(), i.plugin.limits.MemoryBytes, text)
	case errors.As(err, &exit):
		e.Err = fmt.Errorf("the guest exited with code %d in %s", exit.ExitCode(), doing)
	case errors.As(err, &bug):
		i.plugin.logger.Error("a host function failed", "plugin", i.plugin.name, "op", c.op.String(), "err", text, "stack", stack)
		e.Err = fmt.Errorf("a host function failed in %s: %s", doing, text)
	default:
		e.Err = fmt.Errorf("the guest crashed in %s: %s", doing, text)
	}
	return e
}

// destroy gives the instance's memory back. Nothing may run in it.
func (i *instance) destroy() {
	i.stdout.flush()
	i.stderr.flush()
	i.plugin.pages.Add(-int64(i.pages))
	i.pages, i.memory = 0, nil
	if err := i.module.Close(context.Background()); err != nil {
		i.plugin.logger.Warn("closing an instance", "plugin", i.plugin.name, "err", err)
	}
}
