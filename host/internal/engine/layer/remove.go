package layer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Remove removes a tree; nothing there is fine. Directories that deny their
// owner are opened first: sandboxes make such, and an ordinary user is held
// up by them.
func Remove(path string) error {
	err := os.RemoveAll(path)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	werr := openAll(path)
	if werr != nil {
		return fmt.Errorf("removing %q: %w", path, werr)
	}
	return os.RemoveAll(path)
}
