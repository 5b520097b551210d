//go:build unix

package execd

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReplaceStream(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{{"aaa", "aa", "b"}, {"abababa", "aba", ""}, {"", "x", "y"}, {"x", "x", "xx"}, {"nothing", "zz", "y"}} {
		var out bytes.Buffer
		n, err := replaceStream(&out, iotest.OneByteReader(strings.NewReader(c[0])), []byte(c[1]), []byte(c[2]))
		if want := strings.ReplaceAll(c[0], c[1], c[2]); err != nil || out.String() != want || n != strings.Count(c[0], c[1]) {
			t.Errorf("%q: %d %q %v, want %q", c, n, out.String(), err, want)
		}
	}
}

func FuzzReplaceStream(f *testing.F) {
	f.Add("one two one", "one", "1")
	f.Add("aaaaa", "aa", "a")
	f.Fuzz(func(t *testing.T, text, old, what string) {
		if old == "" {
			t.Skip()
		}
		var out bytes.Buffer
		n, err := replaceStream(&out, iotest.HalfReader(strings.NewReader(text)), []byte(old), []byte(what))
		if err != nil || n != strings.Count(text, old) || out.String() != strings.ReplaceAll(text, old, what) {
			t.Errorf("%q, %q for %q: %d %q %v", text, what, old, n, out.String(), err)
		}
	})
}

// FuzzUpload sends forms that are cut, bent and mixed up: each is refused or
// written whole, below the server's directory, and nothing is left over.
func FuzzUpload(f *testing.F) {
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	_ = w.SetBoundary("b")
	for name, content := range map[string]string{"metadata": `{"path":"x/y","mode":600}`, "file": "content"} {
		part, _ := w.CreateFormFile(name, name)
		_, _ = part.Write([]byte(content))
	}
	_ = w.Close()
	f.Add(buf.Bytes())
	f.Add([]byte("--b\r\nContent-Disposition: form-data; name=\"metadata\"; filename=\"m\"\r\n\r\n{\"path\":\"a\"}\r\n--b--\r\n"))
	f.Add([]byte("--b"))
	f.Fuzz(func(t *testing.T, form []byte) {
		if bytes.Contains(form, []byte("..")) || bytes.ContainsAny(form, "$~\\") || bytes.Contains(form, []byte(`"/`)) {
			t.Skip() // paths go where they lead: a sandbox is around them, and none is here
		}
		dir := t.TempDir()
		s := New(Options{Env: map[string]string{"TMPDIR": dir}, Dir: dir})
		r := httptest.NewRequest(http.MethodPost, "/files/upload", bytes.NewReader(form))
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, r)
		if rec.Code != 200 && rec.Code != 400 && rec.Code != 500 {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
		err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			if strings.HasPrefix(filepath.Base(path), ".upload-") && !bytes.Contains(form, []byte(".upload-")) {
				t.Errorf("left over: %s", path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzFileBodies sends bodies to what takes JSON about files.
func FuzzFileBodies(f *testing.F) {
	f.Add("/files/permissions", `{"a":{"mode":600,"owner":"root"}}`)
	f.Add("/files/replace?verbose=true", `{"a":{"old":"x","new":"y"}}`)
	f.Add("/files/mv", `[{"src":"a","dest":"b"}]`)
	f.Add("/directories", `{"d":{"mode":700}}`)
	f.Fuzz(func(t *testing.T, path, body string) {
		if strings.Contains(body, "..") || strings.ContainsAny(body, `$~\`) || strings.Contains(body, `"/`) {
			t.Skip() // see FuzzUpload
		}
		switch strings.SplitN(path, "?", 2)[0] {
		case "/files/permissions", "/files/replace", "/files/mv", "/directories":
		default:
			t.Skip()
		}
		r, err := http.NewRequest(http.MethodPost, "http://execd"+path, strings.NewReader(body))
		if err != nil {
			t.Skip()
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a"), []byte("x y x"), 0o600); err != nil {
			t.Fatal(err)
		}
		rec := httptest.NewRecorder()
		New(Options{Dir: dir}).ServeHTTP(rec, r)
		if c := rec.Code; c != 200 && c != 400 && c != 404 && c != 500 {
			t.Errorf("%s %s: %d %s", path, body, c, rec.Body)
		}
	})
}
