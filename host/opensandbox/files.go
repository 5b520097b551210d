package opensandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"sync"
)

// DefaultFileMode is what uploaded files get. execd's own default would make them executable.
const DefaultFileMode fs.FileMode = 0o644

// FileInfo describes a file in a sandbox. A symbolic link describes itself.
type FileInfo struct {
	Path       string `json:"path"`
	Type       string `json:"type"` // file, directory, symlink, other
	Size       int64  `json:"size"` // bytes
	ModifiedAt Time   `json:"modified_at"`
	CreatedAt  Time   `json:"created_at"`
	Owner      string `json:"owner"`
	Group      string `json:"group"`
	// Mode is decimal digits that spell octal: 644 is rw-r--r--. See [FileInfo.Perm].
	Mode int `json:"mode"`
}

// Perm returns the permission bits.
func (f FileInfo) Perm() fs.FileMode {
	mode, err := strconv.ParseUint(strconv.Itoa(f.Mode), 8, 12)
	if err != nil {
		return 0
	}
	return fs.FileMode(mode) & fs.ModePerm
}

// Stat describes one file.
func (e *Execd) Stat(ctx context.Context, path string) (FileInfo, error) {
	call := call{
		op: "stat file", subject: path, to: e.target(), method: http.MethodGet, path: "/files/info",
		query: url.Values{"path": {path}}, idempotent: true,
	}
	if err := checkFile(path); err != nil {
		return FileInfo{}, fmt.Errorf("%s: %w", call.name(), err)
	}
	var infos map[string]FileInfo
	if err := e.c.do(ctx, call, &infos); err != nil {
		return FileInfo{}, err
	}
	info, ok := infos[path] // keyed as it was asked
	if !ok {
		return FileInfo{}, fmt.Errorf("%s: the reply does not name it", call.name())
	}
	return info, nil
}

// Download opens a file in the sandbox for reading. Close what it returns. A read that ends with
// anything but io.EOF did not get the whole file. Cancelling ctx ends it.
func (e *Execd) Download(ctx context.Context, path string) (io.ReadCloser, error) {
	call := call{
		op: "download file", subject: path, to: e.target(), method: http.MethodGet, path: "/files/download",
		query: url.Values{"path": {path}}, idempotent: true,
	}
	// execd serves a directory as a file of 2^63-1 bytes and then hangs up.
	info, err := e.Stat(ctx, path)
	if err != nil {
		return nil, err
	}
	if info.Type == "directory" {
		return nil, fmt.Errorf("%s: %w", call.name(), ErrIsDirectory)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var body *liveBody
	err = e.c.retry(ctx, call, func() error {
		var err error
		body, err = e.c.openStream(ctx, cancel, call, nil)
		return err
	})
	if err != nil {
		cancel(nil)
		return nil, err
	}
	return &download{body: body, call: call, cancel: cancel}, nil
}

type download struct {
	body   *liveBody
	call   call
	cancel context.CancelCauseFunc
}

func (d *download) Read(p []byte) (int, error) {
	n, err := d.body.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // a body's own io.EOF is bare
		err = fmt.Errorf("%s: %w", d.call.name(), err)
	}
	return n, err
}

func (d *download) Close() error {
	d.cancel(errStreamClosed)
	return d.body.Close()
}

// Upload is a file to write.
type Upload struct {
	Path    string
	Content io.Reader
	Mode    fs.FileMode // permission bits; 0 is DefaultFileMode
	Owner   string      // empty: execd's user
	Group   string
}

// Upload writes a file, making its parents, and replaces one that is there. It is not atomic: when
// it fails, part of the content may have been written. The content is read once, and not after Upload
// returned, but for a read that is under way then. Cancelling ctx ends it.
func (e *Execd) Upload(ctx context.Context, file Upload) error {
	call := call{
		op: "upload file", subject: file.Path, to: e.target(), method: http.MethodPost, path: "/files/upload",
	}
	if err := checkFile(file.Path); err != nil {
		return fmt.Errorf("%s: %w", call.name(), err)
	}
	head, tail, contentType, err := multipartAround(file)
	if err != nil {
		return fmt.Errorf("%s: %w", call.name(), err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	return e.c.retry(ctx, call, func() error {
		// Sent again only while nobody took the connection, and then nothing was read from Content.
		content := newSentBody(io.MultiReader(bytes.NewReader(head), file.Content, bytes.NewReader(tail)),
			newWatchdog(e.c.opts.IdleTimeout, cancel, "no progress"))
		defer content.finish(errStreamClosed)
		defer context.AfterFunc(ctx, func() { content.finish(context.Cause(ctx)) })()
		body, err := e.c.openStream(ctx, cancel, call, func(req *http.Request) {
			req.Body = content
			req.Header.Set("Content-Type", contentType)
		})
		if err != nil {
			if failed := content.failed(); failed != nil {
				return fmt.Errorf("%s: reading the content: %w", call.name(), failed)
			}
			return err
		}
		return body.Close()
	})
}

// sentBody feeds a request and gives up when the network does not take what it has. The time that
// the source needs is the caller's own. The HTTP client waits for a read that is under way, whatever
// became of the request, so the source is read beside it.
type sentBody struct {
	src   io.Reader
	pipe  *io.PipeReader
	fill  *io.PipeWriter
	begin sync.Once

	mu    sync.Mutex // guards what follows
	stall *watchdog
	done  bool
	err   error // of the source
}

func newSentBody(src io.Reader, stall *watchdog) *sentBody {
	b := &sentBody{src: src, stall: stall}
	b.pipe, b.fill = io.Pipe()
	return b
}

func (b *sentBody) Read(p []byte) (int, error) {
	b.begin.Do(func() { go b.copy() })
	b.watch(false)
	n, err := b.pipe.Read(p)
	b.watch(true)
	return n, err
}

func (b *sentBody) copy() {
	_, err := io.CopyBuffer(struct{ io.Writer }{b.fill}, struct{ io.Reader }{b.src}, make([]byte, 64<<10))
	b.mu.Lock()
	if !b.done {
		b.err = err
	}
	b.mu.Unlock()
	_ = b.fill.CloseWithError(err)
}

// watch says whether it is the network that is waited for.
func (b *sentBody) watch(network bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if network && !b.done {
		b.stall.start()
	} else {
		b.stall.stop()
	}
}

func (b *sentBody) Close() error { return nil }

// finish ends reads with err and keeps later ones away from the source.
func (b *sentBody) finish(err error) {
	b.mu.Lock()
	b.done = true
	b.stall.stop()
	b.mu.Unlock()
	_ = b.pipe.CloseWithError(err)
}

// failed returns why the source could not be read, nil when that is not what went wrong.
func (b *sentBody) failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// multipartAround returns what stands before and after the file's content. Both parts need a file
// name: without one, execd doesn't see them.
func multipartAround(file Upload) (head, tail []byte, contentType string, err error) {
	mode := file.Mode.Perm()
	if mode == 0 {
		mode = DefaultFileMode
	}
	digits, err := strconv.Atoi(strconv.FormatUint(uint64(mode), 8))
	if err != nil {
		return nil, nil, "", err
	}
	metadata, err := json.Marshal(struct {
		Path  string `json:"path"`
		Owner string `json:"owner,omitempty"`
		Group string `json:"group,omitempty"`
		Mode  int    `json:"mode"`
	}{file.Path, file.Owner, file.Group, digits})
	if err != nil {
		return nil, nil, "", err
	}
	var buf bytes.Buffer
	form := multipart.NewWriter(&buf)
	part, err := form.CreatePart(partHeader("metadata", "metadata.json", "application/json"))
	if err != nil {
		return nil, nil, "", err
	}
	if _, err := part.Write(metadata); err != nil {
		return nil, nil, "", err
	}
	if _, err := form.CreatePart(partHeader("file", "file", "application/octet-stream")); err != nil {
		return nil, nil, "", err
	}
	split := buf.Len()
	if err := form.Close(); err != nil {
		return nil, nil, "", err
	}
	all := buf.Bytes()
	return all[:split], all[split:], form.FormDataContentType(), nil
}

func partHeader(name, filename, contentType string) textproto.MIMEHeader {
	return textproto.MIMEHeader{
		"Content-Disposition": {fmt.Sprintf(`form-data; name=%q; filename=%q`, name, filename)},
		"Content-Type":        {contentType},
	}
}

func checkFile(path string) error {
	if path == "" {
		return fmt.Errorf("%w: it is empty", ErrPath)
	}
	return checkPath(path)
}

// checkPath refuses what execd would not take literally: it expands variables in every path, so a
// file with a dollar sign in its name can't be reached through it.
func checkPath(path string) error {
	if strings.ContainsRune(path, '$') {
		return fmt.Errorf("%w: %q: execd would expand the $ as a variable", ErrPath, path)
	}
	if strings.ContainsRune(path, 0) {
		return fmt.Errorf("%w: %q has a zero byte", ErrPath, path)
	}
	return nil
}
