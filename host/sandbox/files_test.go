package sandbox_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h, other := r.create(sandbox.CreateOptions{}), r.create(sandbox.CreateOptions{})
	ctx := t.Context()
	binary := []byte("\x00\xff\xfe binary \r\n\x80")
	must(t, h.MakeDir(ctx, "/tmp/d/e", 0))
	must(t, h.WriteFile(ctx, "/tmp/d/e/bin", binary, 0o750))
	must(t, h.WriteFile(ctx, "/tmp/d/text.txt", []byte("one two one"), 0))
	if info, err := h.Stat(ctx, "/tmp/d/e/bin"); err != nil || info.Size != int64(len(binary)) || info.Perm() != 0o750 || info.Type != opensandbox.FileTypeFile {
		t.Errorf("got %+v, %v", info, err)
	}
	if found, err := h.Search(ctx, "/tmp/d", "*.txt"); err != nil || len(found) != 1 || found[0].Path != "/tmp/d/text.txt" {
		t.Errorf("got %+v, %v", found, err)
	}
	if data, err := h.ReadFile(ctx, "/tmp/d/e/bin"); err != nil || !bytes.Equal(data, binary) {
		t.Errorf("got %q, %v", data, err)
	}
	body, err := h.DownloadRange(ctx, "/tmp/d/text.txt", 4, 3)
	must(t, err)
	if got := readAll(t, body); got != "two" {
		t.Errorf("got %q", got)
	}
	if n, err := h.Replace(ctx, "/tmp/d/text.txt", "one", "1"); err != nil || n != 2 {
		t.Errorf("got %d, %v", n, err)
	}
	must(t, h.Move(ctx, "/tmp/d/text.txt", "/tmp/d/f/moved.txt"))
	must(t, h.SetAttributes(ctx, "/tmp/d/f/moved.txt", opensandbox.Attributes{Mode: 0o600}))
	list, err := h.List(ctx, "/tmp/d", 2)
	must(t, err)
	var paths []string
	for _, info := range list {
		paths = append(paths, strings.TrimPrefix(info.Path, "/tmp/d/"))
	}
	if want := []string{"e", "e/bin", "f", "f/moved.txt"}; !slices.Equal(paths, want) {
		t.Errorf("got %q", paths)
	}
	must(t, h.Transfer(ctx, "/tmp/d/e/bin", other, ""))
	must(t, h.Transfer(ctx, "/tmp/d/f/moved.txt", other, "/tmp/copy"))
	if data, err := other.ReadFile(ctx, "/tmp/d/e/bin"); err != nil || !bytes.Equal(data, binary) {
		t.Errorf("got %q, %v", data, err)
	}
	if info, err := other.Stat(ctx, "/tmp/copy"); err != nil || info.Perm() != 0o600 {
		t.Errorf("got %+v, %v", info, err)
	}
	must(t, h.Remove(ctx, "/tmp/d/f/moved.txt", "/tmp/d/nothing"))
	if _, err := h.Stat(ctx, "/tmp/d/f/moved.txt"); !errors.Is(err, opensandbox.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	must(t, h.RemoveDir(ctx, "/tmp/d"))
	if _, err := h.ReadFile(ctx, "/tmp/d/e/bin"); !errors.Is(err, opensandbox.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	var where *sandbox.Error
	if err := h.Move(ctx, "/nope", "/tmp/x"); !errors.As(err, &where) || where.SandboxID != h.ID() || where.Op != "moving file" {
		t.Errorf("got %v", err)
	}
	r.wantEvents(h, "sandbox.created") // files are not recorded
	must(t, h.Close(ctx))
	if _, err := h.Stat(ctx, "/tmp"); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// A path is followed to where it leads, which is not recorded.
func TestRealPath(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	must(t, h.WriteFile(t.Context(), "/tmp/a dir/it's", nil, 0))
	r.run(h, `cd /tmp; ln -s "a dir" dir; ln -s "dir/it's" file; ln -s nowhere dangling; ln -s loop loop`)
	for path, want := range map[string]string{
		"/tmp/dir": "/tmp/a dir", "/tmp/dir/../file": "/tmp/a dir/it's", "/tmp/file": "/tmp/a dir/it's", "/tmp/a dir/": "/tmp/a dir",
		"/tmp/dangling": "/tmp/nowhere", "/tmp/dir/new": "/tmp/a dir/new", "/": "/",
	} {
		if got, err := h.RealPath(t.Context(), path); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", path, got, err, want)
		}
	}
	for _, path := range []string{"", "/tmp/loop", "/no/such/path"} {
		if got, err := h.RealPath(t.Context(), path); err == nil {
			t.Errorf("%s: got %q", path, got)
		}
	}
	r.wantEvents(h, "sandbox.created exec.started:1 exec.completed:1")
}

// plant writes a tree that has everything.
func plant(t *testing.T, dir string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Join(dir, "sub", "empty"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "run.sh"), []byte("#!/bin/sh\n"), 0o755)) //nolint:gosec // its mode is what is tried
	must(t, os.WriteFile(filepath.Join(dir, "sub", "it's ünï.bin"), bytes.Repeat([]byte{0, 1, 0xff}, 100<<10), 0o600))
	must(t, os.Symlink("sub/it's ünï.bin", filepath.Join(dir, "link")))
	must(t, os.Symlink("/etc/nothing-here", filepath.Join(dir, "dangling")))
}

// picture describes a tree.
func picture(t *testing.T, dir string) (lines []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		line := strings.TrimPrefix(name, dir) + " " + info.Mode().Type().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			line += " " + info.Mode().Perm().String() + " " + string(data[:min(12, len(data))]) + info.ModTime().Format("150405")
		case info.Mode().Type() == fs.ModeSymlink:
			to, err := os.Readlink(name)
			if err != nil {
				return err
			}
			line += " " + to
		}
		lines = append(lines, line)
		return nil
	}))
	return lines
}

func TestCopyTree(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	from, back := t.TempDir(), filepath.Join(t.TempDir(), "deep", "back")
	plant(t, from)
	var in, out sandbox.CopyProgress
	must(t, h.CopyIn(t.Context(), from, "/tmp/a tree/x", sandbox.CopyOptions{Progress: func(p sandbox.CopyProgress) { in = p }}))
	if got := r.run(h, "cd '/tmp/a tree/x' && ls -A && ls -A /tmp && [ -x run.sh ] && readlink link"); !strings.HasSuffix(got.Stdout, "sub/it's ünï.bin\n") || strings.Contains(got.Stdout, "alineo") {
		t.Errorf("got %+v", got)
	}
	must(t, h.CopyOut(t.Context(), "/tmp/a tree/x", back, sandbox.CopyOptions{Progress: func(p sandbox.CopyProgress) { out = p }}))
	if got, want := picture(t, back), picture(t, from); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if in.Files != 2 || out.Files != 2 || in.Bytes != 10+300<<10 || out.Bytes != in.Bytes {
		t.Errorf("progress %+v and %+v", in, out)
	}
	// Again, over what is there.
	must(t, h.CopyOut(t.Context(), "/tmp/a tree/x", back, sandbox.CopyOptions{}))
	must(t, h.CopyIn(t.Context(), from, "/tmp/a tree/x", sandbox.CopyOptions{}))

	single := filepath.Join(t.TempDir(), "single")
	must(t, h.CopyIn(t.Context(), filepath.Join(from, "run.sh"), "/tmp/one", sandbox.CopyOptions{}))
	must(t, h.CopyOut(t.Context(), "/tmp/one", single, sandbox.CopyOptions{}))
	if info, err := os.Stat(single); err != nil || info.Mode().Perm() != 0o755 || info.Size() != 10 {
		t.Errorf("got %v, %v", info, err)
	}
	r.run(h, "ln -s /tmp/one /tmp/to-file; ln -s '/tmp/a tree/x' /tmp/to-dir")
	must(t, h.CopyOut(t.Context(), "/tmp/to-file", single, sandbox.CopyOptions{}))
	linked := filepath.Join(t.TempDir(), "linked")
	must(t, h.CopyOut(t.Context(), "/tmp/to-dir", linked, sandbox.CopyOptions{}))
	if got, want := picture(t, linked), picture(t, from); !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if err := h.CopyIn(t.Context(), filepath.Join(from, "nope"), "/tmp/n", sandbox.CopyOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if err := h.CopyOut(t.Context(), "/nope", single, sandbox.CopyOptions{}); !errors.Is(err, opensandbox.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if err := h.CopyIn(t.Context(), from, "/dev/null/x", sandbox.CopyOptions{}); err == nil || !strings.Contains(err.Error(), "/dev/null") {
		t.Errorf("got %v", err)
	}
	r.wantEvents(h, "sandbox.created exec.started:1 exec.completed:1 exec.started:2 exec.completed:2")
}

// A large file tells how far it is while it is on its way.
func TestCopyTellsBytes(t *testing.T) {
	t.Parallel()
	const size = 5<<20 + 7
	r := newRig(t)
	h := r.create(sandbox.CreateOptions{})
	dir, back := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "large"), make([]byte, size), 0o600))
	for _, c := range []struct {
		what string
		do   func(sandbox.CopyOptions) error
	}{
		{"file in", func(o sandbox.CopyOptions) error {
			return h.CopyIn(t.Context(), filepath.Join(dir, "large"), "/tmp/large", o)
		}},
		{"tree in", func(o sandbox.CopyOptions) error { return h.CopyIn(t.Context(), dir, "/tmp/tree", o) }},
		{"file out", func(o sandbox.CopyOptions) error {
			return h.CopyOut(t.Context(), "/tmp/large", filepath.Join(back, "f"), o)
		}},
		{"tree out", func(o sandbox.CopyOptions) error {
			return h.CopyOut(t.Context(), "/tmp/tree", filepath.Join(back, "t"), o)
		}},
	} {
		var before sandbox.CopyProgress
		underway := 0
		must(t, c.do(sandbox.CopyOptions{Progress: func(p sandbox.CopyProgress) {
			if p.Bytes < before.Bytes || p.Path != "large" {
				t.Errorf("%s: %+v after %+v", c.what, p, before)
			}
			if before = p; p.Files == 0 {
				underway++
			}
		}}))
		if underway < 4 || before != (sandbox.CopyProgress{Path: "large", Files: 1, Bytes: size}) {
			t.Errorf("%s: told %d times on its way, and at last %+v", c.what, underway, before)
		}
	}
}

func TestTransferOfALostFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h, other := r.create(sandbox.CreateOptions{}), r.create(sandbox.CreateOptions{})
	must(t, h.WriteFile(t.Context(), "/tmp/f", bytes.Repeat([]byte("x"), 1<<20), 0))
	r.wire.do("GET", "/files/download", func(req *http.Request) (*http.Response, error) {
		resp, err := pass(req)
		if err == nil {
			resp.Body = struct {
				io.Reader
				io.Closer
			}{io.MultiReader(io.LimitReader(resp.Body, 1000), broken{}), resp.Body}
		}
		return resp, err
	})
	if err := h.Transfer(t.Context(), "/tmp/f", other, ""); err == nil {
		t.Error("half a file was a success")
	}
	if _, err := h.ReadFile(t.Context(), "/tmp/f"); err == nil {
		t.Error("half a file was a success")
	}
	if err := h.Transfer(t.Context(), "/tmp/f", nil, ""); !errors.Is(err, sandbox.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}
