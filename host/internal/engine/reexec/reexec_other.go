//go:build !linux

package reexec

import "golang.org/x/sys/unix"

const selfPath = ""

func isUnixSocket(fd int) bool {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return false
	}
	_, ok := sa.(*unix.SockaddrUnix)
	return ok
}

func open(path string) (*Image, error) {
	return &Image{path: path, Reason: "only Linux has sealed memory files"}, nil
}
