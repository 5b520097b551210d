package layer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Submounts are the mounts below the host's top directories, by top
// directory. In a user namespace overlay takes no directory with such: what a
// mount covers must stay covered.
func Submounts(tops []string) (map[string][]string, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("reading mounts: %w", err)
	}
	defer func() { _ = f.Close() }()
	return submounts(f, tops)
}

func submounts(r io.Reader, tops []string) (map[string][]string, error) {
	found := map[string][]string{}
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		f := strings.Fields(sc.Text())
		if len(f) < 5 {
			continue
		}
		at := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(f[4])
		top, below, _ := strings.Cut(strings.TrimPrefix(at, "/"), "/")
		if below != "" && slices.Contains(tops, top) {
			found[top] = append(found[top], at)
		}
	}
	return found, sc.Err()
}

// Copyable are the top directories that a base layer can hold whole instead
// of lying above them: small ones. Containers have mounts in /etc.
func Copyable(top string) bool { return top == "etc" }

// copyTop copies what of a top directory isn't hidden. What is mounted below
// it stays out, as it would below an overlay: it may be anything.
func (b *Base) copyTop(root, dir, top string) error {
	hidden := map[string]bool{}
	for _, h := range b.hidden {
		hidden[h.path] = true
	}
	return filepath.WalkDir(filepath.Join(root, top), func(path string, e fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(root, path)
		if rerr != nil {
			return rerr
		}
		switch {
		case slices.Contains(b.mounts, "/"+rel) && err == nil && e.IsDir():
			return skipMount(filepath.Join(dir, rel))
		case slices.Contains(b.mounts, "/"+rel):
			return nil
		case hidden[rel] && (err != nil || e.IsDir()):
			return fs.SkipDir
		case hidden[rel], errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		}
		return copyEntry(path, filepath.Join(dir, rel), e)
	})
}

// skipMount leaves an empty directory where something is mounted.
func skipMount(at string) error {
	if err := mkdir(at, 0o755); err != nil {
		return err
	}
	return fs.SkipDir
}

func copyEntry(from, to string, e fs.DirEntry) error {
	st, err := e.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // gone since
	}
	if err != nil {
		return err
	}
	switch {
	case st.IsDir():
		return mkdir(to, st.Mode().Perm()|st.Mode()&(fs.ModeSticky|fs.ModeSetgid)|0o700)
	case st.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case !st.Mode().IsRegular():
		return nil
	}
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, st.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if err == nil {
		err = dst.Chmod(st.Mode().Perm())
	}
	return errors.Join(err, dst.Close(), os.Chtimes(to, st.ModTime(), st.ModTime()))
}

// sumTop adds to a digest how the files of a copied directory are, so that a
// change makes another layer.
func sumTop(w io.Writer, root, top string) error {
	return filepath.WalkDir(filepath.Join(root, top), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			if e != nil && e.IsDir() {
				return fs.SkipDir // it is hidden
			}
			return nil //nolint:nilerr // gone since
		}
		st, err := e.Info()
		if err == nil {
			_, err = fmt.Fprintf(w, "copy %s %v %d %d\n", path, st.Mode(), st.Size(), st.ModTime().UnixNano())
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}
