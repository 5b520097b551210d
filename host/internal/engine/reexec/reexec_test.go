package reexec

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain makes this binary say which role it was started in.
func TestMain(m *testing.M) {
	if role, arg, ok := Current(); ok {
		f := os.NewFile(ControlFD, "control")
		_, _ = f.WriteString(string(role) + " " + arg)
		os.Exit(0)
	}
	if os.Getenv(childEnv) != "" {
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// childEnv keeps a child that is in no role from running the tests again.
const childEnv = "REEXEC_TEST_CHILD"

func TestRoles(t *testing.T) {
	t.Parallel()
	if role, _, ok := Current(); ok {
		t.Fatalf("a test is taken for %s", role)
	}
	img, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = img.Close() }()
	if img.Sealed != (runtime.GOOS == "linux") {
		t.Logf("not sealed: %s", img.Reason)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "a"), os.NewFile(uintptr(fds[1]), "b")
	defer func() { _ = ours.Close() }()
	cmd := img.Command(Shim, "x", theirs)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	buf := make([]byte, 100)
	n, err := ours.Read(buf)
	if err != nil || string(buf[:n]) != "shim x" {
		t.Errorf("%q %v", buf[:n], err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if f := img.file; f != nil {
		if _, err := f.WriteAt([]byte("x"), 0); !errors.Is(err, unix.EPERM) {
			t.Errorf("writing to the sealed program: %v", err)
		}
	}
}

// TestNoAccident starts the program in almost the right way: it must run as
// what it is.
func TestNoAccident(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	socket, peer := os.NewFile(uintptr(fds[0]), "a"), os.NewFile(uintptr(fds[1]), "b")
	defer func() { _ = socket.Close(); _ = peer.Close() }()
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for _, c := range []struct {
		name string
		args []string
		fd3  *os.File
	}{
		{"no socket", []string{"alineo-host-shim", word, "x"}, file},
		{"another word", []string{"alineo-host-shim", "b5f0", "x"}, socket},
		{"one more argument", []string{"alineo-host-shim", word, "x", "y"}, socket},
		{"unknown role", []string{"alineo-host-x", word, "x"}, socket},
		{"another name", []string{"shim", word, "x"}, socket},
	} {
		cmd := &exec.Cmd{Path: self, Args: c.args, ExtraFiles: []*os.File{c.fd3}, Env: []string{childEnv + "=1"}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := unix.SetNonblock(fds[1], true); err != nil {
			t.Fatal(err)
		}
		if n, _ := unix.Read(fds[1], make([]byte, 10)); n > 0 {
			t.Errorf("%s: taken for a role: %s", c.name, out)
		}
	}
}

func TestOpenMissing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("opened when it is started")
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a missing program was opened")
	}
}
