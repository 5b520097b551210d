package sqlite

import (
	"modernc.org/libc"
)

const (
	arenaFirst = 64 << 10 // the chunk that a connection keeps to begin with, bytes
	arenaMost  = 1 << 20  // the largest chunk that it keeps, bytes
)

// arena stages bytes in C memory until the next reset: values that are bound to a statement stay
// where they are while it runs.
type arena struct {
	tls   *libc.TLS
	chunk uintptr
	size  int
	used  int
	full  []uintptr // chunks that are replaced, and values with a chunk of their own
}

// put copies b and returns where it is, never 0.
func (a *arena) put(b []byte) (uintptr, error) {
	if a.size-a.used < len(b) || a.chunk == 0 {
		return a.grow(b)
	}
	address := a.chunk + uintptr(a.used)
	copy(bytesAt(address, len(b)), b)
	a.used += len(b)
	return address, nil
}

func (a *arena) grow(b []byte) (uintptr, error) {
	if len(b) > arenaMost/4 {
		address, err := allocate(a.tls, len(b))
		if err != nil {
			return 0, err
		}
		copy(bytesAt(address, len(b)), b)
		a.full = append(a.full, address)
		return address, nil
	}
	size := max(arenaFirst, min(2*a.size, arenaMost))
	for size < len(b) {
		size *= 2
	}
	chunk, err := allocate(a.tls, size)
	if err != nil {
		return 0, err
	}
	if a.chunk != 0 {
		a.full = append(a.full, a.chunk)
	}
	a.chunk, a.size, a.used = chunk, size, 0
	return a.put(b)
}

// reset forgets what was put. No statement that it is bound to may run again before its parameters
// are bound anew.
func (a *arena) reset() {
	for _, address := range a.full {
		free(a.tls, address)
	}
	a.full, a.used = a.full[:0], 0
}

func (a *arena) close() {
	a.reset()
	free(a.tls, a.chunk)
	a.chunk, a.size = 0, 0
}
