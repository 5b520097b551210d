package trust_test

import (
	"testing"

	"golang.org/x/sys/unix"
)

// uncover takes a mount away.
func uncover(t *testing.T, path string) {
	t.Helper()
	if err := unix.Unmount(path, 0); err != nil {
		t.Fatal(err)
	}
}
