package sandbox

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// DownloadRange opens length bytes of a file from offset on, or all from there when length is
// negative. Fewer come where the file ends. See [Handle.Download].
func (h *Handle) DownloadRange(ctx context.Context, path string, offset, length int64) (io.ReadCloser, error) {
	const op = "reading file"
	if err := h.ready(); err != nil {
		return nil, h.fail(op, err)
	}
	body, err := h.execd.DownloadRange(ctx, path, offset, length)
	if err != nil {
		return nil, h.fail(op, err)
	}
	return body, nil
}

// Move gives a file or directory another path, which must be free; its parents are made.
func (h *Handle) Move(ctx context.Context, from, to string) error {
	return h.withFiles("moving file", func() error {
		return h.execd.MoveFiles(ctx, opensandbox.Move{From: from, To: to})
	})
}

// Remove deletes files. Those that are missing are a success; a directory is an error.
func (h *Handle) Remove(ctx context.Context, paths ...string) error {
	return h.withFiles("removing files", func() error { return h.execd.RemoveFiles(ctx, paths...) })
}

// MakeDir makes a directory and its parents. One that is there stays as it is. perm 0 is 0755.
func (h *Handle) MakeDir(ctx context.Context, path string, perm fs.FileMode) error {
	const usual fs.FileMode = 0o755
	if perm == 0 {
		perm = usual
	}
	return h.withFiles("making directory", func() error {
		return h.execd.MakeDirectories(ctx, map[string]opensandbox.Attributes{path: {Mode: perm}})
	})
}

// RemoveDir deletes a directory with all that is in it. One that is missing is a success.
func (h *Handle) RemoveDir(ctx context.Context, path string) error {
	return h.withFiles("removing directory", func() error { return h.execd.RemoveDirectories(ctx, path) })
}

// SetAttributes changes a file's permissions, and its owner and group where they are given.
func (h *Handle) SetAttributes(ctx context.Context, path string, attributes opensandbox.Attributes) error {
	return h.withFiles("setting attributes", func() error {
		return h.execd.SetAttributes(ctx, map[string]opensandbox.Attributes{path: attributes})
	})
}

// Replace replaces all occurrences of a text in a file and returns how many there were, -1 when the
// server does not count.
func (h *Handle) Replace(ctx context.Context, path, old, replacement string) (count int, err error) {
	err = h.withFiles("replacing in file", func() error {
		counts, err := h.execd.ReplaceInFiles(ctx, map[string]opensandbox.Replacement{path: {Old: old, New: replacement}})
		count = -1
		if counts != nil {
			count = counts[path]
		}
		return err
	})
	return count, err
}

// Stat describes a file or directory; a symbolic link describes itself.
func (h *Handle) Stat(ctx context.Context, path string) (info opensandbox.FileInfo, err error) {
	err = h.withFiles("describing file", func() error {
		info, err = h.execd.Stat(ctx, path)
		return err
	})
	return info, err
}

// RealPath returns where a path leads: an absolute one without symbolic links. Servers describe a link, and
// don't list what it leads to. The last part of a path may be missing.
func (h *Handle) RealPath(ctx context.Context, path string) (found string, err error) {
	err = h.withFiles("finding real path", func() error {
		if path == "" {
			return fmt.Errorf("%w: the path is empty", ErrInvalid)
		}
		lines, err := h.answer(ctx, fmt.Sprintf("if [ -d %[1]s ]; then cd -P -- %[1]s && pwd -P; else readlink -f -- %[1]s; fi", quote(path)))
		if err == nil && (len(lines) != 1 || !strings.HasPrefix(lines[0], "/")) {
			err = fmt.Errorf("%w: %q leads to no single path, but %q", ErrInvalid, path, lines)
		}
		if err == nil {
			found = lines[0]
		}
		return err
	})
	return found, err
}

// Search returns the files below a directory whose base name matches a pattern, such as *.txt.
func (h *Handle) Search(ctx context.Context, path, pattern string) (found []opensandbox.FileInfo, err error) {
	err = h.withFiles("searching files", func() error {
		found, err = h.execd.Search(ctx, path, pattern)
		return err
	})
	return found, err
}

// List returns what is in a directory and, with a depth above 1, in those below it.
func (h *Handle) List(ctx context.Context, path string, depth int) (found []opensandbox.FileInfo, err error) {
	err = h.withFiles("listing directory", func() error {
		found, err = h.execd.ListDirectory(ctx, path, depth)
		return err
	})
	return found, err
}

// Transfer copies a file into another sandbox, to the same path when to is empty, with its
// permissions. It goes through this process, and is not kept in memory.
func (h *Handle) Transfer(ctx context.Context, path string, target *Handle, to string) error {
	const op = "transferring file"
	if target == nil {
		return h.fail(op, fmt.Errorf("%w: there is no target", ErrInvalid))
	}
	if to == "" {
		to = path
	}
	info, err := h.Stat(ctx, path)
	if err != nil {
		return err
	}
	body, err := h.Download(ctx, path)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // what mattered of it was the end of reading
	return target.Upload(ctx, to, body, info.Perm())
}

func (h *Handle) withFiles(op string, do func() error) error {
	if err := h.ready(); err != nil {
		return h.fail(op, err)
	}
	return h.fail(op, do())
}
