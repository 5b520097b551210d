package layer_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/alineo-labs/alineo-host/host/internal/engine/layer"
)

func TestMeasure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, size int) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one", 1<<20)
	if err := os.Mkdir(filepath.Join(dir, "closed"), 0o755); err != nil {
		t.Fatal(err)
	}
	write("closed/two", 2<<20)
	if err := os.Link(filepath.Join(dir, "one"), filepath.Join(dir, "closed", "again")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	write("sparse", 0)
	if err := os.Truncate(filepath.Join(dir, "sparse"), 1<<40); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "closed"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "closed"), 0o755) }) //nolint:gosec // so that it can be removed
	got, err := layer.Measure(dir, layer.Usage{})
	if err != nil || got.Files != 5 || got.Bytes < 3<<20 || got.Bytes > 3<<20+64<<10 {
		t.Errorf("it takes %+v, %v", got, err)
	}
	if st, err := os.Stat(filepath.Join(dir, "closed")); err != nil || st.Mode().Perm() != 0 {
		t.Errorf("the closed directory afterwards: %v %v", st, err)
	}
	for _, most := range []layer.Usage{{Files: 2}, {Bytes: 1 << 19}} {
		if got, err := layer.Measure(dir, most); err != nil || !got.Over(most) {
			t.Errorf("with no more than %+v: %+v %v", most, got, err)
		}
	}
	if _, err := layer.Measure(filepath.Join(dir, "none"), layer.Usage{}); !errors.Is(err, unix.ENOENT) {
		t.Errorf("what isn't there: %v", err)
	}
}

// TestMeasureDeep is a tree that nobody can walk in a reasonable number of descriptors.
func TestMeasureDeep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 2100 {
		if err := unix.Mkdirat(at, "d", 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(at, "d", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_ = unix.Close(at)
		at = next
	}
	_ = unix.Close(at)
	if _, err := layer.Measure(dir, layer.Usage{}); !errors.Is(err, layer.ErrTooDeep) {
		t.Errorf("%v", err)
	}
}
