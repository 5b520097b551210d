package layer

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// openAll gives the directories of a tree back to their owner. Paths may be longer than the kernel
// takes, so everything goes by descriptors.
func openAll(path string) error {
	return openBelow(unix.AT_FDCWD, path)
}

func openBelow(parent int, name string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(parent, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("looking at %q: %w", name, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil
	}
	if st.Mode&0o700 != 0o700 {
		if err := unix.Fchmodat(parent, name, 0o700, 0); err != nil { // nothing runs in the tree any more
			return fmt.Errorf("opening %q: %w", name, err)
		}
	}
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening %q: %w", name, err)
	}
	d := os.NewFile(uintptr(fd), name)
	defer func() { _ = d.Close() }()
	for {
		entries, err := d.ReadDir(64)
		for _, e := range entries {
			if !e.IsDir() {
				continue
			}
			if err := openBelow(fd, e.Name()); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("listing %q: %w", name, err)
		}
	}
}
