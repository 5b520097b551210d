package reexec

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const selfPath = "/proc/self/exe"

func isUnixSocket(fd int) bool {
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	return err == nil && domain == unix.AF_UNIX
}

func open(path string) (*Image, error) {
	src, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening program %q: %w", path, err)
	}
	defer func() { _ = src.Close() }()
	f, err := sealedCopy(src)
	if err != nil {
		if path == selfPath {
			// A shim outlives us; /proc/self would then be the shim's.
			if p, perr := os.Executable(); perr == nil {
				path = p
			}
		}
		return &Image{path: path, Reason: err.Error()}, nil
	}
	return &Image{file: f, Sealed: true}, nil
}

func sealedCopy(src *os.File) (*os.File, error) {
	const name = "alineo-host"
	flags := unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, flags)
	}
	if err != nil {
		return nil, fmt.Errorf("creating a memory file: %w", err)
	}
	dst := os.NewFile(uintptr(fd), name)
	if err := fill(dst, src); err != nil {
		_ = dst.Close()
		return nil, err
	}
	return dst, nil
}

func fill(dst, src *os.File) error {
	if _, err := io.Copy(dst, src); err != nil {
		return fmt.Errorf("copying the program: %w", err)
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(dst.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return fmt.Errorf("sealing the program: %w", err)
	}
	return nil
}
