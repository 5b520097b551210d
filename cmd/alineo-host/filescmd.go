package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
)

func newFiles(a *app) *cobra.Command {
	cmd := group("files", "List, read, write, move and remove files of a sandbox",
		"  alineo-host files ls 6f1c2d3e /workspace\n  alineo-host files cat 6f1c2d3e /etc/os-release",
		newFilesLs(a), newFilesCat(a), newFilesWrite(a), newFilesRm(a), newFilesMv(a), newFilesMkdir(a), newFilesFind(a), newFilesReplace(a))
	cmd.Long = `files works with the files of a running sandbox; the beginning of its id is enough. Nothing is
recorded in the ledger, and whoever drives the sandbox is not disturbed. See cp for copying whole
directories.`
	return cmd
}

func newFilesLs(a *app) *cobra.Command {
	var depth int
	cmd := &cobra.Command{
		Use:   "ls ID [PATH]",
		Short: "List a directory, / when none is named",
		Long: `ls lists what is in a directory of a sandbox, by path, with permissions, owner, size in bytes and time
of change; with --depth also what is in the directories below it. Of a file, or a link to one, it shows
that. --json prints one file a line, as the server describes it: mode is octal in decimal digits.`,
		Example: `  alineo-host files ls 6f1c2d3e /workspace
  alineo-host files ls --depth 3 --json 6f1c2d3e /workspace`,
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if depth < 1 {
				return &exitError{code: exitUsage, err: fmt.Errorf("--depth %d is less than 1", depth)}
			}
			dir := "/"
			if len(args) > 1 {
				dir = args[1]
			}
			return a.look(cmd.Context(), args[0], func(ctx context.Context, sb *sandbox.Handle) error {
				info, err := sb.Stat(ctx, dir)
				if err != nil {
					return err
				}
				at, target := dir, info
				if info.Type == opensandbox.FileTypeSymlink {
					if at, target, err = follow(ctx, sb, dir); err != nil && !errors.Is(err, opensandbox.ErrNotFound) {
						return err
					}
				}
				if target.Type != opensandbox.FileTypeDirectory {
					return a.printFiles([]opensandbox.FileInfo{info})
				}
				found, err := sb.List(ctx, at, depth)
				if err != nil {
					return err
				}
				for i := range found {
					if below, ok := strings.CutPrefix(found[i].Path, at); ok && at != dir { // as it was asked for
						found[i].Path = path.Join(dir, below)
					}
				}
				return a.printFiles(found)
			})
		},
	}
	cmd.Flags().IntVar(&depth, "depth", 1, "list this many levels of directories")
	return cmd
}

// follow finds what a symbolic link leads to.
func follow(ctx context.Context, sb *sandbox.Handle, link string) (string, opensandbox.FileInfo, error) {
	to, err := sb.RealPath(ctx, link)
	if err != nil {
		return "", opensandbox.FileInfo{}, err
	}
	info, err := sb.Stat(ctx, to)
	return to, info, err
}

func (a *app) printFiles(found []opensandbox.FileInfo) error {
	slices.SortFunc(found, func(a, b opensandbox.FileInfo) int { return cmp.Compare(a.Path, b.Path) })
	if a.out.json {
		for i := range found {
			if err := a.out.data(&found[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if len(found) == 0 {
		a.out.notef("nothing there")
		return nil
	}
	rows := make([][]string, len(found))
	for i, f := range found {
		mode := f.Perm()
		switch f.Type {
		case opensandbox.FileTypeDirectory:
			mode |= fs.ModeDir
		case opensandbox.FileTypeSymlink:
			mode |= fs.ModeSymlink
		case opensandbox.FileTypeOther:
			mode |= fs.ModeIrregular
		}
		rows[i] = []string{
			strings.ToLower(mode.String()), f.Owner, f.Group, strconv.FormatInt(f.Size, 10), f.ModifiedAt.Local().Format(time.DateTime), f.Path,
		}
	}
	return a.out.table([]string{"MODE", "OWNER", "GROUP", "SIZE", "CHANGED", "PATH"}, rows)
}

func newFilesCat(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "cat ID PATH…",
		Short: "Print files as they are",
		Long: `cat prints files of a sandbox, one after the other, byte for byte, however large they are. When one can't
be read to its end, it exits with 1. See cp for copying them.`,
		Example: `  alineo-host files cat 6f1c2d3e /etc/os-release
  alineo-host files cat 6f1c2d3e /workspace/a.bin >a.bin`,
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.MinimumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.look(cmd.Context(), args[0], func(ctx context.Context, sb *sandbox.Handle) error {
				for _, name := range args[1:] {
					body, err := sb.Download(ctx, name)
					if err != nil {
						return err
					}
					_, err = io.Copy(a.out.out, body)
					if err := errors.Join(err, body.Close()); err != nil {
						return fmt.Errorf("printing %s: %w", name, err)
					}
				}
				return nil
			})
		},
	}
}

func newFilesWrite(a *app) *cobra.Command {
	var mode, text string
	cmd := &cobra.Command{
		Use:   "write ID PATH",
		Short: "Write standard input, or a text, to a file",
		Long: `write makes a file of what it reads from standard input, or of --text, with the directories above it. A
file that is there is replaced, and keeps nothing of what it had. It is no change in one step: a reader
may see the beginning of it, and so does one after a failure.`,
		Example: `  echo hello | alineo-host files write 6f1c2d3e /workspace/hello.txt
  alineo-host files write --mode 755 6f1c2d3e /workspace/run.sh <run.sh
  alineo-host files write --text 'a line' 6f1c2d3e /workspace/a.txt`,
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			perm, err := parseMode(mode)
			if err != nil {
				return err
			}
			var src io.Reader = os.Stdin
			if cmd.Flags().Changed("text") {
				src = strings.NewReader(text)
			}
			return a.look(cmd.Context(), args[0], func(ctx context.Context, sb *sandbox.Handle) error {
				if err := sb.Upload(ctx, args[1], src, perm); err != nil {
					return err
				}
				return a.out.changed(change{Type: "written", Path: args[1]})
			})
		},
	}
	cmd.Flags().StringVar(&mode, "mode", "", "permissions in `octal`, such as 755 (default: the server's)")
	cmd.Flags().StringVar(&text, "text", "", "write this instead of standard input")
	return cmd
}

// parseMode reads permissions; empty is 0, which leaves them to the server.
func parseMode(text string) (fs.FileMode, error) {
	if text == "" {
		return 0, nil
	}
	const octal, bits = 8, 12
	n, err := strconv.ParseUint(text, octal, bits)
	if err != nil || n > uint64(fs.ModePerm) {
		return 0, &exitError{code: exitUsage, err: fmt.Errorf("--mode %q is not permissions in octal, such as 644 or 755", text)}
	}
	return fs.FileMode(n), nil
}

func newFilesRm(a *app) *cobra.Command {
	var recursive, force bool
	cmd := &cobra.Command{
		Use:   "rm ID PATH…",
		Short: "Remove files, and with -r directories",
		Long: `rm removes files of a sandbox, and with -r directories with all that is in them. A link is removed, not
what it points to. What is missing is an error, unless --force is given; what comes before it is gone
by then.`,
		Example: `  alineo-host files rm 6f1c2d3e /workspace/a.txt
  alineo-host files rm -r 6f1c2d3e /workspace/build`,
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.MinimumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.look(cmd.Context(), args[0], func(ctx context.Context, sb *sandbox.Handle) error {
				for _, name := range args[1:] {
					if err := remove(ctx, sb, name, recursive, force); err != nil {
						return err
					}
					if err := a.out.changed(change{Type: "removed", Path: name}); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVarP(&recursive, "recursive", "r", false, "remove directories with all that is in them")
	cmd.Flags().BoolVarP(&force, "force", "f", false, "what is missing is no error")
	return cmd
}

// remove looks first: servers take the removal of what is missing for a success.
func remove(ctx context.Context, sb *sandbox.Handle, name string, recursive, force bool) error {
	info, err := sb.Stat(ctx, name)
	switch {
	case force && errors.Is(err, opensandbox.ErrNotFound):
		return nil
	case err != nil:
		return err
	case info.Type != opensandbox.FileTypeDirectory:
		return sb.Remove(ctx, name)
	case !recursive:
		return fmt.Errorf("%s is a directory; -r removes it with all that is in it", name)
	}
	return sb.RemoveDir(ctx, name)
}

func newFilesMv(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "mv ID FROM TO",
		Short: "Give a file or directory another path, which must be free",
		Long: `mv gives a file or directory of a sandbox another path. The directories above it are made; when
something has that path, it is an error and nothing is changed.`,
		Example:           "  alineo-host files mv 6f1c2d3e /workspace/a.txt /workspace/b.txt",
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.ExactArgs(3)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.look(cmd.Context(), args[0], func(ctx context.Context, sb *sandbox.Handle) error {
				if err := sb.Move(ctx, args[1], args[2]); err != nil {
					return err
				}
				return a.out.changed(change{Type: "moved", Path: args[2]})
			})
		},
	}
}

func newFilesMkdir(a *app) *cobra.Command {
	var mode string
	cmd := &cobra.Command{
		Use:   "mkdir ID PATH…",
		Short: "Make directories and their parents",
		Long: `mkdir makes directories of a sandbox, with those above them. One that is there stays as it is, with the
permissions that it has; --mode is for the last one of each path alone.`,
		Example:           "  alineo-host files mkdir 6f1c2d3e /workspace/a/b\n  alineo-host files mkdir --mode 700 6f1c2d3e /workspace/private",
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.MinimumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			perm, err := parseMode(mode)
			if err != nil {
				return err
			}
			return a.look(cmd.Context(), args[0], func(ctx context.Context, sb *sandbox.Handle) error {
				for _, name := range args[1:] {
					if err := sb.MakeDir(ctx, name, perm); err != nil {
						return err
					}
					if err := a.out.changed(change{Type: "made", Path: name}); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&mode, "mode", "", "permissions in `octal` (default 755)")
	return cmd
}

func newFilesFind(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "find ID PATH PATTERN",
		Short: "List the files below a directory whose name matches a pattern",
		Long: `find looks through a directory of a sandbox and all that are below it, for files whose name, without what
is above it, matches a pattern: * is any text, ? one character, [a-z] one of several, {a,b} one of both.
Directories are not found. It prints what ls does.`,
		Example:           "  alineo-host files find 6f1c2d3e /workspace '*.txt'",
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.ExactArgs(3)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.look(cmd.Context(), args[0], func(ctx context.Context, sb *sandbox.Handle) error {
				found, err := sb.Search(ctx, args[1], args[2])
				if err != nil {
					return err
				}
				return a.printFiles(found)
			})
		},
	}
}

func newFilesReplace(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "replace ID PATH OLD NEW",
		Short: "Replace all occurrences of a text in a file",
		Long: `replace puts NEW in the place of every OLD in a file and says how many there were. OLD is a text, no
pattern. When there is none, it exits with 1.`,
		Example:           "  alineo-host files replace 6f1c2d3e /workspace/app.conf debug=0 debug=1",
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.ExactArgs(4)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, old := args[1], args[2]
			if old == "" {
				return &exitError{code: exitUsage, err: errors.New("the text to replace is empty")}
			}
			return a.look(cmd.Context(), args[0], func(ctx context.Context, sb *sandbox.Handle) error {
				count, err := sb.Replace(ctx, name, old, args[3])
				if err != nil {
					return err
				}
				if a.out.json {
					if err := a.out.data(struct {
						Path  string `json:"path"`
						Count int    `json:"count"` // -1: the server does not say
					}{name, count}); err != nil {
						return err
					}
				}
				if count == 0 {
					return fmt.Errorf("%s: %q is not in it", name, old)
				}
				a.out.notef("replaced %s in %s", occurrences(count), name)
				return nil
			})
		},
	}
}

func occurrences(count int) string {
	switch count {
	case -1:
		return "what there was" // not every server counts
	case 1:
		return "1 occurrence"
	}
	return strconv.Itoa(count) + " occurrences"
}
