//go:build unix && !linux

package execd

import (
	"fmt"
	"os"
)

// memoryFile makes a file without a name that holds b.
func memoryFile(name string, b []byte) (*os.File, error) {
	f, err := unlinkedFile(os.TempDir())
	if err != nil {
		return nil, err
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("filling the file %s: %w", name, err)
	}
	return f, nil
}

// queued is what a pipe may hold: what there is isn't known.
func queued(int) (int, error) { return bufferSize, nil }
