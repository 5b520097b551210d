package execd

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// memoryFile makes a file without a name that holds b.
func memoryFile(name string, b []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.WriteAt(b, 0); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("filling a file in memory: %w", err)
	}
	return f, nil
}

// queued tells how many bytes a pipe or terminal holds.
func queued(fd int) (int, error) { return unix.IoctlGetInt(fd, unix.TIOCINQ) }
