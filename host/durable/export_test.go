package durable

// NewMemory are stores in memory, with locks that several hosts of this process share.
func NewMemory() Stores {
	stores := newMemory()
	stores.Locks = &ownLocks{held: map[string]string{}}
	return stores
}
