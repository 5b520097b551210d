package plugin

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// Error numbers of WASI preview 1.
const (
	wasiSuccess = 0
	wasiBadf    = 8
	wasiFault   = 21
	wasiInval   = 28
)

// Layout of poll_oneoff, and how long lists may be.
const (
	subscriptionSize = 48
	eventSize        = 32
	maxSubscriptions = 1024
	maxBuffers       = 1024 // of one fd_write

	eventClock   = 0
	eventFdRead  = 1
	eventFdWrite = 2
	clockAbstime = 1
)

// randomChunk is how much is filled between two looks at the clock.
const randomChunk = 64 << 10

// engineWASI are the functions that are the engine's own: they take a bounded time.
var engineWASI = [...]string{
	"args_get", "args_sizes_get", "environ_get", "environ_sizes_get", "clock_res_get", "clock_time_get",
	"fd_fdstat_get", "fd_fdstat_set_flags", "fd_filestat_get", "proc_exit", "sched_yield",
}

// instantiateWASI makes WASI preview 1: clocks, random, standard streams, and the files of directories
// that the plugin was granted. There are no environment, arguments and sockets.
//
// What could take long is ours, bounded (see fileWASI), or answers that there is no such file. The
// engine's functions do not look at the call's context: they would sleep on, walk lists of millions of
// empty buffers, copy paths of any length, and make a table as large as the number of a file that the
// guest chooses.
func instantiateWASI(ctx context.Context, r wazero.Runtime) (api.Module, error) {
	whole, err := wasi_snapshot_preview1.NewBuilder(r).Compile(ctx)
	if err != nil {
		return nil, fmt.Errorf("compiling WASI: %w", err)
	}
	b := r.NewHostModuleBuilder(wasi_snapshot_preview1.ModuleName)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(b)
	noFile := api.GoFunc(func(_ context.Context, stack []uint64) { stack[0] = wasiBadf })
	files := map[string]api.GoModuleFunction{}
	for name, f := range whole.ExportedFunctions() {
		if slices.Contains(engineWASI[:], name) {
			continue
		}
		function := b.NewFunctionBuilder()
		if bounded, ok := bound(name, f); ok {
			files[name] = bounded
			function.WithGoModuleFunction(bounded, f.ParamTypes(), f.ResultTypes()).Export(name)
		} else {
			function.WithGoFunction(noFile, f.ParamTypes(), f.ResultTypes()).Export(name)
		}
	}
	if err := whole.Close(ctx); err != nil {
		return nil, fmt.Errorf("compiling WASI: %w", err)
	}
	export := func(name string, params int, f func(c *callContext, memory api.Memory, stack []uint64) uint32) {
		types := make([]api.ValueType, params)
		for i := range types {
			types[i] = i32
		}
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, m api.Module, stack []uint64) {
			stack[0] = uint64(f(current(ctx), m.Memory(), stack))
		}), types, []api.ValueType{i32}).Export(name)
	}
	export("poll_oneoff", 4, func(c *callContext, memory api.Memory, stack []uint64) uint32 {
		return c.pollOneoff(memory, uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3]))
	})
	standard := func(name string, f func(c *callContext, memory api.Memory, stack []uint64) uint32) {
		ofFile := files[name]
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, m api.Module, stack []uint64) {
			if fd := uint32(stack[0]); fd < firstFile {
				stack[0] = uint64(f(current(ctx), m.Memory(), stack))
			} else {
				ofFile.Call(ctx, m, stack)
			}
		}), []api.ValueType{i32, i32, i32, i32}, []api.ValueType{i32}).Export(name)
	}
	standard("fd_write", func(c *callContext, memory api.Memory, stack []uint64) uint32 {
		return c.fdWrite(memory, uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3]))
	})
	standard("fd_read", func(c *callContext, memory api.Memory, stack []uint64) uint32 {
		return c.fdRead(memory, uint32(stack[0]), uint32(stack[3]))
	})
	export("random_get", 2, func(c *callContext, memory api.Memory, stack []uint64) uint32 {
		return c.randomGet(memory, uint32(stack[0]), uint32(stack[1]))
	})
	return b.Instantiate(ctx)
}

// moduleConfig is what an instance sees of the world.
func (i *instance) moduleConfig() wazero.ModuleConfig {
	clock := i.plugin.runtime.clock
	files := wazero.NewFSConfig()
	for _, granted := range i.plugin.files {
		files = granted.Dir.Mount(files, granted.Guest)
	}
	return wazero.NewModuleConfig().WithName("").WithStartFunctions().WithFSConfig(files).
		WithRandSource(rand.Reader).
		WithWalltime(func() (int64, int32) {
			now := time.Now()
			return now.Unix(), int32(now.Nanosecond())
		}, 1).
		WithNanotime(func() int64 { return int64(clock.now()) }, 1)
}

// fdWrite logs what is written to the standard streams.
func (c *callContext) fdWrite(memory api.Memory, fd, list, count, result uint32) uint32 {
	c.check()
	var s *stream
	switch fd {
	case 1:
		s = &c.inst.stdout
	case 2:
		s = &c.inst.stderr
	default:
		return wasiBadf
	}
	if count > maxBuffers {
		return wasiInval
	}
	buffers, ok := memory.Read(list, count*8)
	if !ok {
		return wasiFault
	}
	le := binary.LittleEndian
	written := uint32(0)
	for ; len(buffers) > 0; buffers = buffers[8:] {
		b, ok := memory.Read(le.Uint32(buffers), le.Uint32(buffers[4:]))
		if !ok {
			return wasiFault
		}
		s.write(c, b)
		written += uint32(len(b))
	}
	if !memory.WriteUint32Le(result, written) {
		return wasiFault
	}
	return wasiSuccess
}

// fdRead finds nothing in standard input.
func (c *callContext) fdRead(memory api.Memory, fd, result uint32) uint32 {
	c.check()
	if fd != 0 {
		return wasiBadf
	}
	if !memory.WriteUint32Le(result, 0) {
		return wasiFault
	}
	return wasiSuccess
}

func (c *callContext) randomGet(memory api.Memory, ptr, size uint32) uint32 {
	b, ok := memory.Read(ptr, size)
	if !ok {
		return wasiFault
	}
	for len(b) > 0 {
		c.check()
		n := min(len(b), randomChunk)
		rand.Read(b[:n]) //nolint:errcheck // documented never to fail
		b = b[n:]
	}
	return wasiSuccess
}

// pollOneoff waits for the first of several events. Standard streams are always ready: there is
// nothing to read, and lines are taken at once.
func (c *callContext) pollOneoff(memory api.Memory, in, out, count, result uint32) uint32 {
	c.check()
	if count == 0 || count > maxSubscriptions {
		return wasiInval
	}
	subscriptions, ok := memory.Read(in, count*subscriptionSize)
	if !ok {
		return wasiFault
	}
	events, ok := memory.Read(out, count*eventSize)
	if !ok {
		return wasiFault
	}
	// The guest may have put one over the other.
	subscriptions = append([]byte(nil), subscriptions...)

	le := binary.LittleEndian
	ready := uint32(0)
	emit := func(s []byte, errno uint16) {
		e := events[ready*eventSize:][:eventSize]
		clear(e)
		copy(e, s[:8]) // the guest's own data
		le.PutUint16(e[8:], errno)
		e[10] = s[8]
		ready++
	}
	nearest := time.Duration(math.MaxInt64)
	for s := subscriptions; len(s) > 0; s = s[subscriptionSize:] {
		switch s[8] {
		case eventClock:
			wait, errno := c.timeout(s[16:])
			if errno != wasiSuccess {
				return errno
			}
			nearest = min(nearest, wait)
		case eventFdRead, eventFdWrite:
			if fd := le.Uint32(s[16:]); fd > 2 {
				emit(s, wasiBadf)
			} else {
				emit(s, wasiSuccess)
			}
		default:
			return wasiInval
		}
	}
	if ready == 0 {
		if nearest > 0 {
			c.sleep(nearest)
		}
		for s := subscriptions; len(s) > 0; s = s[subscriptionSize:] {
			if wait, _ := c.timeout(s[16:]); wait <= nearest {
				emit(s, wasiSuccess)
			}
		}
	}
	if !memory.WriteUint32Le(result, ready) {
		return wasiFault
	}
	return wasiSuccess
}

// timeout returns how long a clock subscription waits.
func (c *callContext) timeout(s []byte) (time.Duration, uint32) {
	le := binary.LittleEndian
	id, at, flags := le.Uint32(s), le.Uint64(s[8:]), le.Uint16(s[24:])
	if at > math.MaxInt64 {
		at = math.MaxInt64
	}
	wait := time.Duration(at)
	if flags&clockAbstime != 0 {
		switch id {
		case 0:
			wait -= time.Duration(time.Now().UnixNano())
		case 1:
			wait -= c.inst.plugin.runtime.clock.now()
		default:
			return 0, wasiInval
		}
	}
	return max(wait, 0), wasiSuccess
}
