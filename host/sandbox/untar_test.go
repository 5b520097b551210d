package sandbox

import (
	"archive/tar"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func archiveOf(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, header := range headers {
		if header.Typeflag == tar.TypeReg {
			header.Size = 4
		}
		header.Mode = 0o644
		if err := w.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte("evil")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// attacks are archives that try to get out.
func attacks(t testing.TB) [][]byte {
	t.Helper()
	reg := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name} }
	link := func(kind byte, name, to string) tar.Header {
		return tar.Header{Typeflag: kind, Name: name, Linkname: to}
	}
	return [][]byte{
		archiveOf(t, reg("../out")),
		archiveOf(t, reg("a/../../out")),
		archiveOf(t, reg("/out")),
		archiveOf(t, link(tar.TypeSymlink, "l", ".."), reg("l/out")),
		archiveOf(t, link(tar.TypeSymlink, "l", "../out"), link(tar.TypeLink, "h", "l/x")),
		archiveOf(t, link(tar.TypeLink, "h", "../secret"), reg("h")),
		archiveOf(t, tar.Header{Typeflag: tar.TypeDir, Name: "../out/"}),
	}
}

func TestArchivesStayInside(t *testing.T) {
	t.Parallel()
	for i, archive := range attacks(t) {
		if err := unpackInto(t, archive); err == nil {
			t.Errorf("archive %d was unpacked", i)
		}
	}
	if err := unpackInto(t, archiveOf(t, tar.Header{Typeflag: tar.TypeFifo, Name: "pipe"}, tar.Header{Typeflag: tar.TypeReg, Name: "./a/b"})); err != nil {
		t.Error(err)
	}
}

// unpackInto unpacks beside a secret, and looks that nothing else is there afterwards.
func unpackInto(t testing.TB, archive []byte) error {
	t.Helper()
	outer := t.TempDir()
	if err := os.WriteFile(filepath.Join(outer, "secret"), []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(outer, "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(filepath.Join(outer, "in"))
	if err != nil {
		t.Fatal(err)
	}
	unpackErr := readTree(bytes.NewReader(archive), root, nil)
	if err := root.Close(); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(outer, "secret")); err != nil || string(data) != "kept" {
		t.Fatalf("the secret is %q, %v", data, err)
	}
	if _, err := os.Lstat(filepath.Join(outer, "out")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("it got out: %v", err)
	}
	return unpackErr
}

func FuzzArchives(f *testing.F) {
	for _, archive := range attacks(f) {
		f.Add(archive)
	}
	f.Add([]byte("no archive"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		_ = unpackInto(t, archive)
	})
}
