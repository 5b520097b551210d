//go:build unix

package reexec

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// CloseInherited closes the descriptors that this process got from its parent
// by accident: whatever an engine's own parent forgot to keep to itself would
// otherwise go on into sandboxes, or keep a pipe open that somebody reads to
// its end. The descriptors from ControlFD up to last stay, and are not passed
// on. Call it first thing.
func CloseInherited(last int) {
	dir := "/dev/fd"
	if _, err := os.Stat("/proc/self/fd"); err == nil {
		dir = "/proc/self/fd"
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // without such a list there is nothing to go by
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd < ControlFD {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC != 0 {
			continue // opened by this process itself, which passes none on
		}
		if fd <= last {
			unix.CloseOnExec(fd)
			continue
		}
		_ = unix.Close(fd)
	}
}
