//go:build !linux

package layer

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// openAll gives the directories of a tree back to their owner.
func openAll(path string) error {
	return filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			if st, serr := e.Info(); serr == nil && st.Mode().Perm()&0o700 != 0o700 {
				return os.Chmod(p, 0o700)
			}
		}
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
		return nil
	})
}
