package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

func echoSpec(tb testing.TB) Spec {
	tb.Helper()
	wasm, err := os.ReadFile("testdata/guest/echo.wasm")
	if err != nil {
		tb.Fatal(err)
	}
	sum := sha256.Sum256(wasm)
	return Spec{Name: "echo", Wasm: wasm, SHA256: hex.EncodeToString(sum[:])}
}

// loadWith loads and closes the echo guest with a cache directory, and returns what was logged.
func loadWith(t *testing.T, opts RuntimeOptions) string {
	t.Helper()
	var log strings.Builder
	opts.Logger = hclog.New(&hclog.LoggerOptions{Output: &log, DisableTime: true})
	rt, err := NewRuntime(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Load(t.Context(), echoSpec(t)); err != nil {
		t.Fatal(err)
	}
	if err := rt.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(log.String(), "[INFO]  hello from the guest: plugin=echo\n", "")
}

// codeFiles returns the files with machine code below a cache directory.
func codeFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestCacheIsUsed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "cache")
	if log := loadWith(t, RuntimeOptions{CacheDir: dir}); log != "" {
		t.Errorf("logged %s", log)
	}
	files := codeFiles(t, dir)
	if len(files) != 1 {
		t.Fatalf("files %v, want one", files)
	}
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	loadWith(t, RuntimeOptions{CacheDir: dir})
	if again, err := os.Stat(files[0]); err != nil || !os.SameFile(info, again) || !again.ModTime().Equal(info.ModTime()) {
		t.Errorf("the file was written again: %v", err)
	}
	if mode := must(os.Stat(dir)).Mode().Perm(); mode != 0o700 {
		t.Errorf("mode %#o", mode)
	}
}

// A file that was cut off or changed is thrown away, and the module compiled.
func TestDamagedCache(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	loadWith(t, RuntimeOptions{CacheDir: dir})
	file := codeFiles(t, dir)[0]
	whole := must(os.ReadFile(file))
	for name, damaged := range map[string][]byte{
		"empty": nil, "cut off": whole[:len(whole)/2], "garbage": []byte(strings.Repeat("garbage ", 1000)),
	} {
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		loadWith(t, RuntimeOptions{CacheDir: dir})
		if log := loadWith(t, RuntimeOptions{CacheDir: dir}); log != "" {
			t.Errorf("%s: still in the way: %s", name, log)
		}
		if len(codeFiles(t, dir)) != 1 {
			loadWith(t, RuntimeOptions{CacheDir: dir})
		}
	}
}

// A directory that can't be used, or that others could write machine code to, is not.
func TestUnusableCache(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(dir, "open")
	if err := os.Mkdir(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dir, want string }{
		{file, "not a directory"}, {filepath.Join(file, "below"), "not a directory"}, {open, "others may write to it (mode 0777)"},
	} {
		log := loadWith(t, RuntimeOptions{CacheDir: c.dir})
		if !strings.Contains(log, "plugins are compiled again at each start") || !strings.Contains(log, c.want) {
			t.Errorf("%s: logged %s, want %q", c.dir, log, c.want)
		}
	}
}

// Runtimes that start at the same time with the same directory do not disturb each other.
func TestSharedCache(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if log := loadWith(t, RuntimeOptions{CacheDir: dir}); log != "" {
				t.Errorf("logged %s", log)
			}
		})
	}
	wg.Wait()
	if files := codeFiles(t, dir); len(files) != 1 {
		t.Errorf("files %v, want one", files)
	}
}

func TestCacheIsPruned(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	c, err := openCache(dir, 2500)
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for i := range 4 {
		d := must(c.use([]byte{byte(i)}))
		if err := os.WriteFile(filepath.Join(d, "code"), make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(i-10) * time.Minute)
		if err := os.Chtimes(d, at, at); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, d)
	}
	foreign := filepath.Join(dir, "not-ours")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	must(c.use([]byte{0})) // the oldest is used again
	if err := c.prune(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, false, true} {
		if _, err := os.Stat(dirs[i]); (err == nil) != want {
			t.Errorf("module %d is there: %v, want %v", i, err == nil, want)
		}
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("what is not ours: %v", err)
	}
}

// Who gives up while a module is compiled does not wait for it, and the runtime's end does.
func TestCompilingIsLeftBehind(t *testing.T) {
	t.Parallel()
	rt, err := NewRuntime(t.Context(), RuntimeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = rt.Load(ctx, echoSpec(t))
	if !IsKind(err, KindCanceled) || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want canceled", err)
	}
	if err := rt.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
