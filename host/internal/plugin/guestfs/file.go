package guestfs

import (
	"errors"
	"io"
	"io/fs"
	"os"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"
)

// file is an open file or directory of one instance, which makes one call at a time. Seeking and reading
// directories are the engine's.
type file struct {
	experimentalsys.File

	dir     *Dir
	f       *os.File
	isDir   bool
	appends bool
	closed  bool
}

// opened gives the engine a file that is open already, and a directory anew when it begins again.
type opened struct {
	dir *Dir
	f   *file
}

func (o *opened) Open(name string) (fs.File, error) {
	if o.f.File != nil { // it has read the directory, and closed it
		again, err := o.dir.root.Open(name)
		if err != nil {
			return nil, err
		}
		o.f.f = again
	}
	return o.f.f, nil
}

// done is the error number of a call that moved n bytes.
func done(n int, err error) (int, experimentalsys.Errno) {
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, errno(err)
}

func (f *file) IsDir() (bool, experimentalsys.Errno) { return f.isDir, 0 }
func (f *file) IsAppend() bool                       { return f.appends }

func (f *file) Dev() (uint64, experimentalsys.Errno) {
	st, e := f.Stat()
	return st.Dev, e
}

func (f *file) Ino() (sys.Inode, experimentalsys.Errno) {
	st, e := f.Stat()
	return st.Ino, e
}

func (f *file) Stat() (sys.Stat_t, experimentalsys.Errno) {
	info, err := f.f.Stat()
	if err != nil {
		return sys.Stat_t{}, errno(err)
	}
	return sys.NewStat_t(info), 0
}

func (f *file) Read(buf []byte) (int, experimentalsys.Errno) {
	if f.isDir {
		return 0, experimentalsys.EISDIR
	}
	return done(f.f.Read(buf))
}

func (f *file) Pread(buf []byte, off int64) (int, experimentalsys.Errno) {
	if f.isDir {
		return 0, experimentalsys.EISDIR
	}
	return done(f.f.ReadAt(buf, off))
}

func (f *file) Write(buf []byte) (int, experimentalsys.Errno) {
	if f.isDir {
		return 0, experimentalsys.EISDIR
	}
	return done(f.f.Write(buf))
}

func (f *file) Pwrite(buf []byte, off int64) (int, experimentalsys.Errno) {
	switch {
	case f.isDir:
		return 0, experimentalsys.EISDIR
	case f.appends:
		return 0, experimentalsys.ENOTSUP // the system would write at the end, whatever off is
	}
	return done(f.f.WriteAt(buf, off))
}

func (f *file) Truncate(size int64) experimentalsys.Errno {
	switch {
	case f.isDir:
		return experimentalsys.EISDIR
	case size < 0:
		return experimentalsys.EINVAL
	}
	return errno(f.f.Truncate(size))
}

func (f *file) Sync() experimentalsys.Errno     { return errno(f.f.Sync()) }
func (f *file) Datasync() experimentalsys.Errno { return errno(f.f.Sync()) }

func (f *file) Close() experimentalsys.Errno {
	if f.closed {
		return 0
	}
	f.closed = true
	f.dir.open.Add(-1)
	return f.File.Close()
}
