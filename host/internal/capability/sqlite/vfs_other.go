//go:build !linux

package sqlite

// vfsAddress returns 0: SQLite's own layer for files.
func vfsAddress() (uintptr, error) { return 0, nil }
