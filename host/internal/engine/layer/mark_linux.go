package layer

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// opaqueAttr marks a directory that hides what is below it. Sandboxes' overlays
// keep their attributes in the user namespace, also when root mounts them.
const opaqueAttr = "user.overlay.opaque"

// whiteout makes the mark of a deleted file. Any user may (since Linux 5.8).
func whiteout(path string) error {
	if err := unix.Mknod(path, unix.S_IFCHR, 0); err != nil {
		return fmt.Errorf("making whiteout %q: %w", path, err)
	}
	return nil
}

func makeOpaque(path string) error {
	if err := unix.Lsetxattr(path, opaqueAttr, []byte("y"), 0); err != nil {
		return fmt.Errorf("marking %q opaque: %w", path, err)
	}
	return nil
}

func isOpaque(path string) bool {
	var b [1]byte
	n, err := unix.Lgetxattr(path, opaqueAttr, b[:])
	return err == nil && n == 1 && b[0] == 'y'
}
