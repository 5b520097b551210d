package engine_test

import (
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/engine"
)

// TestReduced runs the line with landlock and seccomp only.
func TestReduced(t *testing.T) {
	t.Parallel()
	e := openEngine(t, engine.Options{DataDir: t.TempDir(), Isolation: engine.IsolationReduced, AllowReduced: true})
	if e.Isolation() != engine.IsolationReduced {
		t.Errorf("isolation %q", e.Isolation())
	}
	if _, err := engine.Open(t.Context(), engine.Options{DataDir: e.dir}); err == nil || !strings.Contains(err.Error(), "allow_reduced") {
		t.Errorf("attaching to less isolation than allowed: %v", err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("canary"), 0o644); err != nil {
		t.Fatal(err)
	}
	box := e.create(nil)
	for _, c := range []struct{ name, command string }{
		{"password hashes", "cat /etc/shadow 2>/dev/null"},
		{"homes", "ls /root /home 2>/dev/null"},
		{"somebody's files", "cat " + secret + " 2>/dev/null"},
		{"writing elsewhere", "touch /tmp/x /var/tmp/x /usr/x 2>/dev/null && echo written"},
		{"other sandboxes", "ls ../.. 2>/dev/null"},
		{"network", "bash -c '(exec 3<>/dev/tcp/127.0.0.1/1) 2>&1 | grep -v -i \"not permitted\"'"},
		{"mounting", "mount -t tmpfs none /mnt 2>/dev/null && echo mounted"},
		{"new namespaces", "unshare -U true 2>/dev/null && echo unshared"},
		{"capabilities", "grep CapEff /proc/self/status | grep -v -e 00000000a80425fb -e 0000000000000000; grep NoNewPrivs /proc/self/status | grep -v 1$"},
	} {
		if out := strings.TrimSpace(box.run(c.command).Stdout); out != "" {
			t.Errorf("%s: %s: %s", c.name, c.command, out)
		}
	}
	lifeWithoutOverlays(t, e, box)
}

// TestNoIsolation runs it as a system without any of that would.
func TestNoIsolation(t *testing.T) {
	t.Parallel()
	e := openEngine(t, engine.Options{DataDir: t.TempDir(), Isolation: engine.IsolationNone, AllowReduced: true})
	lifeWithoutOverlays(t, e, e.create(nil))
}

// lifeWithoutOverlays goes through the life of a sandbox that works in a
// directory of the host's.
func lifeWithoutOverlays(t *testing.T, e *testEngine, box *testBox) {
	t.Helper()
	if got := box.must("basename $(pwd); cat /etc/hostname >/dev/null && ls / > /dev/null; echo data > $HOME/h; mktemp > tmp; echo one > one"); !strings.HasPrefix(got, "workspace\n") {
		t.Errorf("output %q", got)
	}
	if code, out := box.upload(file{`{"path":"up/two"}`, "two"}); code != http.StatusOK {
		t.Fatalf("upload: %d %s", code, out)
	}
	box.must(`echo "STAYS='a  b'" >> "$EXECD_ENVS"`)
	snap := e.snapshot(box, "s")
	again := e.create(map[string]any{"image": nil, "snapshotId": snap})
	box.must("echo changed > one")
	if got := again.must(`cat one up/two $HOME/h; echo "$STAYS"`); got != "one\ntwo"+"data\na  b\n" {
		t.Errorf("after the restore: %q", got)
	}
	if code, _, out := e.do(http.MethodDelete, "/snapshots/"+snap, nil); code != http.StatusNoContent {
		t.Errorf("deleting a snapshot that was copied: %d %s", code, out)
	}
	// What leaves its process group and its parent still ends with the
	// sandbox: assertGone looks for its name.
	if runtime.GOOS == "linux" {
		box.must("setsid bash -c 'exec -a left-" + box.ID + " sleep 1000' >/dev/null 2>&1 & sleep 0.1")
	}
	mark := "ENGINE_ID=" + box.ID
	box.run("ENGINE_ID="+box.ID+" sleep 1000", "background", true)
	box.delete()
	assertGone(t, e, box.ID)
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, p := range environs {
		if b, err := os.ReadFile(p); err == nil && strings.Contains(string(b), mark) {
			t.Errorf("%s outlived its sandbox", p)
		}
	}
}
