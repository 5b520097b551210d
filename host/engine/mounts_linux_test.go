package engine_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/alineo-labs/alineo-host/host/engine"
)

// mountsEnv tells a copy of this test that it is alone with its mounts.
const mountsEnv = "ENGINE_TEST_MOUNTS"

// TestMountsBelowEtc runs an engine where something is mounted below /etc, as
// in every container: sandboxes see a copy of /etc, without the mounts.
func TestMountsBelowEtc(t *testing.T) {
	if ordinaryUser() {
		t.Skip("an ordinary user may mount nothing here; root's run has it")
	}
	if os.Getenv(mountsEnv) != "" {
		mountsBelowEtc(t)
		return
	}
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run", "^TestMountsBelowEtc$", "-test.v")
	cmd.Env = append(os.Environ(), mountsEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	switch {
	case err != nil:
		t.Errorf("where there are mounts below /etc: %v", err)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skip("LEFT OUT: this machine refuses the isolation that it needs")
	}
}

func mountsBelowEtc(t *testing.T) {
	t.Helper()
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	secrets := t.TempDir()
	if err := os.WriteFile(filepath.Join(secrets, "token"), []byte("canary"), 0o644); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("/etc")
	if err != nil {
		t.Fatal(err)
	}
	over := ""
	for _, e := range entries {
		if e.IsDir() && over == "" {
			over = filepath.Join("/etc", e.Name())
		}
	}
	for target, source := range map[string]string{over: secrets, "/etc/hosts": filepath.Join(secrets, "token")} {
		if err := syscall.Mount(source, target, "", syscall.MS_BIND, ""); err != nil {
			t.Fatalf("mounting on %s: %v", target, err)
		}
	}
	e := openEngine(t, engine.Options{DataDir: t.TempDir()})
	r, err := engine.Probe(t.Context(), engine.Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Feature == "user namespaces" && !f.OK {
			t.Errorf("sandboxes have no user namespace of their own: %s", f.Reason)
		}
	}
	box := e.create(nil)
	if got := box.must("cat " + over + "/token /etc/hosts 2>&1 | grep -c canary || true; head -c 5 /etc/passwd; echo; test ! -r /etc/shadow; ls -A " + over); got != "0\nroot:\n" {
		t.Errorf("in the sandbox: %q", got)
	}
	snap := e.snapshot(box, "")
	again := e.create(map[string]any{"image": nil, "snapshotId": snap})
	again.must("echo mine >> /etc/passwd; tail -n1 /etc/passwd | grep mine")
	if b, err := os.ReadFile("/etc/passwd"); err != nil || strings.Contains(string(b), "mine") {
		t.Errorf("the machine's own /etc/passwd: %v", err)
	}
}

// TestSpareSeesMounts checks that a sandbox that had been begun sees what was mounted since.
func TestSpareSeesMounts(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("an ordinary user may mount nothing here; root's run has it")
	}
	shared := t.TempDir()
	e := openEngine(t, engine.Options{DataDir: t.TempDir(), HostPaths: []string{shared}})
	e.create(nil)
	e.create(nil)
	id := e.awaitSpare()
	if err := syscall.Mount("tmpfs", shared, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("LEFT OUT: this process may not mount: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(shared, syscall.MNT_DETACH) })
	if err := os.WriteFile(filepath.Join(shared, "f"), []byte("since\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	box := e.create(map[string]any{"volumes": []any{volume("v", shared, "/v")}})
	if got := box.must("cat /v/f"); got != "since\n" || box.ID == id {
		t.Errorf("sandbox %s, with %s begun before the mount, sees %q", box.ID, id, got)
	}
	box.delete()
}

// TestFullDiskIsNoAbility checks that a full disk is told as that, and never makes isolation weaker.
func TestFullDiskIsNoAbility(t *testing.T) {
	t.Parallel()
	if ordinaryUser() {
		t.Skip("an ordinary user may mount nothing here; root's run has it")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("LEFT OUT: this process may not mount: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	if err := os.WriteFile(filepath.Join(dir, "fill"), make([]byte, 1<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	for _, reduced := range []bool{false, true} {
		e, err := engine.Open(t.Context(), engine.Options{DataDir: dir, AllowReduced: reduced})
		if err == nil {
			_ = e.Close(t.Context())
		}
		if !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), "allow_reduced") {
			t.Errorf("with AllowReduced %v: %v", reduced, err)
		}
	}
}
