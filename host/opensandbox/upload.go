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
	"sync"
)

// DefaultFileMode is what uploaded files get. execd's own default would make them executable.
const DefaultFileMode fs.FileMode = 0o644

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
	metadata, err := json.Marshal(struct {
		Path  string `json:"path"`
		Owner string `json:"owner,omitempty"`
		Group string `json:"group,omitempty"`
		Mode  int    `json:"mode"`
	}{file.Path, file.Owner, file.Group, modeDigits(mode)})
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
