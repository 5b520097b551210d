package image

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lockStore waits for the store's lock.
func lockStore(path string, exclusive bool) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the image store: %w", err)
	}
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	for {
		err = unix.Flock(int(f.Fd()), how)
		if err != unix.EINTR { //nolint:errorlint // it comes bare
			break
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("locking the image store: %w", err)
	}
	return func() { _ = f.Close() }, nil
}
