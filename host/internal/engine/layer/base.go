package layer

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/alineo-labs/alineo-host/host/internal/engine/jail"
)

// Tops are the host's top directories that sandboxes see, as far as they are
// there. Others (/root, /home, /mnt, whatever else lies in /) are private.
func Tops() []string {
	var tops []string
	for _, name := range []string{"usr", "etc", "opt", "srv", "var", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix", "gnu"} {
		if st, err := os.Lstat("/" + name); err == nil && st.IsDir() {
			tops = append(tops, name)
		}
	}
	return tops
}

// maxScan bounds how many files of one directory are looked at for what must
// be hidden. A directory with more is hidden whole.
const maxScan = 400_000

// scanned are the places where a machine keeps what isn't everybody's. The
// rest of /usr is programs, and they are public.
func scanned() []string { return []string{"etc", "var", "opt", "srv", "usr/local/etc"} }

// hidden is one thing that a sandbox must not see.
type hidden struct {
	path string // relative to /
	dir  bool
	mode fs.FileMode
}

// scan lists what in the host's tree an ordinary user of the machine can't
// read, and what belongs to the machine alone. A sandbox's root maps to a
// user who can read more (root, perhaps), so permissions are no wall.
func scan(root string, tops []string) ([]hidden, error) {
	shown := map[string]bool{}
	for _, t := range tops {
		shown[t] = true
	}
	var out []hidden
	for _, top := range scanned() {
		first, _, _ := strings.Cut(top, "/")
		if !shown[first] {
			continue
		}
		found, err := scanTop(root, top)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].path < out[j].path })
	return out, nil
}

func scanTop(root, top string) (out []hidden, err error) {
	n := 0
	err = filepath.WalkDir(filepath.Join(root, top), func(path string, e fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(root, path)
		if rerr != nil {
			return rerr
		}
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			// We can't look into it, so neither can the sandbox.
			out = append(out, hidden{path: rel, dir: true, mode: 0o700})
			return fs.SkipDir
		}
		if n++; n > maxScan {
			out = []hidden{{path: top, dir: true, mode: 0o755}}
			return fs.SkipAll
		}
		if e.Type()&fs.ModeSymlink != 0 {
			return nil
		}
		st, err := e.Info()
		if err != nil {
			return nil //nolint:nilerr // gone since
		}
		want := fs.FileMode(0o004)
		if e.IsDir() {
			want = 0o005
		}
		private := rel == "var/tmp" || jail.IsSecret("/"+rel)
		if st.Mode()&want == want && !private && st.Mode().Type()&(fs.ModeDevice|fs.ModeSocket) == 0 {
			return nil
		}
		out = append(out, hidden{path: rel, dir: e.IsDir(), mode: st.Mode()})
		if e.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for private files in /%s: %w", top, err)
	}
	return out, nil
}

// Base is the plan of a base layer.
type Base struct {
	// Digest names its content: equal plans have equal digests.
	Digest string
	tops   []string
	copied []string // of tops, those that it holds whole
	mounts []string // below those
	hidden []hidden
	image  bool // /etc is in the root layer
}

// PlanBase looks at the machine. The layer will hold the top directories in
// copied as a whole; it lies above the others.
func PlanBase(copied []string) (*Base, error) {
	tops := Tops()
	found, err := scan("/", tops)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	for _, t := range tops {
		_, _ = fmt.Fprintf(h, "top %s\n", t) // a hash takes everything
	}
	for _, f := range found {
		_, _ = fmt.Fprintf(h, "%s %v %o\n", f.path, f.dir, f.mode)
	}
	for _, l := range links() {
		_, _ = fmt.Fprintf(h, "link %s %s\n", l.name, l.target)
	}
	mounts, err := Submounts(copied)
	if err != nil {
		return nil, err
	}
	b := &Base{tops: tops, copied: copied, hidden: found}
	for _, top := range copied {
		if err := sumTop(h, "/", top); err != nil {
			return nil, fmt.Errorf("looking at /%s: %w", top, err)
		}
		b.mounts = append(b.mounts, mounts[top]...)
	}
	_, _ = fmt.Fprintf(h, "mounts %q\n", b.mounts) // a hash takes everything
	b.Digest = hex.EncodeToString(h.Sum(nil)[:8])
	return b, nil
}

type link struct{ name, target string }

// links are the links in the host's / that programs rely on (/bin → usr/bin).
func links() []link {
	var out []link
	for _, name := range []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32"} {
		if target, err := os.Readlink("/" + name); err == nil {
			out = append(out, link{name, target})
		}
	}
	return out
}

// Skeleton is a base that hides nothing: for trying whether a sandbox's root
// can be built.
func Skeleton() *Base { return &Base{tops: Tops()} }

// ForImages is the base layer of sandboxes that are made from an image: nothing of the host's is below
// it, so it hides nothing.
func ForImages() *Base { return &Base{Digest: "image-1", image: true} }

// Build writes the layer into dir, which must be new.
func (b *Base) Build(dir string) error {
	root := filepath.Join(dir, jail.RootLayer)
	if err := os.MkdirAll(root, 0o755); err != nil {
		return fmt.Errorf("making the base layer: %w", err)
	}
	dirs := append([]string{"proc", "sys", "dev", "run", "home", "mnt", "media", "workspace"}, b.tops...)
	for _, d := range dirs {
		if err := os.Mkdir(filepath.Join(root, d), 0o755); err != nil {
			return fmt.Errorf("making the base layer: %w", err)
		}
	}
	for d, mode := range map[string]fs.FileMode{"root": 0o700, "tmp": 0o777 | fs.ModeSticky} {
		if err := mkdir(filepath.Join(root, d), mode); err != nil {
			return fmt.Errorf("making the base layer: %w", err)
		}
	}
	if b.image {
		return b.etc(root)
	}
	for _, l := range links() {
		if err := os.Symlink(l.target, filepath.Join(root, l.name)); err != nil {
			return fmt.Errorf("making the base layer: %w", err)
		}
	}
	for _, top := range b.copied {
		if err := b.copyTop("/", dir, top); err != nil {
			return fmt.Errorf("copying /%s: %w", top, err)
		}
	}
	for _, h := range b.hidden {
		if first, _, _ := strings.Cut(h.path, "/"); slices.Contains(b.copied, first) {
			continue // it was never copied
		}
		if err := b.hide(dir, h); err != nil {
			return fmt.Errorf("hiding /%s: %w", h.path, err)
		}
	}
	return b.etc(dir)
}

func (b *Base) hide(dir string, h hidden) error {
	at := filepath.Join(dir, h.path)
	if err := mkdirLike("/", dir, filepath.Dir(h.path)); err != nil {
		return err
	}
	if !h.dir {
		return whiteout(at)
	}
	mode := h.mode.Perm() | h.mode&(fs.ModeSticky|fs.ModeSetgid)
	if err := mkdir(at, mode|0o700); err != nil {
		return err
	}
	return makeOpaque(at)
}

// etc writes the files that say who this machine is.
func (b *Base) etc(dir string) error {
	if err := mkdirLike("/", dir, "etc"); err != nil {
		return fmt.Errorf("making the base layer: %w", err)
	}
	for name, content := range map[string]string{
		"hosts":       "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n127.0.1.1\tsandbox\n",
		"hostname":    "sandbox\n",
		"resolv.conf": "nameserver 198.18.0.1\n", // any address answers, where there is a way out
	} {
		at := filepath.Join(dir, "etc", name)
		err := os.Remove(at) // of a copy it may be a link
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			err = os.WriteFile(at, []byte(content), 0o644)
		}
		if err != nil {
			return fmt.Errorf("making the base layer: %w", err)
		}
	}
	return nil
}

func mkdir(path string, mode fs.FileMode) error {
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Chmod(path, mode)
}

// mkdirLike makes rel below dir with the modes that its directories have
// below root: in an overlay the upper directory's mode is what counts.
func mkdirLike(root, dir, rel string) error {
	at := filepath.Join(dir, rel)
	if _, err := os.Lstat(at); err == nil {
		return nil
	}
	if rel != "." {
		if err := mkdirLike(root, dir, filepath.Dir(rel)); err != nil {
			return err
		}
	}
	mode := fs.FileMode(0o755)
	if st, err := os.Stat(filepath.Join(root, rel)); err == nil {
		mode = st.Mode().Perm() | st.Mode()&(fs.ModeSticky|fs.ModeSetgid)
	}
	return mkdir(at, mode)
}
