package layer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Usage is what files take.
type Usage struct {
	Bytes int64 // on disk
	Files int64 // of any kind, directories too
}

// Over tells that it is more than most in something that most bounds: 0 is no bound.
func (u Usage) Over(most Usage) bool {
	return most.Bytes > 0 && u.Bytes > most.Bytes || most.Files > 0 && u.Files > most.Files
}

// maxNesting is how deep directories may lie in each other; nothing honest comes near it.
const maxNesting = 2000

// ErrTooDeep says that directories are nested so deep that they are not measured.
var ErrTooDeep = fmt.Errorf("directories are nested more than %d deep", maxNesting)

// Measure adds up what the files of a tree take, while it changes. It stops when it has found more than
// most allows. A file with several names counts once.
func Measure(dir string, most Usage) (Usage, error) {
	m := measure{most: most, seen: map[[2]uint64]bool{}}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return Usage{}, fmt.Errorf("measuring %q: %w", dir, err)
	}
	if err := m.walk(fd, 0); err != nil && !errors.Is(err, errEnough) {
		return m.found, fmt.Errorf("measuring %q: %w", dir, err)
	}
	return m.found, nil
}

var errEnough = errors.New("more than allowed")

type measure struct {
	found, most Usage
	seen        map[[2]uint64]bool // files with several names
}

// walk takes fd over. Paths may be longer than the kernel takes, so everything goes by descriptors.
func (m *measure) walk(fd, depth int) error {
	d := os.NewFile(uintptr(fd), "directory")
	defer func() { _ = d.Close() }()
	if depth > maxNesting {
		return ErrTooDeep
	}
	for {
		entries, err := d.ReadDir(64)
		for _, e := range entries {
			if err := m.add(fd, e.Name(), depth); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// add counts one name. What has gone meanwhile is no fault.
func (m *measure) add(parent int, name string, depth int) error {
	var st unix.Stat_t
	if err := unix.Fstatat(parent, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return ignoreGone(err)
	}
	dir := st.Mode&unix.S_IFMT == unix.S_IFDIR
	if !dir && st.Nlink > 1 {
		id := [2]uint64{st.Dev, st.Ino}
		if m.seen[id] {
			return nil
		}
		m.seen[id] = true
	}
	m.found.Files++
	m.found.Bytes += st.Blocks * 512
	if m.found.Over(m.most) {
		return errEnough
	}
	if !dir {
		return nil
	}
	fd, restore, err := openDir(parent, name, st.Mode)
	if err != nil {
		return ignoreGone(err)
	}
	err = m.walk(fd, depth+1)
	restore()
	return err
}

func ignoreGone(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	return err
}

// openDir opens a directory. One that denies its owner, as an ordinary user's sandboxes can make them,
// is opened to us until restore is called.
func openDir(parent int, name string, mode uint32) (fd int, restore func(), err error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	restore = func() {}
	if mode&0o700 == 0o700 || os.Geteuid() == 0 {
		fd, err = unix.Openat(parent, name, flags, 0)
		return fd, restore, err
	}
	// By this descriptor it stays the directory that it is now, whatever the sandbox puts in its place.
	at, err := unix.Openat(parent, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, restore, err
	}
	path := "/proc/self/fd/" + strconv.Itoa(at)
	if err := unix.Chmod(path, mode&0o7777|0o700); err != nil {
		_ = unix.Close(at)
		return -1, restore, err
	}
	restore = func() {
		_ = unix.Chmod(path, mode&0o7777) // it is ours, and there
		_ = unix.Close(at)
	}
	if fd, err = unix.Open(path, flags&^unix.O_NOFOLLOW, 0); err != nil {
		restore()
	}
	return fd, restore, err
}
