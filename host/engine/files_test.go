package engine_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

type info struct {
	Path, Type, Owner, Group string
	Size                     int64
	Mode                     int
	ModifiedAt               time.Time `json:"modified_at"`
	CreatedAt                time.Time `json:"created_at"`
}

func TestUploadDownload(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	if code, out := box.upload(file{`{"path":"/workspace/x/one"}`, "first"}, file{`{"path":"two","mode":600}`, "second\r\nline\r\n"}); code != http.StatusOK || out != "" {
		t.Fatalf("upload: %d %s", code, out)
	}
	if got := box.must("stat -c %a x/one two; cat x/one"); got != "755\n600\nfirst\n" {
		t.Errorf("after the upload: %q", got)
	}
	// Replacing keeps mode and links, and readers of the old file.
	if got := box.must("chmod 640 x/one; ln -s x/one link; exec 3< x/one; cat <&3 >/dev/null; echo ok"); got != "ok\n" {
		t.Fatal(got)
	}
	if code, out := box.upload(file{`{"path":"/workspace/link"}`, "replaced"}); code != http.StatusOK {
		t.Fatalf("upload: %d %s", code, out)
	}
	if got := box.must("stat -c %a x/one; readlink link; cat x/one; ls -A x"); got != "640\nx/one\nreplacedone\n" {
		t.Errorf("after the replacement: %q", got)
	}
	for _, c := range []struct {
		name  string
		files []file
		code  int
		want  string
	}{
		{"bad metadata", []file{{`{`, "x"}}, 400, "INVALID_FILE_METADATA"},
		{"no path", []file{{`{}`, "x"}}, 400, "INVALID_FILE_METADATA"},
		{"bad mode", []file{{`{"path":"bad","mode":999}`, "x"}}, 500, "RUNTIME_ERROR"},
		{"unknown owner", []file{{`{"path":"bad","owner":"nobody-of-that-name"}`, "x"}}, 500, "RUNTIME_ERROR"},
		{"a directory", []file{{`{"path":"/workspace/x"}`, "x"}}, 500, "RUNTIME_ERROR"},
		{"nothing", nil, 400, "INVALID_FILE_METADATA"},
	} {
		if code, out := box.upload(c.files...); code != c.code || !strings.Contains(out, `"code":"`+c.want+`"`) {
			t.Errorf("%s: %d %s", c.name, code, out)
		}
	}
	if got := box.must("ls -A"); got != "link\ntwo\nx\n" {
		t.Errorf("refused uploads left: %q", got)
	}

	if code, h, out := box.download("two"); code != http.StatusOK || out != "second\r\nline\r\n" || h.Get("Content-Type") != "application/octet-stream" ||
		h.Get("Content-Disposition") != `attachment; filename="two"` || h.Get("Accept-Ranges") != "bytes" {
		t.Errorf("download: %d %q %v", code, out, h)
	}
	for _, c := range []struct {
		rng  string
		code int
		want string
		hdr  string
	}{
		{"bytes=0-3", 206, "repl", "bytes 0-3/8"},
		{"bytes=4-", 206, "aced", "bytes 4-7/8"},
		{"bytes=-2", 206, "ed", "bytes 6-7/8"},
		{"bytes=2-100", 206, "placed", "bytes 2-7/8"},
		{"bytes=0-1,4-5", 206, "re", "bytes 0-1/8"},
		{"bytes=8-", 416, "", "bytes */8"},
		{"bytes=x", 416, "", ""},
	} {
		code, h, out := box.download("/workspace/x/one", "Range", c.rng)
		if code != c.code || (code == 206 && out != c.want) || h.Get("Content-Range") != c.hdr {
			t.Errorf("Range %s: %d %q %q", c.rng, code, out, h.Get("Content-Range"))
		}
	}
	box.must("printf '1\\r\\n2\\n\\n4' > lines; touch 'ü\"x'")
	for q, want := range map[string]string{"lines&offset=2": "2\n\n4", "lines&limit=1": "1", "lines&offset=3&limit=1": "", "lines&offset=9": ""} {
		if code, _, out := e.do(http.MethodGet, box.execd("/files/download?path="+q), nil); code != http.StatusOK || out != want {
			t.Errorf("%s: %d %q, want %q", q, code, out, want)
		}
	}
	if _, h, _ := box.download("ü\"x"); h.Get("Content-Disposition") != `attachment; filename="%C3%BC%22x"; filename*=UTF-8''%C3%BC%22x` {
		t.Errorf("a name beyond ASCII: %q", h.Get("Content-Disposition"))
	}
	_, h, _ := box.download("two")
	if code, _, _ := box.download("two", "If-Modified-Since", h.Get("Last-Modified")); code != http.StatusNotModified {
		t.Errorf("If-Modified-Since: %d", code)
	}
	if code, _, out := box.download("/nope"); code != http.StatusNotFound || !strings.Contains(out, "FILE_NOT_FOUND") {
		t.Errorf("missing: %d %s", code, out)
	}
	if code, _, out := box.download("$NOPE/x"); code != http.StatusInternalServerError || !strings.Contains(out, "NOPE") {
		t.Errorf("undefined variable: %d %s", code, out)
	}
}

func TestFileOperations(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	box.must("mkdir -p d/e/f; echo 1 > d/a.txt; echo 22 > d/e/b.txt; echo 3 > d/e/c.md; ln -s a.txt d/link; chmod 600 d/a.txt")
	get := func(path string, into any) (int, string) {
		code, _, out := e.do(http.MethodGet, box.execd(path), nil)
		if code == http.StatusOK {
			if err := json.Unmarshal([]byte(out), into); err != nil {
				t.Fatalf("%s: %v: %s", path, err, out)
			}
		}
		return code, out
	}
	var infos map[string]info
	if code, out := get("/files/info?path=d/a.txt&path=/workspace/d/link&path=d", &infos); code != http.StatusOK {
		t.Fatalf("info: %d %s", code, out)
	}
	a := infos["d/a.txt"]
	if a.Path != "/workspace/d/a.txt" || a.Type != "file" || a.Size != 2 || a.Mode != 600 || a.Owner != "root" || a.Group != "root" || time.Since(a.ModifiedAt) > time.Minute || a.CreatedAt.IsZero() {
		t.Errorf("info: %+v", a)
	}
	if infos["/workspace/d/link"].Type != "symlink" || infos["d"].Type != "directory" {
		t.Errorf("info: %+v", infos)
	}
	if code, out := get("/files/info?path=d&path=nope", &infos); code != http.StatusNotFound || !strings.Contains(out, "FILE_NOT_FOUND") {
		t.Errorf("info of a missing file: %d %s", code, out)
	}
	paths := func(path string) string {
		t.Helper()
		var list []info
		if code, out := get(path, &list); code != http.StatusOK {
			return out
		}
		var names []string
		for _, i := range list {
			names = append(names, strings.TrimPrefix(i.Path, "/workspace/"))
		}
		return strings.Join(names, " ")
	}
	for path, want := range map[string]string{
		"/directories/list?path=d":                                       "d/a.txt d/e d/link",
		"/directories/list?path=d&depth=3":                               "d/a.txt d/e d/e/b.txt d/e/c.md d/e/f d/link",
		"/directories/list?path=d&depth=0":                               "",
		"/files/search?path=d&pattern=*.txt":                             "d/a.txt d/e/b.txt",
		"/files/search?path=d":                                           "d/a.txt d/e/b.txt d/e/c.md d/link",
		"/files/search?path=d&pattern=" + url.QueryEscape("{a,c}.*"):     "d/a.txt d/e/c.md",
		"/files/search?path=d&pattern=" + url.QueryEscape("e/*"):         "",
		"/files/search?path=d/e/c.md&pattern=" + url.QueryEscape("?.m?"): "d/e/c.md",
	} {
		if got := paths(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	for _, c := range []struct {
		method, path, body string
		code               int
		want               string
	}{
		{"GET", "/directories/list?path=nope", "", 404, "FILE_NOT_FOUND"},
		{"GET", "/directories/list?path=d/a.txt", "", 400, ""},
		{"GET", "/directories/list?path=d/link", "", 400, ""},
		{"GET", "/directories/list?path=d&depth=-1", "", 400, ""},
		{"GET", "/directories/list", "", 400, "MISSING_QUERY"},
		{"GET", "/files/search?path=d&pattern=%5B", "", 500, ""},
		{"GET", "/files/search?path=nope", "", 404, "FILE_NOT_FOUND"},
		{"POST", "/directories", `{"new/deep":{"mode":700},"d":{"mode":700}}`, 200, ""},
		{"POST", "/directories", `{"d/a.txt/x":{}}`, 500, "RUNTIME_ERROR"},
		{"POST", "/directories", `{"d/a.txt":{}}`, 500, "RUNTIME_ERROR"},
		{"POST", "/files/mv", `[{"src":"d/a.txt","dest":"new/made/a.txt"}]`, 200, ""},
		{"POST", "/files/mv", `[{"src":"nope","dest":"x"}]`, 404, "FILE_NOT_FOUND"},
		{"POST", "/files/mv", `[{"src":"d/e/b.txt","dest":"d/e/c.md"}]`, 500, "RUNTIME_ERROR"},
		{"POST", "/files/mv", `{}`, 400, "INVALID_REQUEST_BODY"},
		{"DELETE", "/files?path=d/link&path=nope", "", 200, ""},
		{"DELETE", "/files?path=d", "", 500, "RUNTIME_ERROR"},
		{"DELETE", "/files", "", 200, ""},
		{"DELETE", "/directories?path=d/e&path=nope", "", 200, ""},
	} {
		code, _, out := e.do(c.method, box.execd(c.path), c.body)
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%s %s %s: %d %s, want %d %s", c.method, c.path, c.body, code, out, c.code, c.want)
		}
	}
	if got := box.must("find . -mindepth 1 | sort; stat -c %a new/deep d"); got != "./d\n./new\n./new/deep\n./new/made\n./new/made/a.txt\n700\n755\n" {
		t.Errorf("what is left: %q", got)
	}
}
