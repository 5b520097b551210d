//go:build unix

package plugin

import (
	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/unix"
)

// reservedMemory is an address range of which the kernel backs what was touched. The guest grows
// without copying, and all of it is given back when the instance ends, without the collector.
//
// Views of it must not outlive the instance: after Free they fault.
type reservedMemory struct{ b []byte }

// reserveMemory returns nil when the range cannot be had.
func reserveMemory(limit uint64) experimental.LinearMemory {
	if limit == 0 || limit > 1<<32 {
		return nil
	}
	b, err := unix.Mmap(-1, 0, int(limit), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|mapNoReserve)
	if err != nil {
		return nil
	}
	return &reservedMemory{b: b}
}

func (m *reservedMemory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.b)) {
		return nil
	}
	return m.b[:size:size]
}

func (m *reservedMemory) Free() {
	if m.b == nil {
		return
	}
	if err := unix.Munmap(m.b); err != nil {
		panic(err) // the range is not what Mmap returned: memory is corrupt
	}
	m.b = nil
}
