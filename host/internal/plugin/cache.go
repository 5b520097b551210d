package plugin

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// cache is the directory with machine code. Each module has a directory of its own, named by the
// sha256 of what was compiled; the engine writes its file there under another name and renames it, so
// that several processes may share the cache. The time of a directory is that of its last use.
type cache struct {
	dir string
	max int64 // bytes
}

// openCache makes the directory. Whoever can write to it can run code in this process, so it must be
// the user's own and closed to others.
func openCache(dir string, maxBytes int64) (*cache, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("finding compile cache: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making compile cache: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("looking at compile cache: %w", err)
	}
	if err := private(info); err != nil {
		return nil, fmt.Errorf("compile cache %s: %w", dir, err)
	}
	probe, err := os.CreateTemp(dir, "probe")
	if err != nil {
		return nil, fmt.Errorf("writing to compile cache: %w", err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return nil, fmt.Errorf("writing to compile cache: %w", err)
	}
	return &cache{dir: dir, max: maxBytes}, nil
}

// use returns the directory of a module and marks it as used now.
func (c *cache) use(wasm []byte) (string, error) {
	sum := sha256.Sum256(wasm)
	dir := filepath.Join(c.dir, hex.EncodeToString(sum[:]))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("making compile cache: %w", err)
	}
	now := time.Now()
	if err := os.Chtimes(dir, now, now); err != nil {
		return "", fmt.Errorf("marking compile cache: %w", err)
	}
	return dir, nil
}

// prune removes the modules that were not used for longest until the rest fits. Another process that
// has one of them open keeps it; one that is about to write there compiles without a cache.
func (c *cache) prune() error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return fmt.Errorf("listing compile cache: %w", err)
	}
	type module struct {
		path string
		used time.Time
		size int64
	}
	var modules []module
	var total int64
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !entry.IsDir() || !isDigest(entry.Name()) {
			continue // gone, or not ours
		}
		m := module{path: filepath.Join(c.dir, entry.Name()), used: info.ModTime()}
		m.size = treeSize(m.path)
		total += m.size
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b module) int {
		return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path))
	})
	var errs []error
	for _, m := range modules {
		if total <= c.max {
			break
		}
		if err := os.RemoveAll(m.path); err != nil {
			errs = append(errs, fmt.Errorf("pruning compile cache: %w", err))
			continue
		}
		total -= m.size
	}
	return errors.Join(errs...)
}

// treeSize adds up the files below a directory, as far as they can be seen.
func treeSize(dir string) int64 {
	var size int64
	walk := func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir // gone meanwhile
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	}
	if err := filepath.WalkDir(dir, walk); err != nil {
		return size
	}
	return size
}

func isDigest(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == sha256.Size
}
