package trust

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// bind shows one file in place of another, read-only.
func bind(file, at string) error {
	if err := unix.Mount(file, at, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("covering it: %w", err)
	}
	if err := unix.Mount("", at, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
		return fmt.Errorf("covering it: %w", err)
	}
	return nil
}
