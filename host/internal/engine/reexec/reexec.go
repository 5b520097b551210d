package reexec

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Role is what a re-executed process is.
type Role string

// The roles.
const (
	// Shim keeps one sandbox: its sockets, its time to live, its init.
	Shim Role = "shim"
	// Init is the first process of a sandbox.
	Init Role = "init"
	// Copy copies layers with the rights of a user namespace's root.
	Copy Role = "copy"
)

const (
	prefix = "alineo-host-"
	// word makes the argument list impossible to hit by accident.
	word = "b5f0c3a24b7d4a0f9c6d1d7e8a51c2f3"
	// ControlFD is the descriptor of the unix socket to the parent process.
	ControlFD = 3
)

// Current tells which role this process was started in, and its argument.
func Current() (role Role, arg string, ok bool) {
	if len(os.Args) != 3 || os.Args[1] != word {
		return "", "", false
	}
	name, found := strings.CutPrefix(os.Args[0], prefix)
	if !found || !isUnixSocket(ControlFD) {
		return "", "", false
	}
	switch r := Role(name); r {
	case Shim, Init, Copy:
		return r, os.Args[2], true
	}
	return "", "", false
}

// Image is the program that roles run. It is safe for concurrent use.
type Image struct {
	file *os.File // nil: run path
	path string
	// Sealed tells that the program is a sealed copy in memory.
	Sealed bool
	// Reason says why it is not, when it is not.
	Reason string
}

// Open makes the image of the program at path; "" is this program. Where the
// system has no sealed memory files the image is the file itself, and Reason
// says so.
func Open(path string) (*Image, error) {
	if path == "" {
		p, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("finding this program: %w", err)
		}
		path = p
		if selfPath != "" {
			path = selfPath // survives a replaced or deleted file
		}
	}
	return open(path)
}

// Close releases the copy. Processes that run it go on.
func (i *Image) Close() error {
	if i.file == nil {
		return nil
	}
	return i.file.Close()
}

// FromFD is the image that a parent handed down at descriptor fd; with fd < 0
// it is the program at path.
func FromFD(fd int, path string) *Image {
	if fd < 0 {
		return &Image{path: path}
	}
	return &Image{file: os.NewFile(uintptr(fd), "program"), Sealed: true}
}

// Path is the program's path when it is not a sealed copy.
func (i *Image) Path() string { return i.path }

// Command prepares the program in a role. files become descriptors 3 and up;
// the first must be a unix socket. The program's own descriptor, when there
// is one, comes last (see ImageFD). Nothing of the environment is passed on.
func (i *Image) Command(role Role, arg string, files ...*os.File) *exec.Cmd {
	cmd := &exec.Cmd{Path: i.path, Args: []string{prefix + string(role), word, arg}, Env: []string{}, ExtraFiles: files}
	if i.file != nil {
		cmd.ExtraFiles = append(append([]*os.File{}, files...), i.file)
		cmd.Path = fmt.Sprintf("/proc/self/fd/%d", ControlFD+len(files))
	}
	return cmd
}
