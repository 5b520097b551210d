package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// side is where a copy comes from or goes to.
type side struct {
	id   string // of a sandbox; empty: a local path
	path string // "-" is standard input or output when it is local
}

func (s side) String() string {
	if s.id == "" {
		return s.path
	}
	return s.id + ":" + s.path
}

// parseSide takes ID:PATH for a sandbox's; ./a:b is a local file with a colon in its name.
func parseSide(text string) side {
	id, inside, ok := strings.Cut(text, ":")
	if !ok || id == "" || strings.ContainsAny(id, "/.") {
		return side{path: text}
	}
	return side{id: id, path: inside}
}

func newCp(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "cp SRC DST",
		Short: "Copy files and directories into a sandbox, out of it, or between two",
		Long: `cp copies a file or a whole directory. One side at least is ID:PATH, a path in a running sandbox;
the beginning of an id is enough. A local file whose name has a colon is written as ./a:b.

Into a directory that is there, SRC is copied under its own name; otherwise it becomes DST.
SRC/. copies what is in a directory. A DST that ends with / is a directory and is made. Files that
are there are replaced, permissions and symbolic links are kept, owners are not; for directories,
the sandbox needs tar.

A local - is standard input or output, for a file. Nothing is recorded in the ledger.`,
		Example: `  alineo-host cp words.txt 6f1c2d3e:/workspace/
  alineo-host cp 6f1c2d3e:/workspace/out ./out
  alineo-host cp src/. 6f1c2d3e:/workspace/src
  pg_dump shop | alineo-host cp - 6f1c2d3e:/tmp/shop.sql
  alineo-host cp 6f1c2d3e:/etc/os-release -
  alineo-host cp 6f1c2d3e:/workspace/a.bin 0b9d1e77:/workspace/`,
		ValidArgsFunction: a.completeSides,
		Args:              usage(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, to := parseSide(args[0]), parseSide(args[1])
			if err := checkSides(from, to); err != nil {
				return &exitError{code: exitUsage, err: fmt.Errorf("%w\nexample:\n%s", err, cmd.Example)}
			}
			c := &copier{a: a, from: from, to: to}
			switch {
			case to.id == "":
				return a.look(cmd.Context(), from.id, func(ctx context.Context, sb *sandbox.Handle) error { return c.out(ctx, sb) })
			case from.id == "":
				return a.look(cmd.Context(), to.id, func(ctx context.Context, sb *sandbox.Handle) error { return c.in(ctx, sb) })
			}
			return a.lookAtTwo(cmd.Context(), from.id, to.id, func(ctx context.Context, source, target *sandbox.Handle) error {
				return c.between(ctx, source, target)
			})
		},
	}
}

func checkSides(from, to side) error {
	switch {
	case from.id == "" && to.id == "":
		return fmt.Errorf("neither %q nor %q is in a sandbox; write ID:PATH for what is", from, to)
	case from.path == "" || to.path == "":
		return fmt.Errorf("a path is missing after the colon: %s", strings.TrimSpace(from.String()+" "+to.String()))
	}
	return nil
}

// copier is one copy.
type copier struct {
	a        *app
	from, to side
}

func (c *copier) in(ctx context.Context, sb *sandbox.Handle) error {
	if c.from.path == "-" {
		return c.upload(ctx, sb, os.Stdin, c.to.path, 0)
	}
	info, err := os.Stat(c.from.path)
	if err != nil {
		return fmt.Errorf("copying: %w", err)
	}
	to, err := c.remoteTarget(ctx, sb, c.from.path, info.IsDir())
	if err != nil {
		return err
	}
	if info.IsDir() {
		return c.tree(to, func(opts sandbox.CopyOptions) error { return sb.CopyIn(ctx, c.from.path, to, opts) })
	}
	file, err := os.Open(c.from.path)
	if err != nil {
		return fmt.Errorf("copying: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	return c.upload(ctx, sb, file, to, info.Mode().Perm())
}

func (c *copier) upload(ctx context.Context, sb *sandbox.Handle, src io.Reader, to string, perm os.FileMode) error {
	p := c.a.newProgress(c.from.path)
	defer p.clear()
	if err := sb.Upload(ctx, to, io.TeeReader(src, p), perm); err != nil {
		return err
	}
	return c.copied(to, 1, p.bytes)
}

func (c *copier) tree(to string, do func(sandbox.CopyOptions) error) error {
	p := c.a.newProgress("")
	defer p.clear()
	var last sandbox.CopyProgress
	err := do(sandbox.CopyOptions{Progress: func(now sandbox.CopyProgress) {
		last = now
		p.show(now.Bytes, count(now.Files, "file")+", "+now.Path)
	}})
	if err != nil {
		return err
	}
	p.clear()
	c.a.out.progressf("copied %s, %s", count(last.Files, "file"), bytesText(last.Bytes))
	return c.copied(to, last.Files, last.Bytes)
}

// copied tells programs what was copied.
func (c *copier) copied(to string, files int, bytes int64) error {
	return c.a.out.changed(change{Type: "copied", Path: to, Files: files, Bytes: bytes})
}

// remoteTarget says which path in the sandbox the source becomes.
func (c *copier) remoteTarget(ctx context.Context, sb *sandbox.Handle, from string, tree bool) (string, error) {
	to, base := c.to.path, filepath.Base(from)
	if tree && contentOf(from) {
		return to, nil
	}
	if strings.HasSuffix(to, "/") {
		if err := sb.MakeDir(ctx, to, 0); err != nil {
			return "", err
		}
		return path.Join(to, base), nil
	}
	into, err := isDir(ctx, sb, to)
	if err != nil {
		return "", err
	}
	if into {
		return path.Join(to, base), nil
	}
	return to, nil
}

// contentOf tells whether a path is written as DIR/. or .
func contentOf(name string) bool {
	return name == "." || name == ".." || strings.HasSuffix(name, "/.") || strings.HasSuffix(name, "/..")
}

// isDir tells whether a path of the sandbox is a directory, or a link to one.
func isDir(ctx context.Context, sb *sandbox.Handle, name string) (bool, error) {
	info, err := sb.Stat(ctx, name)
	switch {
	case errors.Is(err, opensandbox.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case info.Type == opensandbox.FileTypeSymlink:
		_, info, err = follow(ctx, sb, name)
		if errors.Is(err, opensandbox.ErrNotFound) {
			return false, nil // it leads nowhere
		}
		if err != nil {
			return false, err
		}
	}
	return info.Type == opensandbox.FileTypeDirectory, nil
}

func (c *copier) out(ctx context.Context, sb *sandbox.Handle) error {
	info, err := sb.Stat(ctx, c.from.path)
	if err != nil {
		return err
	}
	tree := info.Type != opensandbox.FileTypeFile
	if tree {
		if tree, err = isDir(ctx, sb, c.from.path); err != nil {
			return err
		}
	}
	if c.to.path == "-" {
		if tree {
			return fmt.Errorf("%s is a directory; only a file can be copied to standard output", c.from)
		}
		return c.download(ctx, sb, c.a.out.out)
	}
	to, err := c.localTarget(tree)
	if err != nil {
		return err
	}
	if tree {
		return c.tree(to, func(opts sandbox.CopyOptions) error { return sb.CopyOut(ctx, c.from.path, to, opts) })
	}
	if err := c.fileOut(ctx, sb, to, info.Perm()); err != nil {
		return err
	}
	return c.copied(to, 1, info.Size)
}

func (c *copier) localTarget(tree bool) (string, error) {
	to := c.to.path
	if tree && contentOf(c.from.path) {
		return to, nil
	}
	if strings.HasSuffix(to, "/") {
		const usual = 0o755
		if err := os.MkdirAll(to, usual); err != nil {
			return "", fmt.Errorf("copying: %w", err)
		}
	}
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		base := path.Base(path.Clean(c.from.path))
		if base == "/" || base == "." || base == ".." {
			return to, nil
		}
		return filepath.Join(to, base), nil
	}
	return to, nil
}

// fileOut writes a file beside its place first: what is there stays whole when the copy fails.
func (c *copier) fileOut(ctx context.Context, sb *sandbox.Handle, to string, perm os.FileMode) (err error) {
	if info, err := os.Lstat(to); err == nil && !info.Mode().IsRegular() {
		file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm) // a device, a pipe or a link stays what it is
		if err != nil {
			return fmt.Errorf("copying: %w", err)
		}
		return errors.Join(c.download(ctx, sb, file), file.Close())
	}
	part, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+".part-*")
	if err != nil {
		return fmt.Errorf("copying: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(part.Name()))
		}
	}()
	err = c.download(ctx, sb, part)
	if err == nil {
		err = part.Chmod(perm)
	}
	if closeErr := part.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(part.Name(), to)
}

func (c *copier) download(ctx context.Context, sb *sandbox.Handle, dst io.Writer) error {
	body, err := sb.Download(ctx, c.from.path)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // what mattered of it was the end of reading
	p := c.a.newProgress(c.from.path)
	defer p.clear()
	if _, err := io.Copy(dst, io.TeeReader(body, p)); err != nil {
		return fmt.Errorf("copying %s: %w", c.from, err)
	}
	return nil
}

func (c *copier) between(ctx context.Context, source, target *sandbox.Handle) error {
	tree, err := isDir(ctx, source, c.from.path)
	if err != nil {
		return err
	}
	to, err := c.remoteTarget(ctx, target, c.from.path, tree)
	if err != nil {
		return err
	}
	if !tree {
		if err := source.Transfer(ctx, c.from.path, target, to); err != nil {
			return err
		}
		return c.copied(to, 1, 0)
	}
	between, err := os.MkdirTemp("", "alineo-host-cp-*")
	if err != nil {
		return fmt.Errorf("copying: %w", err)
	}
	err = c.tree(to, func(opts sandbox.CopyOptions) error {
		if err := source.CopyOut(ctx, c.from.path, between, sandbox.CopyOptions{}); err != nil {
			return err
		}
		return target.CopyIn(ctx, between, to, opts)
	})
	return errors.Join(err, os.RemoveAll(between))
}
