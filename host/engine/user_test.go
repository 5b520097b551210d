package engine_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// ordinaryUser tells whether the engine has no special rights here.
func ordinaryUser() bool { return os.Geteuid() != 0 }

// TestAsOrdinaryUser runs the other tests once more without root's rights, but for the long ones: make
// check runs those as an ordinary user by themselves.
func TestAsOrdinaryUser(t *testing.T) {
	if ordinaryUser() {
		t.Skip("this is the ordinary user's run")
	}
	if testing.Short() {
		t.Skip("left out by -short")
	}
	t.Parallel()
	const uid = 61234                    // nobody's
	dir, err := os.MkdirTemp("", "user") //nolint:usetesting // the user couldn't enter a test's own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chown(dir, uid, uid); err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(dir, "engine.test") // where the user can reach it
	if err := copyProgram(self); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run", "^Test", "-test.v", "-test.short")
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "TMPDIR=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("as an ordinary user: %v", err)
	}
}

func copyProgram(to string) error {
	src, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(dst, src); err != nil {
		_ = dst.Close()
		return err
	}
	return dst.Close()
}
