package sandbox

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// readTree unpacks an archive that a sandbox made below a directory. It comes from whatever runs
// there, so nothing in it is believed: the root keeps all of it inside.
func readTree(r io.Reader, root *os.Root, progress func(CopyProgress)) error {
	archive := tar.NewReader(r)
	var done CopyProgress
	modes := map[string]fs.FileMode{} // of directories, set last: they may be read-only
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			// What follows the archive's end is padding, but a connection that broke must be noticed.
			if _, err := io.Copy(io.Discard, r); err != nil {
				return err
			}
			break
		}
		if err != nil {
			return fmt.Errorf("the sandbox's archive: %w", err)
		}
		name := path.Clean(header.Name)
		if name == "." {
			continue
		}
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return fmt.Errorf("the sandbox's archive: %w: the name %q leads out of it", ErrInvalid, header.Name)
		}
		n, err := readEntry(archive, header, name, root, modes)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if header.Typeflag == tar.TypeReg {
			done.Files, done.Bytes = done.Files+1, done.Bytes+n
		}
		if done.Path = name; progress != nil {
			progress(done)
		}
	}
	for name, mode := range modes {
		if err := root.Chmod(name, mode); err != nil {
			return err
		}
	}
	return nil
}

func readEntry(archive *tar.Reader, header *tar.Header, name string, root *os.Root, modes map[string]fs.FileMode) (int64, error) {
	const usual = 0o755
	mode := header.FileInfo().Mode().Perm()
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, usual); err != nil {
			return 0, err
		}
	}
	switch header.Typeflag {
	case tar.TypeDir:
		modes[name] = mode
		return 0, root.MkdirAll(name, usual)
	case tar.TypeSymlink:
		if err := makeWay(root, name); err != nil {
			return 0, err
		}
		return 0, root.Symlink(header.Linkname, name)
	case tar.TypeLink:
		old := strings.TrimPrefix(path.Clean(header.Linkname), "./")
		if err := makeWay(root, name); err != nil {
			return 0, err
		}
		return 0, root.Link(old, name)
	case tar.TypeReg:
		if err := makeWay(root, name); err != nil {
			return 0, err
		}
		file, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, mode)
		if err != nil {
			return 0, err
		}
		n, err := io.Copy(file, archive)
		if err == nil {
			err = file.Chmod(mode)
		}
		if err := errors.Join(err, file.Close()); err != nil {
			return n, err
		}
		return n, root.Chtimes(name, header.ModTime, header.ModTime)
	}
	return 0, nil // devices, sockets and pipes
}

// makeWay removes what a file replaces.
func makeWay(root *os.Root, name string) error {
	err := root.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
