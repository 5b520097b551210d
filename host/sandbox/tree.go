package sandbox

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// CopyProgress is how far a copy has come.
type CopyProgress struct {
	Path  string // what was copied last, or is being copied, relative to the tree
	Files int    // regular files that are copied whole
	Bytes int64  // of content, that of a file on its way included
}

// CopyOptions says how to copy a tree.
type CopyOptions struct {
	// Progress is called after each file and directory, and after every MiB of a file, in the goroutine
	// that copies. It may be nil.
	Progress func(CopyProgress)
}

// copyMeter counts what is written to it.
type copyMeter struct {
	CopyProgress

	tell   func(CopyProgress) // may be nil
	untold int64              // bytes since the last time
}

func (m *copyMeter) Write(p []byte) (int, error) {
	const often = 1 << 20
	m.Bytes += int64(len(p))
	if m.untold += int64(len(p)); m.untold >= often {
		m.report()
	}
	return len(p), nil
}

func (m *copyMeter) report() {
	if m.untold = 0; m.tell != nil {
		m.tell(m.CopyProgress)
	}
}

// file says that a file is whole.
func (m *copyMeter) file() {
	m.Files++
	m.report()
}

// CopyIn copies a local file or directory into the sandbox: a file to the path to, a directory's
// content to the directory to, which is made. Files that are there are replaced, others stay.
// Permissions, times and symbolic links are kept, owners are not; devices, sockets and pipes are left
// out. The sandbox needs tar. Nothing is recorded in the ledger.
func (h *Handle) CopyIn(ctx context.Context, from, to string, opts CopyOptions) error {
	const op = "copying in"
	if err := h.ready(); err != nil {
		return h.fail(op, err)
	}
	info, err := os.Stat(from)
	if err != nil {
		return h.fail(op, err)
	}
	if !info.IsDir() {
		return h.copyFileIn(ctx, from, to, info, opts)
	}
	archive := "/tmp/.alineo-copy-" + uuid.NewString()
	reader, writer := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := writeTree(writer, from, opts.Progress)
		_ = writer.CloseWithError(err) // always nil
		written <- err
	}()
	err = h.execd.Upload(ctx, opensandbox.Upload{Path: archive, Content: reader})
	_ = reader.Close() // always nil
	if treeErr := <-written; treeErr != nil && !errors.Is(treeErr, io.ErrClosedPipe) {
		err = treeErr
	}
	defer h.tidy(ctx, archive)
	if err != nil {
		return h.fail(op, err)
	}
	return h.fail(op, h.quiet(ctx, fmt.Sprintf("mkdir -p -- %[1]s && tar -xf %[2]s -C %[1]s", quote(to), archive)))
}

func (h *Handle) copyFileIn(ctx context.Context, from, to string, info fs.FileInfo, opts CopyOptions) error {
	file, err := os.Open(from)
	if err != nil {
		return h.fail("copying in", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	m := copyMeter{tell: opts.Progress, CopyProgress: CopyProgress{Path: path.Base(to)}}
	if err := h.Upload(ctx, to, io.TeeReader(file, &m), info.Mode().Perm()); err != nil {
		return err
	}
	m.file()
	return nil
}

// CopyOut copies a file or directory out of the sandbox: a file to the local path to, a directory's
// content to the directory to, which is made. Nothing is written outside of it, whatever the sandbox
// sends. See [Handle.CopyIn].
func (h *Handle) CopyOut(ctx context.Context, from, to string, opts CopyOptions) error {
	const op = "copying out"
	info, err := h.Stat(ctx, from)
	if err != nil {
		return err
	}
	file := info.Type == opensandbox.FileTypeFile
	if info.Type == opensandbox.FileTypeSymlink {
		file = h.quiet(ctx, "[ ! -d "+quote(from)+" ]") == nil
	}
	if file {
		return h.fail(op, h.copyFileOut(ctx, from, to, info.Perm(), opts))
	}
	archive := "/tmp/.alineo-copy-" + uuid.NewString()
	defer h.tidy(ctx, archive)
	if err := h.quiet(ctx, fmt.Sprintf("tar -cf %s -C %s .", archive, quote(from))); err != nil {
		return h.fail(op, err)
	}
	body, err := h.Download(ctx, archive)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // what mattered of it was the end of reading
	const usual = 0o755
	if err := os.MkdirAll(to, usual); err != nil {
		return h.fail(op, err)
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return h.fail(op, err)
	}
	return h.fail(op, errors.Join(readTree(body, root, opts.Progress), root.Close()))
}

func (h *Handle) copyFileOut(ctx context.Context, from, to string, perm fs.FileMode, opts CopyOptions) (err error) {
	body, err := h.Download(ctx, from)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // what mattered of it was the end of reading
	file, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	m := copyMeter{tell: opts.Progress, CopyProgress: CopyProgress{Path: path.Base(from)}}
	_, err = io.Copy(file, io.TeeReader(body, &m))
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	m.file()
	return nil
}

// quiet runs a command that is not recorded.
func (h *Handle) quiet(ctx context.Context, command string) error {
	_, err := h.answer(ctx, command)
	return err
}

// answer runs a command that is not recorded, and returns the lines that it prints.
func (h *Handle) answer(ctx context.Context, command string) ([]string, error) {
	stream, err := h.execd.Run(ctx, opensandbox.RunRequest{Command: command})
	if err != nil {
		return nil, err
	}
	defer func() { _ = stream.Close() }() // always nil
	var lines []string
	var said strings.Builder
	for {
		frame, err := stream.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, ErrStreamLost) {
			return lines, nil
		}
		if err != nil {
			return nil, err
		}
		const most, mostLines = 4 << 10, 100
		switch {
		case frame.Type == opensandbox.TypeStderr && said.Len() < most:
			said.WriteString(frame.Text() + " ")
		case frame.Type == opensandbox.TypeStdout && len(lines) < mostLines:
			lines = append(lines, frame.Text())
		}
		if frame.Error != nil {
			return nil, fmt.Errorf("the sandbox can't do it: %s%s", said.String(), startMessage(frame.Error))
		}
	}
}

// writeTree writes a directory's content as an archive.
func writeTree(w io.Writer, dir string, progress func(CopyProgress)) error {
	archive := tar.NewWriter(w)
	m := copyMeter{tell: progress}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		link := ""
		switch info.Mode().Type() {
		case 0, fs.ModeDir:
		case fs.ModeSymlink:
			if link, err = os.Readlink(name); err != nil {
				return err
			}
		default:
			return nil
		}
		header, err := tar.FileInfoHeader(info, link)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		header.Name = filepath.ToSlash(relative)
		if info.IsDir() {
			header.Name += "/"
		}
		header.ModTime = header.ModTime.Truncate(time.Second) // else it is rounded, to the future too
		header.Uid, header.Gid, header.Uname, header.Gname = 0, 0, "", ""
		if err := archive.WriteHeader(header); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		m.Path = header.Name
		if !info.Mode().IsRegular() {
			m.report()
			return nil
		}
		if err := writeFile(io.MultiWriter(archive, &m), name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		m.file()
		return nil
	})
	if err != nil {
		return err
	}
	return archive.Close()
}

func writeFile(archive io.Writer, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return errors.Join(err, file.Close())
}
