package engine_test

import (
	"archive/tar"
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/alineo-labs/alineo-host/host/engine"
)

// tarFile is one entry of a layer.
type tarFile struct {
	name string
	mode int64
	text string
	link string // hard, when it does not begin with "->"
}

func layerOf(t *testing.T, files []tarFile) v1.Layer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode, Typeflag: tar.TypeReg, Size: int64(len(f.text))}
		to, soft := strings.CutPrefix(f.link, "->")
		switch {
		case strings.HasSuffix(f.name, "/"):
			h.Typeflag = tar.TypeDir
		case soft:
			h.Typeflag, h.Linkname = tar.TypeSymlink, to
		case f.link != "":
			h.Typeflag, h.Linkname = tar.TypeLink, f.link
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, f.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// programs are this machine's programs with the libraries that they need, as an image's files.
func programs(t *testing.T, names ...string) (files []tarFile) {
	t.Helper()
	seen := map[string]bool{}
	add := func(path string) {
		if seen[path] {
			return
		}
		seen[path] = true
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, tarFile{name: path[1:], mode: 0o755, text: string(text)})
	}
	for _, n := range names {
		path, err := exec.LookPath(n)
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), "ldd", path).Output()
		if err != nil {
			t.Skipf("LEFT OUT: this machine can't tell what %s needs: %v", path, err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, tarFile{name: "bin/" + n, mode: 0o755, text: string(text)})
		for _, lib := range regexp.MustCompile(`/\S+`).FindAllString(string(out), -1) {
			add(lib)
		}
	}
	return files
}

// threeLayers is an image with a whiteout, a hard link and odd modes.
func threeLayers(t *testing.T) v1.Image {
	t.Helper()
	first := append(programs(t, "sh", "cat", "ls", "tail", "stat", "env"),
		tarFile{name: "etc/passwd", mode: 0o644, text: "root:x:0:0::/root:/bin/sh\n"},
		tarFile{name: "opt/gone", mode: 0o644, text: "x"}, tarFile{name: "opt/dir/", mode: 0o755}, tarFile{name: "opt/dir/a", mode: 0o644, text: "a"},
	)
	img, err := mutate.AppendLayers(empty.Image, layerOf(t, first),
		layerOf(t, []tarFile{{name: "opt/.wh.gone"}, {name: "opt/hard", link: "opt/dir/a"}, {name: "opt/closed/", mode: 0o700}, {name: "opt/closed/f", mode: 0o400, text: "closed"}}),
		layerOf(t, []tarFile{{name: "opt/dir/.wh..wh..opq"}, {name: "opt/dir/b", mode: 0o640, text: "b"}, {name: "opt/soft", link: "->/opt/dir"}}))
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config.Env, config.Config.WorkingDir = []string{"PATH=/bin", "GREETING=hello"}, "/srv/app"
	if img, err = mutate.ConfigFile(img, config); err != nil {
		t.Fatal(err)
	}
	return img
}

// TestImages runs one image that came by each way there is, and a sandbox of its sandbox's snapshot.
func TestImages(t *testing.T) {
	t.Parallel()
	img := threeLayers(t)
	dir := t.TempDir()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	pushed := strings.TrimPrefix(server.URL, "http://") + "/team/story:1"
	ref, err := name.ParseReference(pushed)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img); err != nil {
		t.Fatal(err)
	}
	saved, laid, plain := filepath.Join(dir, "saved.tar"), filepath.Join(dir, "layout"), filepath.Join(dir, "plain")
	if err := tarball.WriteToFile(saved, ref, img); err != nil {
		t.Fatal(err)
	}
	path, err := layout.Write(laid, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := path.AppendImage(img); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(plain, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range programs(t, "sh", "cat", "tail") {
		at := filepath.Join(plain, f.name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(f.text), 0o755); err != nil { //nolint:gosec // programs
			t.Fatal(err)
		}
	}
	e := openEngine(t, engine.Options{DataDir: t.TempDir(), Images: map[string]string{
		"saved": saved, "laid": laid, "plain": plain, "alias": pushed, "broken": filepath.Join(dir, "missing"),
	}})
	for _, uri := range []string{pushed, "saved:2", "laid", "alias:latest"} {
		box := e.create(map[string]any{"image": map[string]string{"uri": uri}})
		got := box.must(`cat /opt/hard /opt/dir/b /opt/soft/b /opt/closed/f; echo; ls /opt /opt/dir; stat -c '%a %h' /opt/closed /opt/hard; echo $GREETING; pwd; cat /etc/hostname`)
		want := "abbclosed\n/opt:\nclosed\ndir\nhard\nsoft\n\n/opt/dir:\nb\n700 2\n644 1\nhello\n/srv/app\nsandbox\n"
		if got != want {
			t.Errorf("%s:\n got %q\nwant %q", uri, got, want)
		}
		if out := box.run("ls /usr/share /root/.ssh /work 2>/dev/null"); out.Stdout != "" {
			t.Errorf("%s: the machine's files are there: %s", uri, out.Stdout)
		}
	}
	if out := e.create(map[string]any{"image": map[string]string{"uri": "plain"}, "entrypoint": []string{"tail", "-f", "/dev/null"}}).must("echo x >/new; cat /new"); out != "x\n" {
		t.Errorf("a plain directory: %q", out)
	}
	if _, err := os.Stat(filepath.Join(plain, "new")); err == nil {
		t.Error("a sandbox wrote into its image")
	}
	imageSnapshot(t, e, pushed)
	code, _, out := e.do(http.MethodPost, "/v1/sandboxes", with(hostImage(), "image", map[string]string{"uri": "broken"}))
	if code != http.StatusInternalServerError || !strings.Contains(out, "missing") {
		t.Errorf("a mapped file that is not there: %d %s", code, out)
	}
	code, _, out = e.do(http.MethodPost, "/v1/sandboxes", with(hostImage(), "image", map[string]string{"uri": "127.0.0.1:1/nothing"}))
	if code != http.StatusInternalServerError || !strings.Contains(out, "alineo-host image import") || !strings.Contains(out, "engine.images") {
		t.Errorf("an image that can't be had: %d %s", code, out)
	}
}

func with(body map[string]any, key string, value any) map[string]any {
	body[key] = value
	return body
}

// imageSnapshot goes on from a snapshot of a sandbox that was made of an image.
func imageSnapshot(t *testing.T, e *testEngine, uri string) {
	t.Helper()
	box := e.create(map[string]any{"image": map[string]string{"uri": uri}})
	box.must("echo kept >/opt/kept; rm() { /bin/sh -c ': >/opt/dir/b'; }; rm")
	code, _, out := e.do(http.MethodPost, "/sandboxes/"+box.ID+"/snapshots", map[string]string{"name": "one"})
	if code != http.StatusAccepted {
		t.Fatalf("snapshot: %d %s", code, out)
	}
	id := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(out)[1]
	eventually(t, "the snapshot", func() bool {
		_, _, out := e.do(http.MethodGet, "/snapshots/"+id, nil)
		return strings.Contains(out, `"Ready"`)
	})
	box.delete()
	again := e.create(map[string]any{"image": nil, "snapshotId": id})
	if got := again.must("cat /opt/kept /opt/dir/b; echo $GREETING; pwd"); got != "kept\nhello\n/srv/app\n" {
		t.Errorf("from the snapshot: %q", got)
	}
}
