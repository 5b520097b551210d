package shim

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// startReaped starts a process that is waited for in the background; ended is closed then. Its end is awaited by a
// descriptor: a thread that sits in wait, for each sandbox, would be one that the engine never gets back.
func startReaped(cmd *exec.Cmd, ended chan<- struct{}) error {
	fd := -1
	cmd.SysProcAttr.PidFD = &fd
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		if fd >= 0 {
			awaitEnd(fd)
		}
		_ = cmd.Wait()
		close(ended)
	}()
	return nil
}

// awaitEnd returns when the process of fd, which it takes over, has ended; or at once where that can't
// be awaited.
func awaitEnd(fd int) {
	_ = syscall.SetNonblock(fd, true)
	f := os.NewFile(uintptr(fd), "process")
	defer func() { _ = f.Close() }()
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Read(func(fd uintptr) bool {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // a descriptor
		n, err := unix.Poll(ready, 0)
		return n > 0 || err != nil && err != unix.EINTR //nolint:errorlint // an errno
	})
}
