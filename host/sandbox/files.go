package sandbox

import (
	"bytes"
	"context"
	"io"
	"io/fs"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// Files are not recorded in the ledger and not replayed: a resumed sandbox has them from its
// snapshot.

// WriteFile writes a file, making its parents. perm 0 is 0644. A path with a $ in it is refused,
// because the sandbox would expand it.
func (h *Handle) WriteFile(ctx context.Context, path string, data []byte, perm fs.FileMode) error {
	return h.Upload(ctx, path, bytes.NewReader(data), perm)
}

// Upload is WriteFile for content of any size.
func (h *Handle) Upload(ctx context.Context, path string, content io.Reader, perm fs.FileMode) error {
	const op = "writing file"
	if err := h.ready(); err != nil {
		return h.fail(op, err)
	}
	return h.fail(op, h.execd.Upload(ctx, opensandbox.Upload{Path: path, Content: content, Mode: perm}))
}

// ReadFile reads a whole file into memory. See [Handle.Download] for large ones.
func (h *Handle) ReadFile(ctx context.Context, path string) ([]byte, error) {
	body, err := h.Download(ctx, path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(body)
	_ = body.Close() // what mattered of it was the end of reading
	if err != nil {
		return nil, h.fail("reading file", err)
	}
	return data, nil
}

// Download opens a file for reading. Close what it returns. A read that ends with anything but
// io.EOF did not get the whole file.
func (h *Handle) Download(ctx context.Context, path string) (io.ReadCloser, error) {
	const op = "reading file"
	if err := h.ready(); err != nil {
		return nil, h.fail(op, err)
	}
	body, err := h.execd.Download(ctx, path)
	if err != nil {
		return nil, h.fail(op, err)
	}
	return body, nil
}
