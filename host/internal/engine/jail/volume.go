package jail

import (
	"path/filepath"
	"slices"
	"strings"
)

// Volume is a directory or file of the host's that a sandbox works with.
type Volume struct {
	Name string
	// Root is the host's directory that the volume must not leave, and Path
	// what of it, relative ("." is all).
	Root, Path string
	// Target is where the sandbox sees it: absolute and clean.
	Target string
	// File tells that it is a file and not a directory.
	File     bool
	ReadOnly bool
}

// Mountable tells whether something may be mounted on a path in a sandbox:
// not on its root, nor on what its init and its walls rely on.
func Mountable(target string) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(filepath.Clean(target), "/"), "/")
	return !slices.Contains([]string{"", "proc", "sys", "dev"}, top)
}
