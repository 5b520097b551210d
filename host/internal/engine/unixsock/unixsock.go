package unixsock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
)

// maxPath is the longest path that fits into sun_path everywhere we run, its
// terminating NUL included.
const maxPath = 103

// short returns a path of at most maxPath bytes that names the same file, and
// a function that must be called once the path has been used.
func short(path string) (string, func(), error) {
	if len(path) <= maxPath {
		return path, func() {}, nil
	}
	if runtime.GOOS != "linux" {
		return "", nil, fmt.Errorf("socket path %q has %d bytes and the system allows %d: choose a shorter data directory", path, len(path), maxPath)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), func() { _ = dir.Close() }, nil
}

// Listen replaces whatever socket is at path with a new listening one that
// only this user can connect to. The caller makes sure that nobody else
// listens there (by a lock). Closing the listener leaves the file: its owner
// removes it while it still holds that lock.
func Listen(path string) (*net.UnixListener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("replacing socket %q: %w", path, err)
	}
	p, done, err := short(path)
	if err != nil {
		return nil, fmt.Errorf("listening on %q: %w", path, err)
	}
	defer done()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: p, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listening on %q: %w", path, err)
	}
	l.SetUnlinkOnClose(false)
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("listening on %q: %w", path, err)
	}
	return l, nil
}

// Dial connects to the socket at path.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	p, done, err := short(path)
	if err != nil {
		return nil, fmt.Errorf("dialling %q: %w", path, err)
	}
	defer done()
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", p)
	if err != nil {
		return nil, fmt.Errorf("dialling %q: %w", path, err)
	}
	return c, nil
}
