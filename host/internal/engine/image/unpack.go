package image

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	securejoin "github.com/cyphar/filepath-securejoin"
	"golang.org/x/sys/unix"

	"github.com/alineo-labs/alineo-host/host/internal/engine/layer"
)

// Bounds of what an image may unpack to. They stop bombs, not large images.
const (
	maxFiles    = 4_000_000
	maxUnpacked = 64 << 30 // bytes
	maxPath     = 4096
)

// The marks of deleted files in a layer.
const (
	whiteoutPrefix = ".wh."
	opaqueMark     = ".wh..wh..opq"
)

// unpacker lays layers over one another in a tree that nobody else writes to.
type unpacker struct {
	root   string
	owners bool // files get the owners that the layers give them
	files  int
	bytes  int64
	dirs   map[string]dirMeta // what directories get at the end, when nothing is written into them any more
	fresh  map[string]bool    // paths that came with the layer at hand
}

type dirMeta struct {
	mode fs.FileMode
	time time.Time
}

func newUnpacker(root string) *unpacker {
	return &unpacker{root: root, owners: os.Geteuid() == 0, dirs: map[string]dirMeta{}}
}

// layer lays one uncompressed layer over the tree and returns the digest of its bytes.
func (u *unpacker) layer(ctx context.Context, r io.Reader) (digest string, err error) {
	h := sha256.New()
	u.fresh = map[string]bool{}
	all := io.TeeReader(r, h)
	t := tar.NewReader(all)
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		head, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", fmt.Errorf("reading a layer: %w", err)
		}
		if err := u.entry(head, t); err != nil {
			return "", fmt.Errorf("unpacking %q: %w", head.Name, err)
		}
	}
	// What follows the archive's end belongs to the digest too.
	if _, err := io.Copy(io.Discard, all); err != nil {
		return "", fmt.Errorf("reading a layer: %w", err)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

var errTooLarge = errors.New("the image is larger than an image may be")

func (u *unpacker) entry(head *tar.Header, content io.Reader) error {
	if u.files++; u.files > maxFiles {
		return errTooLarge
	}
	if len(head.Name) > maxPath || strings.ContainsRune(head.Name, 0) {
		return errors.New("the name is not one of a file")
	}
	rel := path.Clean("/" + head.Name)[1:] // no .. goes above the root
	if rel == "" {
		u.dirs["."] = dirMeta{dirMode(head), head.ModTime}
		return nil
	}
	// Where the name leads inside the tree, links on the way resolved there.
	parent, err := securejoin.SecureJoin(u.root, path.Dir(rel))
	if err != nil {
		return err
	}
	if err := u.makeParents(parent); err != nil {
		return err
	}
	base := path.Base(rel)
	switch {
	case base == opaqueMark:
		return u.clear(parent)
	case strings.HasPrefix(base, whiteoutPrefix):
		return u.delete(filepath.Join(parent, strings.TrimPrefix(base, whiteoutPrefix)))
	}
	at := filepath.Join(parent, base)
	u.fresh[at] = true
	return u.place(at, head, content)
}

// makeParents makes directories that a layer takes for granted.
func (u *unpacker) makeParents(dir string) error {
	st, err := os.Lstat(dir)
	if err == nil && st.IsDir() {
		return nil
	}
	if err == nil { // a file where a directory must be: the newer layer wins
		if err := u.remove(dir); err != nil {
			return err
		}
	}
	if dir == u.root {
		return os.Mkdir(dir, 0o755)
	}
	if err := u.makeParents(filepath.Dir(dir)); err != nil {
		return err
	}
	u.fresh[dir] = true
	return os.Mkdir(dir, 0o755)
}

// clear removes what older layers put into a directory.
func (u *unpacker) clear(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		if !u.fresh[at] {
			err = u.remove(at)
		} else if e.IsDir() {
			err = u.clear(at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// delete removes what an older layer put there.
func (u *unpacker) delete(at string) error {
	if name := filepath.Base(at); name == "." || name == ".." || u.fresh[at] {
		return nil
	}
	return u.remove(at)
}

func (u *unpacker) remove(at string) error {
	if rel, err := filepath.Rel(u.root, at); err == nil {
		maps.DeleteFunc(u.dirs, func(dir string, _ dirMeta) bool {
			return dir == rel || strings.HasPrefix(dir, rel+"/")
		})
	}
	return layer.Remove(at)
}

// place makes one file.
func (u *unpacker) place(at string, head *tar.Header, content io.Reader) error {
	was, err := os.Lstat(at)
	if err == nil && (head.Typeflag != tar.TypeDir || !was.IsDir()) {
		if err := u.remove(at); err != nil {
			return err
		}
	}
	switch head.Typeflag {
	case tar.TypeDir:
		return u.directory(at, head, err == nil && was.IsDir())
	case tar.TypeReg:
		return u.regular(at, head, content)
	case tar.TypeLink:
		return u.hardLink(at, head)
	case tar.TypeSymlink:
		if err := os.Symlink(head.Linkname, at); err != nil {
			return err
		}
		return u.own(at, head)
	case tar.TypeFifo:
		if err := unix.Mkfifo(at, 0o600); err != nil {
			return err
		}
		return u.finish(at, head)
	}
	return nil // devices are the engine's; anything else is no file
}

func dirMode(head *tar.Header) fs.FileMode {
	return head.FileInfo().Mode() & (fs.ModePerm | fs.ModeSticky | fs.ModeSetgid | fs.ModeSetuid)
}

func (u *unpacker) directory(at string, head *tar.Header, there bool) error {
	if !there {
		if err := os.Mkdir(at, 0o700); err != nil {
			return err
		}
	}
	rel, err := filepath.Rel(u.root, at)
	if err != nil {
		return err
	}
	u.dirs[rel] = dirMeta{dirMode(head), head.ModTime}
	return u.own(at, head)
}

func (u *unpacker) regular(at string, head *tar.Header, content io.Reader) error {
	if u.bytes += head.Size; head.Size < 0 || u.bytes > maxUnpacked {
		return errTooLarge
	}
	f, err := os.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return u.finish(at, head)
}

// hardLink links to a file of the tree.
func (u *unpacker) hardLink(at string, head *tar.Header) error {
	to := path.Clean("/" + head.Linkname)[1:]
	parent, err := securejoin.SecureJoin(u.root, path.Dir(to))
	if err != nil {
		return err
	}
	from := filepath.Join(parent, path.Base(to))
	st, err := os.Lstat(from)
	if err != nil {
		return fmt.Errorf("linking to %q: %w", head.Linkname, err)
	}
	if st.IsDir() {
		return fmt.Errorf("linking to %q: it is a directory", head.Linkname)
	}
	return os.Link(from, at)
}

// finish gives a file its owner, mode and time, in the order in which none undoes another.
func (u *unpacker) finish(at string, head *tar.Header) error {
	if err := u.own(at, head); err != nil {
		return err
	}
	if err := os.Chmod(at, dirMode(head)); err != nil {
		return err
	}
	return os.Chtimes(at, time.Time{}, head.ModTime)
}

// maxID is the largest user or group id that means somebody.
const maxID = 1<<32 - 2

func (u *unpacker) own(at string, head *tar.Header) error {
	if !u.owners {
		return nil // an ordinary user's files are its own
	}
	if head.Uid < 0 || head.Gid < 0 || head.Uid > maxID || head.Gid > maxID {
		return fmt.Errorf("owner %d:%d is nobody", head.Uid, head.Gid)
	}
	return os.Lchown(at, head.Uid, head.Gid)
}

// close gives directories their modes and times, the deepest first.
func (u *unpacker) close() error {
	names := slices.Sorted(maps.Keys(u.dirs))
	for _, rel := range slices.Backward(names) {
		at, meta := filepath.Join(u.root, rel), u.dirs[rel]
		if err := os.Chmod(at, meta.mode); err != nil {
			return err
		}
		if err := os.Chtimes(at, time.Time{}, meta.time); err != nil {
			return err
		}
	}
	return nil
}
