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
	m := copyMeter{tell: progress}
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
		m.Path = name
		if err := readEntry(io.TeeReader(archive, &m), header, name, root, modes); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if header.Typeflag == tar.TypeReg {
			m.file()
		} else {
			m.report()
		}
	}
	for name, mode := range modes {
		if err := root.Chmod(name, mode); err != nil {
			return err
		}
	}
	return nil
}

func readEntry(content io.Reader, header *tar.Header, name string, root *os.Root, modes map[string]fs.FileMode) error {
	const usual = 0o755
	mode := header.FileInfo().Mode().Perm()
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, usual); err != nil {
			return err
		}
	}
	switch header.Typeflag {
	case tar.TypeDir:
		modes[name] = mode
		return root.MkdirAll(name, usual)
	case tar.TypeSymlink:
		if err := makeWay(root, name); err != nil {
			return err
		}
		return root.Symlink(header.Linkname, name)
	case tar.TypeLink:
		old := strings.TrimPrefix(path.Clean(header.Linkname), "./")
		if err := makeWay(root, name); err != nil {
			return err
		}
		return root.Link(old, name)
	case tar.TypeReg:
		if err := makeWay(root, name); err != nil {
			return err
		}
		file, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, content)
		if err == nil {
			err = file.Chmod(mode)
		}
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
		return root.Chtimes(name, header.ModTime, header.ModTime)
	}
	return nil // devices, sockets and pipes
}

// makeWay removes what a file replaces.
func makeWay(root *os.Root, name string) error {
	err := root.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
