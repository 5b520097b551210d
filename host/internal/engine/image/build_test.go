package image

import (
	"archive/tar"
	"bytes"
	"io"
	"runtime"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// file is one entry of a layer that a test makes.
type file struct {
	name, content string // content is a link's target too
	kind          byte   // 0 is a regular file, or a directory when the name ends in /
	mode          int64
	uid           int
}

var builtAt = time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)

func archive(t testing.TB, files []file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Typeflag: f.kind, Mode: f.mode, Uid: f.uid, Gid: f.uid, ModTime: builtAt, Format: tar.FormatPAX}
		switch {
		case f.kind == tar.TypeLink, f.kind == tar.TypeSymlink:
			h.Linkname = f.content
		case f.kind == 0 && f.name[len(f.name)-1] == '/':
			h.Typeflag = tar.TypeDir
		case f.kind == 0:
			h.Typeflag, h.Size = tar.TypeReg, int64(len(f.content))
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := io.WriteString(w, f.content); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// build makes an image of layers.
func build(t testing.TB, layers ...[]file) v1.Image {
	t.Helper()
	img := empty.Image
	for _, files := range layers {
		text := archive(t, files)
		l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil })
		if err != nil {
			t.Fatal(err)
		}
		if img, err = mutate.AppendLayers(img, l); err != nil {
			t.Fatal(err)
		}
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config.Env, config.Config.WorkingDir = []string{"PATH=/opt/bin:/bin", "GREETING=hello"}, "/srv/app"
	if img, err = mutate.ConfigFile(img, config); err != nil {
		t.Fatal(err)
	}
	return img
}

// story is a three-layer image: whiteouts, an opaque directory, hard links, odd modes, links that lead
// outside, files that change their kind.
func story(t testing.TB) v1.Image {
	t.Helper()
	return build(t, []file{
		{name: "bin/", mode: 0o755},
		{name: "bin/tool", content: "v1", mode: 0o4755},
		{name: "etc/", mode: 0o755},
		{name: "etc/gone", content: "x", mode: 0o644},
		{name: "etc/kept", content: "kept", mode: 0o600},
		{name: "data/", mode: 0o755},
		{name: "data/old/", mode: 0o755},
		{name: "data/old/a", content: "a", mode: 0o644},
		{name: "cleared/", mode: 0o755},
		{name: "cleared/one", content: "1", mode: 0o644},
		{name: "cleared/sub/", mode: 0o755},
		{name: "cleared/sub/two", content: "2", mode: 0o644},
		{name: "closed/", mode: 0o000},
		{name: "closed/secret", content: "s", mode: 0o000},
		{name: "run", content: "/srv/run", kind: tar.TypeSymlink},
		{name: "srv/run/", mode: 0o1777},
		{name: "outside", content: "../../../../../../etc", kind: tar.TypeSymlink},
		{name: "kind/", mode: 0o755},
		{name: "kind/was-a-directory", content: "x", mode: 0o644},
		{name: "dev/null", kind: tar.TypeChar, mode: 0o666},
		{name: "pipe", kind: tar.TypeFifo, mode: 0o640},
	}, []file{
		{name: "etc/.wh.gone"},
		{name: ".wh.data"},
		{name: "cleared/new", content: "new", mode: 0o644},
		{name: "cleared/.wh..wh..opq"},
		{name: "bin/link", content: "bin/tool", kind: tar.TypeLink},
		{name: "run/pid", content: "1", mode: 0o644},
		{name: "outside/passwd", content: "inside", mode: 0o644},
		{name: "closed/more", content: "m", mode: 0o400},
		{name: "kind", content: "now a file", mode: 0o640},
	}, []file{
		{name: "data/", mode: 0o700},
		{name: "data/fresh", content: "f", mode: 0o644, uid: 1234},
		{name: "bin/tool", content: "v3", mode: 0o755},
		{name: "closed/", mode: 0o500},
		{name: "./odd name\n/", mode: 0o3750},
		{name: "../up", content: "not above", mode: 0o644},
	})
}
