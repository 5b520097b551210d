package opensandbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// recordExecd serves an execd that notes its calls.
func recordExecd(t *testing.T, answer http.HandlerFunc) (*recorder, *opensandbox.Execd) {
	t.Helper()
	r := &recorder{answer: answer}
	return r, execdAt(t, strings.TrimPrefix(serve(t, r.ServeHTTP).URL, "http://"), opensandbox.Options{IdleTimeout: 5 * time.Second})
}

func TestFileCalls(t *testing.T) {
	t.Parallel()
	const info = `{"path":"/a/b","type":"symlink","size":3,"modified_at":"2026-11-29T14:00:00.5+01:00","created_at":"2026-11-29T14:00:00+01:00","owner":"root","group":"root","mode":777}`
	calls, execd := recordExecd(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/files/info":
			_, _ = fmt.Fprintf(w, `{"/a":%s,"/b":%s}`, info, info)
		case "/files/search", "/directories/list":
			_, _ = io.WriteString(w, "["+info+"]")
		case "/files/replace":
			_, _ = io.WriteString(w, `{"/a":{"replacedCount":3}}`)
		}
	})
	ctx := t.Context()
	infos := func(got []opensandbox.FileInfo, err error) error {
		if err == nil && (len(got) != 1 || got[0].Type != opensandbox.FileTypeSymlink || got[0].Perm() != 0o777) {
			return fmt.Errorf("got %+v", got)
		}
		return err
	}
	for want, call := range map[string]func() error{
		"GET /files/info?path=%2Fa&path=%2Fb ": func() error {
			got, err := execd.StatAll(ctx, "/a", "/b")
			if err == nil && len(got) != 2 {
				return fmt.Errorf("got %+v", got)
			}
			return err
		},
		"GET /files/search?path=%2Fa&pattern=%2A.txt ": func() error { return infos(execd.Search(ctx, "/a", "*.txt")) },
		"GET /files/search?path=%2Fb ":                 func() error { return infos(execd.Search(ctx, "/b", "")) },
		"GET /directories/list?depth=2&path=%2Fa ":     func() error { return infos(execd.ListDirectory(ctx, "/a", 2)) },
		`POST /files/mv [{"src":"/a","dest":"/b"},{"src":"/c","dest":"/d"}]`: func() error {
			return execd.MoveFiles(ctx, opensandbox.Move{From: "/a", To: "/b"}, opensandbox.Move{From: "/c", To: "/d"})
		},
		`POST /files/permissions {"/a":{"owner":"me","mode":600}}`: func() error {
			return execd.SetAttributes(ctx, map[string]opensandbox.Attributes{"/a": {Owner: "me", Mode: 0o600}})
		},
		`POST /directories {"/a":{},"/b":{"group":"us","mode":750}}`: func() error {
			return execd.MakeDirectories(ctx, map[string]opensandbox.Attributes{"/a": {}, "/b": {Group: "us", Mode: 0o750}})
		},
		`POST /files/replace?verbose=true {"/a":{"old":"x","new":""}}`: func() error {
			counts, err := execd.ReplaceInFiles(ctx, map[string]opensandbox.Replacement{"/a": {Old: "x"}})
			if err == nil && counts["/a"] != 3 {
				return fmt.Errorf("got %v", counts)
			}
			return err
		},
		"DELETE /files?path=%2Fa&path=%2Fb ": func() error { return execd.RemoveFiles(ctx, "/a", "/b") },
		"DELETE /directories?path=%2Fa ":     func() error { return execd.RemoveDirectories(ctx, "/a") },
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		got, body := calls.last(t)
		same(t, "call", got+" "+body, want)
	}
}

func TestFileCallsWithNothingToDo(t *testing.T) {
	t.Parallel()
	calls, execd := recordExecd(t, status(500))
	ctx := t.Context()
	infos, statErr := execd.StatAll(ctx)
	counts, replaceErr := execd.ReplaceInFiles(ctx, nil)
	for name, err := range map[string]error{
		"stat": statErr, "replace": replaceErr, "move": execd.MoveFiles(ctx), "attributes": execd.SetAttributes(ctx, nil),
		"directories": execd.MakeDirectories(ctx, nil), "remove": execd.RemoveFiles(ctx), "remove all": execd.RemoveDirectories(ctx),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if calls.count() != 0 || len(infos) != 0 || len(counts) != 0 {
		t.Errorf("%d calls", calls.count())
	}
}

func TestFileCallsRefuse(t *testing.T) {
	t.Parallel()
	calls, execd := recordExecd(t, status(500))
	ctx := t.Context()
	for name, err := range map[string]error{
		"variable":       execd.RemoveFiles(ctx, "/a", "/$HOME"),
		"empty":          execd.RemoveDirectories(ctx, ""),
		"move":           execd.MoveFiles(ctx, opensandbox.Move{From: "/a"}),
		"attributes":     execd.SetAttributes(ctx, map[string]opensandbox.Attributes{"": {}}),
		"search":         drop(execd.Search(ctx, "", "x")),
		"list":           drop(execd.ListDirectory(ctx, "/$x", 1)),
		"replace":        drop(execd.ReplaceInFiles(ctx, map[string]opensandbox.Replacement{"/$": {Old: "x"}})),
		"stat":           drop(execd.StatAll(ctx, "/a", "")),
		"range":          drop(execd.DownloadRange(ctx, "/a", -1, 1)),
		"overflow":       drop(execd.DownloadRange(ctx, "/a", 5, math.MaxInt64)),
		"pattern":        drop(execd.Search(ctx, "/a", "x/*.txt")),
		"depth":          drop(execd.ListDirectory(ctx, "/a", 0)),
		"nothing to old": drop(execd.ReplaceInFiles(ctx, map[string]opensandbox.Replacement{"/a": {New: "x"}})),
	} {
		if !errors.Is(err, opensandbox.ErrPath) && !errors.Is(err, opensandbox.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if calls.count() != 0 {
		t.Error("something was sent")
	}
}

func drop[T any](_ T, err error) error { return err }

// A move or a replacement whose answer was lost must not be done twice; the others may.
func TestFileCallsAreRepeatedWhereHarmless(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		call  func(*opensandbox.Execd) error
		calls int
	}{
		"move": {func(e *opensandbox.Execd) error {
			return e.MoveFiles(t.Context(), opensandbox.Move{From: "/a", To: "/b"})
		}, 1},
		"replace": {func(e *opensandbox.Execd) error {
			return drop(e.ReplaceInFiles(t.Context(), map[string]opensandbox.Replacement{"/a": {Old: "x"}}))
		}, 1},
		"remove": {func(e *opensandbox.Execd) error { return e.RemoveFiles(t.Context(), "/a") }, 4},
	} {
		calls, execd := recordExecd(t, hangUp)
		if err := test.call(execd); err == nil || calls.count() != test.calls {
			t.Errorf("%s: %d calls, %v", name, calls.count(), err)
		}
	}
}

func TestDownloadRange(t *testing.T) {
	t.Parallel()
	const content = "0123456789"
	for _, honours := range []bool{true, false} {
		execd := fileServer(t, statFile("file", func(w http.ResponseWriter, r *http.Request) {
			if !honours {
				r.Header.Del("Range")
			}
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
		}))
		for _, test := range []struct {
			offset, length int64
			want           string
		}{
			{0, -1, content},
			{3, -1, "3456789"},
			{3, 4, "3456"},
			{0, 1, "0"},
			{8, 100, "89"},
			{3, 0, ""},
			{10, -1, ""},
			{50, 5, ""},
		} {
			body, err := execd.DownloadRange(t.Context(), "/a", test.offset, test.length)
			if err != nil {
				t.Fatalf("%+v: %v", test, err)
			}
			raw, err := io.ReadAll(body)
			_ = body.Close()
			if string(raw) != test.want || err != nil {
				t.Errorf("honours ranges %v: %+v: got %q, %v", honours, test, raw, err)
			}
		}
	}
}

// A malformed range makes execd announce the file's size and send a short reason.
func TestDownloadWithLyingLength(t *testing.T) {
	t.Parallel()
	execd := fileServer(t, statFile("file", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "5000")
		w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		_, _ = io.WriteString(w, `{"code":"UNKNOWN","message":"invalid range"}`)
	}))
	_, err := execd.Download(t.Context(), "/a")
	var refused *opensandbox.Error
	if !errors.As(err, &refused) || refused.Status != 416 || refused.Message != "invalid range" {
		t.Errorf("got %v", err)
	}
}

func FuzzFileInfo(f *testing.F) {
	f.Add([]byte(`{"/a":{"path":"/a","type":"file","size":5,"mode":644,"modified_at":"2026-11-29T14:00:00.123456789+01:00"}}`))
	f.Add([]byte(`{"/a":{"mode":-1,"size":9223372036854775807,"owner":null}}`))
	f.Add([]byte(`{"/a":{"mode":99999999999999999999}}`))
	f.Add([]byte(`[{"/a":1}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		client, err := opensandbox.New(opensandbox.Options{BaseURL: "http://x", Attempts: 1, Transport: endpointThen{body}})
		if err != nil {
			t.Fatal(err)
		}
		info, err := client.Execd("box").Stat(t.Context(), "/a")
		if err != nil {
			return
		}
		if info.Perm()&^0o777 != 0 {
			t.Fatalf("mode %d became %o", info.Mode, info.Perm())
		}
		if !json.Valid(body) || !bytes.Contains(body, []byte("/a")) && !bytes.Contains(body, []byte(`\`)) {
			t.Fatalf("understood %q as %+v", body, info)
		}
	})
}

// endpointThen is a transport that knows where execd is and has one answer to everything else.
type endpointThen struct{ body []byte }

func (e endpointThen) RoundTrip(req *http.Request) (*http.Response, error) {
	body := e.body
	if strings.Contains(req.URL.Path, "/endpoints/") {
		body = []byte(`{"endpoint":"y"}`)
	}
	return answer{http.StatusOK, string(body)}.RoundTrip(req)
}
