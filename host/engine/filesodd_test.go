package engine_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"testing"
)

func TestPermissions(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	box.must("echo 1 > a; echo 2 > b; mkdir d; ln -s a link")
	set := func(body string) (int, string) {
		code, _, out := e.do(http.MethodPost, box.execd("/files/permissions"), body)
		return code, out
	}
	if code, out := set(`{"a":{"mode":600},"/workspace/b":{"owner":"root","group":"root","mode":4755},"d":{"mode":1777},"link":{}}`); code != http.StatusOK || out != "" {
		t.Fatalf("%d %s", code, out)
	}
	if got := box.must("stat -c %a a b d"); got != "600\n4755\n1777\n" {
		t.Errorf("modes %q", got)
	}
	if !ordinaryUser() { // in whose sandboxes there is nobody else
		if code, out := set(`{"a":{"owner":"nobody","group":"daemon"},"b":{"owner":"1234"}}`); code != http.StatusOK {
			t.Errorf("owners: %d %s", code, out)
		}
		if got := box.must("stat -c '%U %G' a; stat -c %u b"); got != "nobody daemon\n1234\n" {
			t.Errorf("owners %q", got)
		}
	}
	for body, part := range map[string]string{`{"nope":{"mode":600}}`: "nope", `{"a":{"mode":999}}`: "999", `{"a":{"owner":"no-such-user"}}`: "no-such-user", `{"a":{"group":"no-such-group"}}`: "no-such-group"} {
		if code, out := set(body); code != 500 || !strings.Contains(out, "RUNTIME_ERROR") || !strings.Contains(out, part) {
			t.Errorf("%s: %d %s", body, code, out)
		}
	}
	for _, body := range []string{`[]`, `{"a":{"mode":"600"}}`, `{`, ``} {
		if code, out := set(body); code != 400 || !strings.Contains(out, "INVALID_REQUEST_BODY") {
			t.Errorf("%s: %d %s", body, code, out)
		}
	}
}

func TestReplaceInFiles(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	box.must("printf 'one two one' > a; printf 'aaaa' > b; echo keep > c; chmod 640 a; ln -s a link; mkdir d")
	replace := func(query, body string) (int, string) {
		code, _, out := e.do(http.MethodPost, box.execd("/files/replace"+query), body)
		return code, out
	}
	if code, out := replace("?verbose=true", `{"link":{"old":"one","new":"three\n"},"b":{"old":"aa","new":"a"},"c":{"old":"zz","new":"y"}}`); code != http.StatusOK ||
		out != `{"b":{"replacedCount":2},"c":{"replacedCount":0},"link":{"replacedCount":2}}` {
		t.Errorf("%d %s", code, out)
	}
	if got := box.must("cat a b; stat -c %a a; readlink link; ls -A"); got != "three\n two three\naa640\na\na\nb\nc\nd\nlink\n" {
		t.Errorf("%q", got)
	}
	if code, out := replace("", `{"b":{"old":"a","new":""}}`); code != http.StatusOK || out != "" {
		t.Errorf("%d %q", code, out)
	}
	for body, want := range map[string]string{
		`{"a":{"old":"","new":"x"}}`:                         "400 INVALID_REQUEST_BODY",
		`{"a":{"old":"three","new":"x"},"nope":{"old":"x"}}`: "404 FILE_NOT_FOUND", // and a is as it was
		`{"d":{"old":"x"}}`:                                  "500 RUNTIME_ERROR",
		`[]`:                                                 "400 INVALID_REQUEST_BODY",
	} {
		code, out := replace("", body)
		if status, part, _ := strings.Cut(want, " "); fmt.Sprint(code) != status || !strings.Contains(out, part) {
			t.Errorf("%s: %d %s", body, code, out)
		}
	}
	if got := box.must("cat a"); got != "three\n two three\n" {
		t.Errorf("after refusals: %q", got)
	}
	// An occurrence that lies across any buffer's end is one.
	box.must("head -c 65533 /dev/zero | tr '\\0' x > big; printf 'needle' >> big; head -c 65533 /dev/zero | tr '\\0' y >> big")
	if code, out := replace("?verbose=1", `{"big":{"old":"needle","new":"N"}}`); code != http.StatusOK || out != `{"big":{"replacedCount":1}}` {
		t.Errorf("%d %s", code, out)
	}
	if got := box.must("stat -c %s big; tr -d xy < big"); got != "131067\nN\n" {
		t.Errorf("%q", got)
	}
}

// TestOddNames has files with names that somebody might trip over.
func TestOddNames(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	for _, name := range []string{
		"with space", "new\nline", "tab\t", "quo'te\"s", "percent%20", "ünïcödé", "-dash", "semi;colon", "#?&=+", strings.Repeat("n", 255), `back\slash`, " ", "...", "*[a]{b}",
	} {
		meta, err := json.Marshal(map[string]any{"path": "/workspace/odd/" + name, "mode": 640})
		if err != nil {
			t.Fatal(err)
		}
		if code, out := box.upload(file{string(meta), "content of " + name}); code != http.StatusOK {
			t.Errorf("%q: upload: %d %s", name, code, out)
			continue
		}
		if code, _, out := box.download("odd/" + name); code != http.StatusOK || out != "content of "+name {
			t.Errorf("%q: download: %d %q", name, code, out)
		}
		var infos map[string]info
		_, _, out := e.do(http.MethodGet, box.execd("/files/info?path="+url.QueryEscape("odd/"+name)), nil)
		if err := json.Unmarshal([]byte(out), &infos); err != nil || infos["odd/"+name].Path != "/workspace/odd/"+name || infos["odd/"+name].Mode != 640 {
			t.Errorf("%q: info: %s", name, out)
		}
		moves, _ := json.Marshal([]map[string]string{{"src": "odd/" + name, "dest": "moved/" + name}})
		if code, _, out := e.do(http.MethodPost, box.execd("/files/mv"), string(moves)); code != http.StatusOK {
			t.Errorf("%q: move: %d %s", name, code, out)
		}
		e.want(http.MethodDelete, box.execd("/files?path="+url.QueryEscape("moved/"+name)), 200, "")
	}
	if got := box.must("ls -A odd moved | wc -c"); got != "13\n" {
		t.Errorf("left: %q", box.must("ls -A odd moved"))
	}
	// Bytes that are no text are reached by queries, and shown with marks in
	// what JSON says.
	box.must("mkdir -p bad; printf x > \"$(printf 'bad/\\377\\376')\"")
	if code, _, out := box.download("bad/\xff\xfe"); code != http.StatusOK || out != "x" {
		t.Errorf("invalid UTF-8: %d %q", code, out)
	}
	e.want(http.MethodGet, box.execd("/files/search?path=bad"), 200, `/bad/\ufffd\ufffd"`)
	e.want(http.MethodDelete, box.execd("/files?path=bad/%FF%FE"), 200, "")
	for _, path := range []string{"/files/download?path=a%00b", "/files/info?path=a%00b", "/files/search?path=%00"} {
		if code, _, out := e.do(http.MethodGet, box.execd(path), nil); code < 400 {
			t.Errorf("%s: %d %s", path, code, out)
		}
	}
}

// TestPathsStayInside goes through .. and links, and ends in the sandbox.
func TestPathsStayInside(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	up := strings.Repeat("../", 40)
	box.must("ln -s / root-link; ln -s " + e.dir + " data-link; ln -s ../../../../.. up-link; ln -s loop loop")
	for _, path := range []string{up + "etc/shadow", "root-link/etc/shadow", "up-link/etc/shadow", "/proc/1/root/etc/shadow", "/proc/self/root/etc/shadow", "data-link/lock", e.dir + "/lock", up + e.dir + "/engine.sock"} {
		if code, _, out := box.download(path); code == http.StatusOK {
			t.Errorf("%s: %q", path, out)
		}
	}
	if code, _, out := box.download("loop"); code != 500 || !strings.Contains(out, "RUNTIME_ERROR") {
		t.Errorf("a link to itself: %d %s", code, out)
	}
	if code, out := box.upload(file{`{"path":"` + up + `root-link/workspace/../tmp/up"}`, "here"}); code != http.StatusOK {
		// up leads to /, where there is no root-link but what is made now
		t.Fatalf("upload: %d %s", code, out)
	}
	box.must("test -e /root-link/workspace/../tmp/up || test -e /root-link/tmp/up")
	if code, out := box.upload(file{`{"path":"root-link/tmp/through"}`, "a link"}); code != http.StatusOK {
		t.Fatalf("upload: %d %s", code, out)
	}
	if got := box.must("cat /tmp/through"); got != "a link\n" {
		t.Errorf("through a link: %q", got)
	}
	e.want(http.MethodDelete, box.execd("/directories?path=data-link"), 200, "") // the link alone
	e.want(http.MethodGet, box.execd("/ping"), 200, "")
}

// TestLargeFiles moves one that no buffer holds, both ways.
func TestLargeFiles(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(map[string]any{"resourceLimits": map[string]string{"memory": "256Mi"}})
	const size = 300 << 20 // more than the sandbox's memory
	pr, pw := io.Pipe()
	w := multipart.NewWriter(pw)
	go func() {
		meta, err := w.CreateFormFile("metadata", "metadata")
		if err == nil {
			_, err = io.WriteString(meta, `{"path":"large","mode":600}`)
		}
		var part io.Writer
		if err == nil {
			part, err = w.CreateFormFile("file", "file")
		}
		if err == nil {
			_, err = io.CopyN(part, zeros{}, size)
		}
		if err == nil {
			err = w.Close()
		}
		_ = pw.CloseWithError(err)
	}()
	req, err := http.NewRequest(http.MethodPost, e.BaseURL()+box.execd("/files/upload"), pr)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", w.FormDataContentType())
	if code, _, out := e.send(req); code != http.StatusOK {
		t.Fatalf("upload: %d %s", code, out)
	}
	resp := e.open(t.Context(), http.MethodGet, box.execd("/files/download?path=large"))
	defer func() { _ = resp.Body.Close() }()
	sum := sha256.New()
	n, err := io.Copy(sum, resp.Body)
	if err != nil || n != size || resp.ContentLength != size {
		t.Errorf("download: %d bytes of %d, %v", n, resp.ContentLength, err)
	}
	if want := strings.Fields(box.must("sha256sum large"))[0]; hex.EncodeToString(sum.Sum(nil)) != want {
		t.Error("it is another file")
	}
	if code, h, out := box.download("large", "Range", fmt.Sprintf("bytes=%d-", size-5)); code != 206 || len(out) != 5 || h.Get("Content-Range") != fmt.Sprintf("bytes %d-%d/%d", size-5, size-1, size) {
		t.Errorf("its end: %d %q %v", code, out, h)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestUploadForms sends forms in shapes that clients really send, and others.
func TestUploadForms(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	type part struct{ name, filename, content string }
	send := func(parts ...part) (int, string) {
		var buf bytes.Buffer
		w := multipart.NewWriter(&buf)
		for _, p := range parts {
			h := textproto.MIMEHeader{}
			disposition := `form-data; name="` + p.name + `"`
			if p.filename != "" {
				disposition += `; filename="` + p.filename + `"`
			}
			h.Set("Content-Disposition", disposition)
			pw, err := w.CreatePart(h)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(pw, p.content) // a buffer takes everything
		}
		_ = w.Close()
		req, err := http.NewRequest(http.MethodPost, e.BaseURL()+box.execd("/files/upload"), &buf)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", w.FormDataContentType())
		code, _, out := e.send(req)
		return code, out
	}
	meta := func(path string) part { return part{"metadata", "metadata", `{"path":"` + path + `"}`} }
	content := func(s string) part { return part{"file", "f", s} }
	for name, c := range map[string]struct {
		parts []part
		code  int
		want  string
	}{
		"all metadata first":           {[]part{meta("o1"), meta("o2"), content("1"), content("2")}, 200, ""},
		"content first":                {[]part{content("3"), meta("o3")}, 200, ""},
		"other fields":                 {[]part{{"x", "", "y"}, meta("o4"), {"z", "f", "y"}, content("4")}, 200, ""},
		"an empty file":                {[]part{meta("o5"), content("")}, 200, ""},
		"the same path twice":          {[]part{meta("o6"), content("old"), meta("o6"), content("new")}, 200, ""},
		"metadata without a file name": {[]part{{"metadata", "", `{"path":"n1"}`}, content("x")}, 400, "INVALID_FILE_METADATA"},
		"no content":                   {[]part{meta("n2")}, 400, "INVALID_FILE_CONTENT"},
		"fewer contents":               {[]part{meta("n3"), content("x"), meta("n4")}, 400, "INVALID_FILE"},
		"more contents":                {[]part{meta("n5"), content("x"), content("y")}, 400, "INVALID_FILE"},
		"a path of another type":       {[]part{{"metadata", "m", `{"path":1}`}, content("x")}, 400, "INVALID_FILE_METADATA"},
	} {
		if code, out := send(c.parts...); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%s: %d %s, want %d %s", name, code, out, c.code, c.want)
		}
	}
	if got := box.must("ls -A; cat o*"); got != "o1\no2\no3\no4\no5\no6\n1234new\n" {
		t.Errorf("%q", got)
	}
	for name, body := range map[string]string{"no form": "x", "cut off": "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\nhalf"} {
		req, err := http.NewRequest(http.MethodPost, e.BaseURL()+box.execd("/files/upload"), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		if code, _, out := e.send(req); code != 400 || !strings.Contains(out, "INVALID_FILE") {
			t.Errorf("%s: %d %s", name, code, out)
		}
	}
	if got := box.must("ls -A . /tmp | grep upload || true"); got != "" {
		t.Errorf("left behind: %s", got)
	}
}
