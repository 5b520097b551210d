package opensandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

func fileServer(t *testing.T, handler http.HandlerFunc) *opensandbox.Execd {
	t.Helper()
	return execdAt(t, strings.TrimPrefix(serve(t, handler).URL, "http://"), opensandbox.Options{})
}

func TestUploadForm(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("0123456789", 100_000)
	var metadata, received string
	execd := fileServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		form := multipart.NewReader(r.Body, params["boundary"])
		for _, want := range []string{"metadata", "file"} {
			part, err := form.NextPart()
			if err != nil || part.FormName() != want || part.FileName() == "" {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			raw, _ := io.ReadAll(part)
			if want == "file" {
				received = string(raw)
			} else {
				metadata = string(raw)
			}
		}
		if _, err := form.NextPart(); !errors.Is(err, io.EOF) {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	for _, test := range []struct {
		file opensandbox.Upload
		want string
	}{
		{opensandbox.Upload{Path: "/a/b"}, `{"path":"/a/b","mode":644}`},
		{opensandbox.Upload{Path: "/x", Mode: 0o755, Owner: "me", Group: "us"}, `{"path":"/x","owner":"me","group":"us","mode":755}`},
	} {
		test.file.Content = strings.NewReader(content)
		if err := execd.Upload(t.Context(), test.file); err != nil {
			t.Fatal(err)
		}
		if metadata != test.want || received != content {
			t.Errorf("got %s and %d bytes", metadata, len(received))
		}
	}
}

func TestUploadFailures(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	execd := fileServer(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	err := execd.Upload(t.Context(), opensandbox.Upload{Path: "/a", Content: iotest.ErrReader(broken)})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	hang := make(chan struct{})
	defer close(hang)
	deaf := hijackServer(t, func(io.Writer) { <-hang })
	execd = execdAt(t, deaf, opensandbox.Options{IdleTimeout: 100 * time.Millisecond})
	err = execd.Upload(t.Context(), opensandbox.Upload{Path: "/a", Content: bytes.NewReader(make([]byte, 32<<20))})
	if !errors.Is(err, opensandbox.ErrTimeout) {
		t.Errorf("a server that reads nothing: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	defer func() { _ = writer.Close() }()
	go func() { _, _ = writer.Write([]byte("x")); cancel() }()
	err = execd.Upload(ctx, opensandbox.Upload{Path: "/a", Content: reader})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A caller that is slow to give its content is no stalled network.
func TestUploadWaitsForSource(t *testing.T) {
	t.Parallel()
	const idle = time.Second
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	execd := execdAt(t, strings.TrimPrefix(server.URL, "http://"), opensandbox.Options{IdleTimeout: idle})
	reader, writer := io.Pipe()
	go func() {
		_, _ = writer.Write([]byte("x"))
		time.Sleep(2 * idle)
		_ = writer.Close()
	}()
	if err := execd.Upload(t.Context(), opensandbox.Upload{Path: "/a", Content: reader}); err != nil {
		t.Error(err)
	}
}

// statFile answers /files/info with a file of a type, and leaves downloads to serve.
func statFile(kind string, serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Query().Get("path")
		if r.URL.Path == "/files/info" {
			_, _ = fmt.Fprintf(w, `{%q:{"path":%q,"type":%q,"size":5,"mode":644,"modified_at":"2026-11-29T14:00:00.123456789+01:00"}}`, path, path, kind)
			return
		}
		serve(w, r)
	}
}

func TestDownload(t *testing.T) {
	t.Parallel()
	execd := fileServer(t, statFile("file", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "hello "+r.URL.Query().Get("path"))
	}))
	body, err := execd.Download(t.Context(), "/tmp/a b&c")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(body)
	if err != nil || string(raw) != "hello /tmp/a b&c" {
		t.Errorf("got %q, %v", raw, err)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	info, err := execd.Stat(t.Context(), "/tmp/x")
	if err != nil || info.Perm() != 0o644 || info.Size != 5 || info.ModifiedAt.Nanosecond() != 123456789 {
		t.Errorf("got %+v, %v", info, err)
	}
}

func TestDownloadOfDirectory(t *testing.T) {
	t.Parallel()
	execd := fileServer(t, statFile("directory", func(http.ResponseWriter, *http.Request) { t.Error("it was fetched") }))
	if _, err := execd.Download(t.Context(), "/tmp"); !errors.Is(err, opensandbox.ErrIsDirectory) {
		t.Errorf("got %v", err)
	}
}

// The length that a server announces is not what it has to keep.
func TestDownloadCutShort(t *testing.T) {
	t.Parallel()
	execd := fileServer(t, statFile("file", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "9223372036854775807")
		_, _ = io.WriteString(w, "hello")
	}))
	body, err := execd.Download(t.Context(), "/a")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = body.Close() }()
	raw, err := io.ReadAll(body)
	if string(raw) != "hello" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %q, %v", raw, err)
	}
}

func TestMissingFile(t *testing.T) {
	t.Parallel()
	execd := fileServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"code":"FILE_NOT_FOUND","message":"file not found"}`)
	})
	if _, err := execd.Download(t.Context(), "/a"); !errors.Is(err, opensandbox.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestPathsThatExecdWouldExpand(t *testing.T) {
	t.Parallel()
	execd := newClient(t, opensandbox.Options{BaseURL: "http://127.0.0.1:1"}).Execd("box")
	for _, path := range []string{"", "/a/$HOME", "/a\x00b"} {
		if err := execd.Upload(t.Context(), opensandbox.Upload{Path: path, Content: strings.NewReader("")}); !errors.Is(err, opensandbox.ErrPath) {
			t.Errorf("upload %q: %v", path, err)
		}
		if _, err := execd.Download(t.Context(), path); !errors.Is(err, opensandbox.ErrPath) {
			t.Errorf("download %q: %v", path, err)
		}
	}
	if _, err := execd.Run(t.Context(), opensandbox.RunRequest{Command: "true", Cwd: "/$x"}); !errors.Is(err, opensandbox.ErrPath) {
		t.Errorf("cwd: %v", err)
	}
}

func TestPerm(t *testing.T) {
	t.Parallel()
	for mode, want := range map[int]fs.FileMode{644: 0o644, 755: 0o755, 0: 0, 1777: 0o777, 999: 0, -1: 0} {
		if got := (opensandbox.FileInfo{Mode: mode}).Perm(); got != want {
			t.Errorf("%d: got %o", mode, got)
		}
	}
}
