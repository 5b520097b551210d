package layer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Apply lays the layer at src over the layer at dst, which may be empty: then
// it is a copy. src is read through descriptors and without following links,
// since it may be a sandbox's.
func Apply(ctx context.Context, dst, src string) error {
	dir, err := os.OpenFile(src, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening layer: %w", err)
	}
	defer func() { _ = dir.Close() }()
	a := applier{ctx: ctx, links: map[inode]string{}, clone: true}
	if err := a.mergeDir(dst, dir); err != nil {
		return fmt.Errorf("copying layer %q: %w", src, err)
	}
	return nil
}

type inode struct{ dev, ino uint64 }

type applier struct {
	ctx   context.Context //nolint:containedctx // lives for one call
	links map[inode]string
	clone bool // the file systems may share content
}

// mergeDir lays the open directory src over the directory dst.
func (a *applier) mergeDir(dst string, src *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(src.Fd()), &st); err != nil {
		return err
	}
	if err := os.Mkdir(dst, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	for {
		names, err := src.Readdirnames(1024)
		for _, name := range names {
			if err := a.entry(filepath.Join(dst, name), src, name); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := a.ctx.Err(); err != nil {
			return err
		}
	}
	return a.finishOpen(dst, src, &st)
}

func (a *applier) entry(dst string, parent *os.File, name string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(int(parent.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return a.directory(dst, parent, name)
	}
	if err := Remove(dst); err != nil {
		return err
	}
	if st.Nlink > 1 {
		id := inode{uint64(st.Dev), st.Ino} //nolint:unconvert // the field's type differs by architecture
		if first, ok := a.links[id]; ok {
			return os.Link(first, dst)
		}
		a.links[id] = dst
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return a.regular(dst, parent, name)
	case unix.S_IFLNK:
		return a.symlink(dst, parent, name, &st)
	case unix.S_IFIFO, unix.S_IFCHR, unix.S_IFBLK:
		if err := unix.Mknod(dst, st.Mode, int(st.Rdev)); err != nil {
			return err
		}
		return finishPath(dst, &st)
	}
	return nil // a socket means nothing without its process
}

// directory lays one directory over what is there: an opaque one replaces it,
// one over a whiteout becomes opaque.
func (a *applier) directory(dst string, parent *os.File, name string) error {
	dir, err := openIn(parent, name, unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	was, err := os.Lstat(dst)
	replaces := err == nil && !was.IsDir()
	if replaces || (err == nil && isOpaque(fdPath(dir))) {
		if err := Remove(dst); err != nil {
			return err
		}
	}
	if err := a.mergeDir(dst, dir); err != nil {
		return err
	}
	if replaces {
		return makeOpaque(dst)
	}
	return nil
}

func (a *applier) regular(dst string, parent *os.File, name string) error {
	src, err := openIn(parent, name, unix.O_NONBLOCK)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	var st unix.Stat_t
	if err := unix.Fstat(int(src.Fd()), &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return errors.New("changed while it was copied")
	}
	out, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := a.content(out, src, st.Size); err != nil {
		_ = out.Close()
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return a.finishOpen(dst, src, &st)
}

// content copies size bytes, holes as holes.
func (a *applier) content(dst, src *os.File, size int64) error {
	if size == 0 {
		return nil
	}
	if a.clone {
		if unix.IoctlFileClone(int(dst.Fd()), int(src.Fd())) == nil {
			return nil
		}
		a.clone = false
	}
	for off := int64(0); off < size; {
		begin, err := unix.Seek(int(src.Fd()), off, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break // only a hole is left
		}
		if err != nil {
			begin = off
		}
		end, err := unix.Seek(int(src.Fd()), begin, unix.SEEK_HOLE)
		if err != nil {
			end = size
		}
		if err := a.extent(dst, src, begin, end); err != nil {
			return err
		}
		off = end
	}
	return dst.Truncate(size)
}

func (a *applier) extent(dst, src *os.File, begin, end int64) error {
	const piece = 64 << 20
	for begin < end {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		from, to := begin, begin
		n, err := unix.CopyFileRange(int(src.Fd()), &from, int(dst.Fd()), &to, int(min(end-begin, piece)), 0)
		if errors.Is(err, unix.EXDEV) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) {
			m, err := io.Copy(io.NewOffsetWriter(dst, begin), io.NewSectionReader(src, begin, min(end-begin, piece)))
			if err != nil {
				return err
			}
			n = int(m)
		} else if err != nil {
			return err
		}
		if n == 0 {
			return nil // shorter than it was
		}
		begin += int64(n)
	}
	return nil
}

func (a *applier) symlink(dst string, parent *os.File, name string, st *unix.Stat_t) error {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(parent.Fd()), name, buf)
	if err != nil {
		return err
	}
	if err := os.Symlink(string(buf[:n]), dst); err != nil {
		return err
	}
	return finishPath(dst, st)
}

func openIn(parent *os.File, name string, flags int) (*os.File, error) {
	fd, err := unix.Openat(int(parent.Fd()), name, flags|unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func fdPath(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d/.", f.Fd()) }

// finishOpen gives dst the attributes, owner, mode and times of the open src.
func (a *applier) finishOpen(dst string, src *os.File, st *unix.Stat_t) error {
	if err := copyAttrs(dst, src); err != nil {
		return err
	}
	return finishPath(dst, st)
}

// finishPath gives dst owner, mode and times.
func finishPath(dst string, st *unix.Stat_t) error {
	if int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid() {
		if err := os.Lchown(dst, int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		if err := unix.Chmod(dst, st.Mode&0o7777); err != nil { // after chown, which takes setuid away
			return err
		}
	}
	times := []unix.Timespec{st.Atim, st.Mtim}
	return unix.UtimesNanoAt(unix.AT_FDCWD, dst, times, unix.AT_SYMLINK_NOFOLLOW)
}

// ownAttr tells which attributes belong to one place of one overlay and mean
// nothing, or something wrong, in a copy.
func ownAttr(name string) bool {
	for _, own := range []string{"origin", "impure", "nlink", "upper", "uuid"} {
		if name == "user.overlay."+own || name == "trusted.overlay."+own {
			return true
		}
	}
	return false
}

func copyAttrs(dst string, src *os.File) error {
	size, err := unix.Flistxattr(int(src.Fd()), nil)
	if err != nil || size == 0 {
		return nil //nolint:nilerr // a file system without attributes has none to copy
	}
	list := make([]byte, size)
	if size, err = unix.Flistxattr(int(src.Fd()), list); err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(list[:size]), "\x00"), "\x00") {
		if name == "" || ownAttr(name) {
			continue
		}
		n, err := unix.Fgetxattr(int(src.Fd()), name, nil)
		if err != nil {
			continue // gone, or not ours to read
		}
		value := make([]byte, n)
		if n, err = unix.Fgetxattr(int(src.Fd()), name, value); err != nil {
			continue
		}
		if err := unix.Lsetxattr(dst, name, value[:n], 0); err != nil && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EOPNOTSUPP) {
			return fmt.Errorf("setting attribute %s: %w", name, err)
		}
	}
	return nil
}

// Sync writes the file system that holds dir to disk.
func Sync(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return fmt.Errorf("syncing %q: %w", dir, err)
	}
	return nil
}
