package lifecycle

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// mountTable tells whether this process's mounts have changed since it was made. Its descriptor is no
// os.File: those are polled by the runtime, and the kernel tells of a change once.
type mountTable struct{ fd int }

func readMountTable() (*mountTable, error) {
	fd, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("watching mounts: %w", err)
	}
	return &mountTable{fd}, nil
}

// changed is true also when it can't be known.
func (t *mountTable) changed() bool {
	ready := []unix.PollFd{{Fd: int32(t.fd), Events: unix.POLLPRI}} //nolint:gosec // a descriptor
	_, err := unix.Poll(ready, 0)
	return err != nil || ready[0].Revents&(unix.POLLPRI|unix.POLLERR) != 0
}

func (t *mountTable) close() { _ = unix.Close(t.fd) }
