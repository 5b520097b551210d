package drivers

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOthersAreTurnedAway: another user can't ask.
func TestOthersAreTurnedAway(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	here, _ := two(t)
	here.Enter(key, 1, says("it"))
	path := left(t, here)[0]
	must(t, os.Chmod(path, 0o666)) // as it is before its mode is set
	for dir := range 3 {           // down to what is the test's own
		up := filepath.Join(here.dir, strings.Repeat("../", dir))
		must(t, os.Chmod(up, 0o711)) //nolint:gosec // else the directory alone would keep others away
	}
	answers := make(chan int)
	go func() {
		defer close(answers)
		runtime.LockOSThread() // and it ends with this goroutine
		const nobody = 65534
		for _, as := range []uintptr{0, nobody} {
			if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), as, ^uintptr(0)); errno != 0 {
				t.Error(errno)
				return
			}
			answers <- knock(t, path)
		}
	}()
	if n := <-answers; n == 0 {
		t.Error("root got no answer")
	}
	if n := <-answers; n != 0 {
		t.Errorf("another user got an answer of %d bytes", n)
	}
}

// knock returns how much is answered on a socket. It does not leave its thread.
func knock(t *testing.T, path string) int {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Error(err)
		return -1
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Error(err)
		return -1
	}
	file := os.NewFile(uintptr(fd), path)
	defer func() { _ = file.Close() }()
	conn, err := net.FileConn(file)
	if err != nil {
		t.Error(err)
		return -1
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "GET "+routeHere+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") // it may be closed already
	answer, _ := io.ReadAll(conn)
	return len(answer)
}
