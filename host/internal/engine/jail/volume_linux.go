package jail

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// tree is a volume's mount before it has a place.
type tree struct {
	fd     int
	volume Volume
}

// openVolumes takes hold of the host's directories, while they can be named.
// Whatever happens to them meanwhile, nothing outside of a volume's root is
// ever opened: the kernel itself resolves the path below it.
func openVolumes(spec *Spec) (trees []tree, err error) {
	defer func() {
		if err != nil {
			closeTrees(trees)
		}
	}()
	for _, v := range spec.Volumes {
		fd, err := openVolume(v)
		if err != nil {
			return trees, fmt.Errorf("opening volume %q (%s): %w", v.Name, filepath.Join(v.Root, v.Path), err)
		}
		trees = append(trees, tree{fd, v})
	}
	return trees, nil
}

func closeTrees(trees []tree) {
	for _, t := range trees {
		_ = unix.Close(t.fd)
	}
}

func openVolume(v Volume) (int, error) {
	root, err := unix.Open(v.Root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(root) }()
	at, err := unix.Openat2(root, v.Path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(at) }()
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return -1, err
	}
	want := uint32(unix.S_IFDIR)
	if v.File {
		want = unix.S_IFREG
	}
	if st.Mode&unix.S_IFMT != want {
		return -1, errors.New("it is neither a directory nor a file, or has become the other")
	}
	fd, err := unix.OpenTree(at, "", unix.AT_EMPTY_PATH|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return -1, fmt.Errorf("cloning the mount: %w", err)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if v.ReadOnly {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("restricting the mount (this needs Linux 5.12): %w", err)
	}
	return fd, nil
}

// placeVolumes mounts them. This process is in its own root by now, and alone
// in it: links on the way lead to somewhere in the sandbox.
func placeVolumes(trees []tree) error {
	defer closeTrees(trees)
	for _, t := range trees {
		if err := t.place(); err != nil {
			return fmt.Errorf("mounting volume %q on %s: %w", t.volume.Name, t.volume.Target, err)
		}
	}
	return nil
}

func (t tree) place() error {
	parent := filepath.Dir(t.volume.Target)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	parent, err := filepath.EvalSymlinks(parent)
	if err != nil {
		return err
	}
	target := filepath.Join(parent, filepath.Base(t.volume.Target))
	if !Mountable(target) {
		return fmt.Errorf("that is %s, which belongs to the kernel", target)
	}
	if t.volume.File {
		f, err := os.OpenFile(target, os.O_CREATE|unix.O_NOFOLLOW, 0o644)
		if err != nil {
			return err
		}
		_ = f.Close()
	} else if err := os.Mkdir(target, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	// Without MOVE_MOUNT_T_SYMLINKS a link is not followed, and no place.
	return unix.MoveMount(t.fd, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH)
}
