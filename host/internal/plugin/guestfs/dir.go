package guestfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync/atomic"

	"github.com/tetratelabs/wazero"
	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/sys"
)

// Mode says what a guest may do with a directory.
type Mode int

// Modes.
const (
	ReadOnly Mode = iota
	ReadWrite
)

// maxOpen is how many files of one directory may be open, by all instances of a plugin together.
const maxOpen = 256

// Dir is a directory that was lent. It is safe for concurrent use.
type Dir struct {
	experimentalsys.UnimplementedFS

	root *os.Root
	mode Mode
	open atomic.Int64
}

// Open opens a directory, which must exist. The caller must Close it, after the last instance that has it.
func Open(dir string, mode Mode) (*Dir, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the directory: %w", err)
	}
	return &Dir{root: root, mode: mode}, nil
}

// Close closes the directory itself.
func (d *Dir) Close() error { return d.root.Close() }

// Mount adds the directory to what an instance sees, under a path of the guest's.
func (d *Dir) Mount(config wazero.FSConfig, guest string) wazero.FSConfig {
	mounts, ok := config.(sysfs.FSConfig)
	if !ok {
		return config.WithFSMount(d.root.FS(), guest) // reads only; every version up to now is one
	}
	return mounts.WithSysFSMount(d, guest)
}

// local is a guest's path as one below the root: what begins with a slash begins there.
func local(name string) string {
	name = path.Clean(strings.TrimLeft(name, "/"))
	return name
}

func (d *Dir) writable() experimentalsys.Errno {
	if d.mode == ReadWrite {
		return 0
	}
	return experimentalsys.EROFS
}

// errno is an error as WASI knows it. What leads out of the root is refused like what is not permitted.
func errno(err error) experimentalsys.Errno {
	if err == nil {
		return 0
	}
	if e := experimentalsys.UnwrapOSError(err); e != experimentalsys.EIO {
		return e
	}
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok && strings.Contains(pathErr.Err.Error(), "escapes") {
		return experimentalsys.EPERM
	}
	return experimentalsys.EIO
}

// OpenFile opens a regular file or a directory.
func (d *Dir) OpenFile(name string, flag experimentalsys.Oflag, _ fs.FileMode) (experimentalsys.File, experimentalsys.Errno) {
	const writing = experimentalsys.O_WRONLY | experimentalsys.O_RDWR | experimentalsys.O_CREAT | experimentalsys.O_TRUNC | experimentalsys.O_APPEND
	if flag&writing != 0 {
		if e := d.writable(); e != 0 {
			return nil, e
		}
	}
	if d.open.Add(1) > maxOpen {
		d.open.Add(-1)
		return nil, experimentalsys.EAGAIN
	}
	f, e := d.openFile(local(name), flag)
	if e != 0 {
		d.open.Add(-1)
		return nil, e
	}
	return f, 0
}

func (d *Dir) openFile(name string, flag experimentalsys.Oflag) (*file, experimentalsys.Errno) {
	// Looked at before it is opened: opening a pipe waits for its other end.
	switch info, err := d.root.Stat(name); {
	case err == nil && !info.Mode().IsRegular() && !info.IsDir():
		return nil, experimentalsys.EPERM
	case err == nil && flag&experimentalsys.O_DIRECTORY != 0 && !info.IsDir():
		return nil, experimentalsys.ENOTDIR
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, errno(err)
	}
	const mode = 0o600
	osFile, err := d.root.OpenFile(name, osFlag(flag), mode)
	if err != nil {
		return nil, errno(err)
	}
	info, err := osFile.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() { // it was exchanged meanwhile
		err = fs.ErrPermission
	}
	if err != nil {
		return nil, errno(errors.Join(err, osFile.Close()))
	}
	f := &file{dir: d, f: osFile, isDir: info.IsDir(), appends: flag&experimentalsys.O_APPEND != 0}
	whole, e := (&sysfs.AdaptFS{FS: &opened{d, f}}).OpenFile(name, experimentalsys.O_RDONLY, 0)
	f.File = whole
	return f, e
}

func osFlag(flag experimentalsys.Oflag) int {
	out := os.O_RDONLY
	switch {
	case flag&experimentalsys.O_RDWR != 0:
		out = os.O_RDWR
	case flag&experimentalsys.O_WRONLY != 0:
		out = os.O_WRONLY
	}
	for _, pair := range [...]struct {
		wasi experimentalsys.Oflag
		os   int
	}{
		{experimentalsys.O_APPEND, os.O_APPEND},
		{experimentalsys.O_CREAT, os.O_CREATE},
		{experimentalsys.O_EXCL, os.O_EXCL},
		{experimentalsys.O_TRUNC, os.O_TRUNC},
		{experimentalsys.O_SYNC, os.O_SYNC},
		{experimentalsys.O_DSYNC, os.O_SYNC},
	} {
		if flag&pair.wasi != 0 {
			out |= pair.os
		}
	}
	return out | nonblock
}

// Lstat describes what a path names, without following a link in its last place.
func (d *Dir) Lstat(name string) (sys.Stat_t, experimentalsys.Errno) {
	info, err := d.root.Lstat(local(name))
	if err != nil {
		return sys.Stat_t{}, errno(err)
	}
	return sys.NewStat_t(info), 0
}

// Stat describes what a path leads to.
func (d *Dir) Stat(name string) (sys.Stat_t, experimentalsys.Errno) {
	info, err := d.root.Stat(local(name))
	if err != nil {
		return sys.Stat_t{}, errno(err)
	}
	return sys.NewStat_t(info), 0
}

// Mkdir makes a directory.
func (d *Dir) Mkdir(name string, _ fs.FileMode) experimentalsys.Errno {
	if e := d.writable(); e != 0 {
		return e
	}
	const mode = 0o700
	return errno(d.root.Mkdir(local(name), mode))
}

// Rename moves a file or directory over another name.
func (d *Dir) Rename(from, to string) experimentalsys.Errno {
	if e := d.writable(); e != 0 {
		return e
	}
	return errno(d.root.Rename(local(from), local(to)))
}

// Rmdir removes an empty directory.
func (d *Dir) Rmdir(name string) experimentalsys.Errno { return d.remove(name, true) }

// Unlink removes a file.
func (d *Dir) Unlink(name string) experimentalsys.Errno { return d.remove(name, false) }

func (d *Dir) remove(name string, directory bool) experimentalsys.Errno {
	if e := d.writable(); e != 0 {
		return e
	}
	info, err := d.root.Lstat(local(name))
	switch {
	case err != nil:
		return errno(err)
	case directory && !info.IsDir():
		return experimentalsys.ENOTDIR
	case !directory && info.IsDir():
		return experimentalsys.EISDIR
	}
	return errno(d.root.Remove(local(name)))
}
