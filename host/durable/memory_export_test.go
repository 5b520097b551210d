package durable

// NewMemory are stores in memory, for tests.
func NewMemory() Stores { return newMemory() }
