package plugin

import "testing"

// Both kinds of memory grow in place for what the guest sees, and keep to their size.
func TestLinearMemory(t *testing.T) {
	t.Parallel()
	const page = 65536
	memories := map[string]interface {
		Reallocate(size uint64) []byte
		Free()
	}{"heap": &heapMemory{}, "default": allocateMemory(16 * page)}
	for name, m := range memories {
		b := m.Reallocate(page)
		if len(b) != page {
			t.Fatalf("%s: %d bytes", name, len(b))
		}
		b[page-1] = 7
		for size := uint64(2 * page); size <= 16*page; size += page {
			b = m.Reallocate(size)
			if uint64(len(b)) != size || b[page-1] != 7 || b[size-1] != 0 {
				t.Fatalf("%s: %d bytes of %d, %d, %d", name, len(b), size, b[page-1], b[size-1])
			}
		}
		m.Free()
		m.Free()
	}
	if reserveMemory(0) != nil {
		t.Error("a range of nothing")
	}
}
