package layer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Remove removes a tree; nothing there is fine. Directories that deny their
// owner are opened first: sandboxes make such, and an ordinary user is held
// up by them.
func Remove(path string) error {
	err := os.RemoveAll(path)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	werr := filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			if st, serr := e.Info(); serr == nil && st.Mode().Perm()&0o700 != 0o700 {
				return os.Chmod(p, 0o700) //nolint:gosec // nothing runs in the tree any more
			}
		}
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
		return nil
	})
	if werr != nil {
		return fmt.Errorf("removing %q: %w", path, werr)
	}
	return os.RemoveAll(path)
}
