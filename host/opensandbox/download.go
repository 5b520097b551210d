package opensandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
)

// Download opens a file in the sandbox for reading. Close what it returns. A read that ends with
// anything but io.EOF did not get the whole file. Cancelling ctx ends it.
func (e *Execd) Download(ctx context.Context, path string) (io.ReadCloser, error) {
	return e.DownloadRange(ctx, path, 0, -1)
}

// DownloadRange is [Execd.Download] of length bytes from offset on, or of all that there is from
// there when length is negative. It returns fewer where the file ends, and none behind its end.
func (e *Execd) DownloadRange(ctx context.Context, path string, offset, length int64) (io.ReadCloser, error) {
	call := call{
		op: "download file", subject: path, to: e.target(), method: http.MethodGet, path: "/files/download",
		query: url.Values{"path": {path}}, idempotent: true,
	}
	if offset < 0 || length > math.MaxInt64-offset {
		return nil, fmt.Errorf("%s: %w: no file has %d bytes from %d on", call.name(), ErrInvalid, length, offset)
	}
	// execd serves a directory as a file of 2^63-1 bytes and then hangs up.
	info, err := e.Stat(ctx, path)
	if err != nil {
		return nil, err
	}
	if info.Type == FileTypeDirectory {
		return nil, fmt.Errorf("%s: %w", call.name(), ErrIsDirectory)
	}
	if length == 0 {
		return http.NoBody, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	part := &partOfBody{offset: offset, left: length}
	var body *liveBody
	err = e.c.retry(ctx, call, func() error {
		var err error
		body, err = e.c.openStream(ctx, cancel, call, part.ask)
		return err
	})
	if err != nil {
		cancel(nil)
		if refused, ok := errors.AsType[*Error](err); ok && offset > 0 && refused.Status == http.StatusRequestedRangeNotSatisfiable {
			return http.NoBody, nil
		}
		return nil, err
	}
	part.src, part.skip = body, offset
	if body.status == http.StatusPartialContent {
		part.skip = 0
	}
	return &download{src: part, body: body, call: call, cancel: cancel}, nil
}

// partOfBody is the asked part of an answer, also when the server sent the whole file instead.
type partOfBody struct {
	src          io.Reader
	offset, left int64 // left is negative without a limit
	skip         int64
}

// ask puts the range into a request.
func (p *partOfBody) ask(req *http.Request) {
	switch {
	case p.left >= 0:
		req.Header.Set("Range", "bytes="+strconv.FormatInt(p.offset, 10)+"-"+strconv.FormatInt(p.offset+p.left-1, 10))
	case p.offset > 0:
		req.Header.Set("Range", "bytes="+strconv.FormatInt(p.offset, 10)+"-")
	}
}

func (p *partOfBody) Read(b []byte) (int, error) {
	for p.skip > 0 {
		n, err := io.CopyN(io.Discard, p.src, p.skip)
		p.skip -= n
		if err != nil {
			return 0, err
		}
	}
	if p.left == 0 {
		return 0, io.EOF
	}
	if p.left > 0 && int64(len(b)) > p.left {
		b = b[:p.left]
	}
	n, err := p.src.Read(b)
	if p.left > 0 {
		p.left -= int64(n)
	}
	return n, err
}

type download struct {
	src    io.Reader
	body   *liveBody
	call   call
	cancel context.CancelCauseFunc
}

func (d *download) Read(p []byte) (int, error) {
	n, err := d.src.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // a body's own io.EOF is bare
		err = fmt.Errorf("%s: %w", d.call.name(), err)
	}
	return n, err
}

func (d *download) Close() error {
	d.cancel(errStreamClosed)
	return d.body.Close()
}
