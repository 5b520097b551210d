package plugin

import (
	"context"
	"math"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/plugin/meter"
)

// Types of parameters and results.
const (
	i32 = api.ValueTypeI32
	i64 = api.ValueTypeI64
)

// callKey is the key under which a context gives its callContext.
type callKey struct{}

// current returns the call that a host function serves.
func current(ctx context.Context) *callContext {
	c, ok := ctx.(*callContext)
	if !ok {
		c, ok = ctx.Value(callKey{}).(*callContext)
	}
	if !ok {
		panic(faultf(KindStart, "host function called outside a call"))
	}
	return c
}

// instantiateHost makes the module of the ABI's imports. Parameters of type i32 have undefined upper
// bits on the stack.
func instantiateHost(ctx context.Context, r wazero.Runtime) (api.Module, error) {
	b := r.NewHostModuleBuilder(abi.HostModule)
	export := func(name string, f api.GoModuleFunc, params, results []api.ValueType) {
		b.NewFunctionBuilder().WithGoModuleFunction(f, params, results).Export(name)
	}
	export(abi.ImportCall, func(ctx context.Context, m api.Module, stack []uint64) {
		stack[0] = current(ctx).hostCall(m.Memory(), abi.Op(uint32(stack[0])), uint32(stack[1]), uint32(stack[2]))
	}, []api.ValueType{i32, i32, i32}, []api.ValueType{i64})
	export(abi.ImportTake, func(ctx context.Context, m api.Module, stack []uint64) {
		current(ctx).hostTake(m.Memory(), uint32(stack[0]))
	}, []api.ValueType{i32}, nil)
	export(abi.ImportLog, func(ctx context.Context, m api.Module, stack []uint64) {
		current(ctx).hostLog(m.Memory(), uint32(stack[0]), uint32(stack[1]), uint32(stack[2]))
	}, []api.ValueType{i32, i32, i32}, nil)
	return b.Instantiate(ctx)
}

// instantiateMeter makes the module of the function that metered code calls.
func instantiateMeter(ctx context.Context, r wazero.Runtime) (api.Module, error) {
	tick := func(ctx context.Context, stack []uint64) { current(ctx).tick(int32(uint32(stack[0]))) }
	return r.NewHostModuleBuilder(meter.ModuleName).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(tick), []api.ValueType{i32}, nil).Export(meter.TickName).Instantiate(ctx)
}

// tick is called when the fuel is used up, or when the guest was refused memory.
func (c *callContext) tick(left int32) {
	if left == meter.GrowRefused {
		c.refused = true
		return
	}
	c.fuel += meter.DefaultInterval - int64(left)
	c.check()
}

// hostCall is a capability call: it returns status and length of the response, which take fetches.
func (c *callContext) hostCall(memory api.Memory, op abi.Op, ptr, size uint32) uint64 {
	c.check()
	limits := &c.inst.plugin.limits
	if int64(size) > limits.MaxResponse {
		panic(faultf(KindTooLarge, "the guest's request of %s has %d bytes, limits.max_response allows %d",
			op, size, limits.MaxResponse))
	}
	req, ok := memory.Read(ptr, size)
	if !ok {
		panic(outside("request of "+op.String(), ptr, size, memory))
	}
	reply, failure := c.handle(op, req)
	if failure == nil && (int64(len(reply)) > limits.MaxRequest || len(reply) > math.MaxInt32) {
		failure = &abi.Error{Code: abi.CodeResourceExhausted, Message: "the reply is larger than limits.max_request allows"}
	}
	code := abi.CodeOK
	if failure != nil {
		if code = failure.Code; code == abi.CodeOK {
			code = abi.CodeInternal
		}
		reply = failure.AppendTo(c.inst.response[:0])
	}
	c.inst.response, c.inst.pending = reply, true
	return uint64(code)<<32 | uint64(len(reply))
}

func (c *callContext) handle(op abi.Op, req []byte) ([]byte, *abi.Error) {
	p := c.inst.plugin
	switch {
	case c.starting() && c.op != abi.OpConfigure:
		return nil, &abi.Error{Code: abi.CodeDenied, Message: "there are no capabilities before configure"}
	case p.caps == nil:
		return nil, &abi.Error{Code: abi.CodeDenied, Message: "this plugin was granted nothing"}
	}
	if c.call == nil {
		c.call = new(capability.Call)
	}
	c.lent = true
	return p.caps.Handle(c, c.call, op, req, c.inst.response[:0])
}

// hostTake copies the pending response into the guest's memory.
func (c *callContext) hostTake(memory api.Memory, ptr uint32) {
	c.check()
	if !c.inst.pending {
		panic(faultf(KindProtocol, "the guest takes a response that is not there"))
	}
	c.inst.pending = false
	if !memory.Write(ptr, c.inst.response) {
		panic(outside("buffer for a response", ptr, uint32(len(c.inst.response)), memory))
	}
	if cap(c.inst.response) > keepBuffer {
		c.inst.response = nil
	}
}

func (c *callContext) hostLog(memory api.Memory, level, ptr, size uint32) {
	c.check()
	text, ok := memory.Read(ptr, size)
	if !ok {
		panic(outside("log line", ptr, size, memory))
	}
	c.inst.plugin.guestLog.line(guestLevel(level), text)
}

// outside is a pointer that leads out of the guest's memory.
func outside(what string, ptr, size uint32, memory api.Memory) *fault {
	return faultf(KindProtocol, "the guest's %s, %d bytes at %#x, is not inside its memory of %d bytes",
		what, size, ptr, memory.Size())
}
