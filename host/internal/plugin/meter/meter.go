package meter

import (
	"fmt"
	"math"
)

// The function that a metered module imports. It takes the fuel that is left, which is negative, or
// GrowRefused when memory.grow was refused, and then no fuel was used.
const (
	ModuleName  = "alineo_rt"
	TickName    = "tick"
	GrowRefused = math.MinInt32 // no charge is so large
)

// Defaults of Options.
const (
	DefaultInterval        = 10_000
	DefaultMaxTableEntries = 1 << 20
)

// PageSize is the unit of linear memory.
const PageSize = 65536

// Options bound a module. The zero value stands for the defaults.
type Options struct {
	MaxMemoryPages  uint32 // of 64 KiB; 0: 65,536, which is 4 GiB
	MaxTableEntries uint32 // of all tables together; 0: DefaultMaxTableEntries
	Interval        int32  // fuel between two ticks, up to 1<<30; 0: DefaultInterval
}

// Stats says what was done to a module.
type Stats struct {
	Loops       int    // loop headers that are charged
	Entries     int    // function entries that are charged
	Bulk        int    // bulk and grow operations that are charged by length
	SizeBefore  int    // bytes
	SizeAfter   int    // bytes
	MemoryPages uint32 // pages that the module starts with
}

// MemoryError says that a module starts with more memory than it may have.
type MemoryError struct {
	Pages, Allowed uint32 // of 64 KiB
}

// Error names both sizes in pages and bytes.
func (e *MemoryError) Error() string {
	return fmt.Sprintf("starts with %d pages of memory (%d bytes), %d pages (%d bytes) are allowed",
		e.Pages, int64(e.Pages)*PageSize, e.Allowed, int64(e.Allowed)*PageSize)
}

// Rewrite returns the metered form of a module, in memory of its own. What it refuses is described
// in the package comment; an error names the offset in wasm, and is a *MemoryError when all that is
// wrong is the size of the memory. The result is not validated: the engine does that.
func Rewrite(wasm []byte, opts Options) ([]byte, Stats, error) {
	if opts.MaxMemoryPages == 0 || opts.MaxMemoryPages > 65536 {
		opts.MaxMemoryPages = 65536
	}
	if opts.MaxTableEntries == 0 {
		opts.MaxTableEntries = DefaultMaxTableEntries
	}
	if opts.Interval == 0 {
		opts.Interval = DefaultInterval
	}
	if opts.Interval < 0 || opts.Interval > 1<<30 {
		return nil, Stats{}, fmt.Errorf("metering module: interval %d is not between 1 and %d", opts.Interval, 1<<30)
	}
	if len(wasm) > math.MaxInt32 {
		return nil, Stats{}, fmt.Errorf("metering module: %d bytes are too many", len(wasm))
	}
	w := rewriter{opts: opts}
	out, err := w.module(wasm)
	if err != nil {
		return nil, Stats{}, fmt.Errorf("metering module: %w", err)
	}
	w.stats.SizeBefore, w.stats.SizeAfter = len(wasm), len(out)
	return out, w.stats, nil
}

const header = "\x00asm\x01\x00\x00\x00"

// IsModule says whether b begins like a core WebAssembly module of version 1.
func IsModule(b []byte) bool { return len(b) >= len(header) && string(b[:len(header)]) == header }
