package plugin

import (
	"github.com/tetratelabs/wazero/experimental"
)

// heapMemory is linear memory on the Go heap, for where reserved memory cannot be had. Growing copies
// it.
type heapMemory struct{ b []byte }

func (m *heapMemory) Reallocate(size uint64) []byte {
	if size > uint64(cap(m.b)) {
		m.b = append(m.b[:cap(m.b)], make([]byte, size-uint64(cap(m.b)))...)
	}
	m.b = m.b[:size]
	return m.b
}

func (m *heapMemory) Free() { m.b = nil }

var _ experimental.LinearMemory = (*heapMemory)(nil)

// allocateMemory makes the memory of one instance. limit is what it may ever have, in bytes.
func allocateMemory(limit uint64) experimental.LinearMemory {
	if m := reserveMemory(limit); m != nil {
		return m
	}
	return &heapMemory{}
}
