package engine_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestLifeOfASandbox is the whole line, once: create, run, write, snapshot,
// go on, go back, delete; and then nothing is left.
func TestLifeOfASandbox(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(map[string]any{"env": map[string]any{"GREETING": "hello", "NOTHING": nil}, "metadata": map[string]string{"project": "life"}})
	if box.Status.State != "Running" || box.Status.Reason != "CONTAINER_RUNNING" {
		t.Errorf("status %+v", box.Status)
	}
	if got := box.must("echo $GREETING ${NOTHING-unset} from $(pwd) as $(id -un)"); got != "hello unset from /workspace as root\n" {
		t.Errorf("output %q", got)
	}
	if code, out := box.upload(file{`{"path":"/workspace/a/b.txt","mode":640}`, "one\ntwo\n"}); code != http.StatusOK || out != "" {
		t.Fatalf("upload: %d %s", code, out)
	}
	box.must("ln a/b.txt a/hard; ln -s b.txt a/soft; touch /root/home-file; truncate -s 1G a/hole; mkdir closed; echo c > closed/c; chmod 0 closed/c closed")
	if !ordinaryUser() { // to whom the machine's own files belong
		box.must("cat a/b.txt >> /etc/motd; rm -rf /usr/share/doc; mkdir -p /usr/share/doc/mine; chown 1234:5678 a/b.txt; chmod u+s a/b.txt")
	}

	snap := e.snapshot(box, "before")
	if code, _, out := e.do(http.MethodGet, "/v1/snapshots/"+snap, nil); code != http.StatusOK || !strings.Contains(out, `"state":"Ready"`) || !strings.Contains(out, `"name":"before"`) {
		t.Fatalf("snapshot: %d %s", code, out)
	}
	box.must("rm -r a; echo later > later")
	box.delete()

	again := e.create(map[string]any{"image": nil, "entrypoint": nil, "snapshotId": snap})
	got := again.must("cat a/b.txt; stat -c %a a/b.txt closed; stat -c %h a/hard; readlink a/soft; ls /root; ls; cat closed/c; du -k a/hole | cut -f1; stat -c %s a/hole")
	want := "one\ntwo\n640\n0\n2\nb.txt\nhome-file\na\nclosed\nc\n0\n1073741824\n"
	if !ordinaryUser() {
		want = strings.Replace(want, "640", "4640", 1)
		if got := again.must("tail -n1 /etc/motd; ls /usr/share/doc; stat -c %u:%g a/b.txt"); got != "two\nmine\n1234:5678\n" {
			t.Errorf("after the restore, of the machine's own: %q", got)
		}
	}
	if got != want {
		t.Errorf("after the restore:\n got %q\nwant %q", got, want)
	}
	if code, _, out := e.do(http.MethodDelete, "/snapshots/"+snap, nil); code != http.StatusConflict || !strings.Contains(out, "SNAPSHOT::DELETE_CONFLICT") {
		t.Errorf("deleting a snapshot in use: %d %s", code, out)
	}

	// A snapshot of a restored sandbox stands on the first, and so does what
	// is made from it.
	again.must("echo more >> a/b.txt; rm a/soft; rm -r closed; mkdir closed")
	second := e.snapshot(again, "")
	again.delete()
	third := e.create(map[string]any{"image": nil, "snapshotId": second})
	if got := third.must("cat a/b.txt; ls a closed"); got != "one\ntwo\nmore\na:\nb.txt\nhard\nhole\n\nclosed:\n" {
		t.Errorf("after the second restore: %q", got)
	}
	if code, _, _ := e.do(http.MethodDelete, "/snapshots/"+snap, nil); code != http.StatusConflict {
		t.Errorf("deleting a snapshot under a snapshot: %d", code)
	}
	third.delete()
	for _, id := range []string{second, snap} {
		if code, _, out := e.do(http.MethodDelete, "/v1/snapshots/"+id, nil); code != http.StatusNoContent {
			t.Errorf("delete snapshot: %d %s", code, out)
		}
	}
	for _, id := range []string{box.ID, again.ID, third.ID} {
		assertGone(t, e, id)
	}
	if left, _ := filepath.Glob(filepath.Join(e.dir, "snapshots", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestDeleteDuringSnapshot checks that a snapshot which has begun is whole,
// whatever becomes of its sandbox.
func TestDeleteDuringSnapshot(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	box.must("for i in $(seq 500); do head -c 20000 /dev/urandom > f$i; done")
	var wg sync.WaitGroup
	wg.Go(func() {
		eventually(t, "a snapshot", func() bool {
			found, _ := filepath.Glob(filepath.Join(e.dir, "snapshots", "*", "layer"))
			return len(found) > 0
		})
		box.delete()
	})
	snap := e.snapshot(box, "")
	wg.Wait()
	again := e.create(map[string]any{"image": nil, "snapshotId": snap})
	if got := again.must("ls | wc -l"); got != "500\n" {
		t.Errorf("%q files of 500", got)
	}
}

// TestExpiryWhileFrozen ends a sandbox that an engine has left frozen.
func TestExpiryWhileFrozen(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	frozen := false
	for file, word := range map[string]string{"/sys/fs/cgroup/freezer/alineo-host-" + box.ID + "/freezer.state": "FROZEN", "/sys/fs/cgroup/alineo-host-" + box.ID + "/cgroup.freeze": "1"} {
		if _, err := os.Stat(file); err == nil {
			if err := os.WriteFile(file, []byte(word), 0o600); err != nil {
				t.Fatal(err)
			}
			frozen = true
		}
	}
	if !frozen {
		t.Skip("LEFT OUT: no freezer that this test can find")
	}
	body := map[string]string{"expiresAt": time.Now().Add(3 * time.Second).Format(time.RFC3339Nano)}
	if code, _, out := e.do(http.MethodPost, "/sandboxes/"+box.ID+"/renew-expiration", body); code != http.StatusOK {
		t.Fatalf("renew: %d %s", code, out)
	}
	eventually(t, "the frozen sandbox to end", func() bool {
		code, _, _ := e.do(http.MethodGet, "/sandboxes/"+box.ID, nil)
		return code == http.StatusNotFound
	})
	assertGone(t, e, box.ID)
}

// snapshot takes one and returns its id once it is ready.
func (e *testEngine) snapshot(box *testBox, name string) string {
	e.t.Helper()
	var body any
	if name != "" {
		body = map[string]string{"name": name}
	}
	code, h, out := e.do(http.MethodPost, "/v1/sandboxes/"+box.ID+"/snapshots", body)
	if code != http.StatusAccepted {
		e.t.Fatalf("snapshot: %d %s", code, out)
	}
	var s struct {
		ID, SandboxID string
		Status        struct{ State, Message string }
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		e.t.Fatal(err)
	}
	if s.SandboxID != box.ID || h.Get("Location") != "/v1/snapshots/"+s.ID {
		e.t.Errorf("snapshot %s, Location %q", out, h.Get("Location"))
	}
	eventually(e.t, "the snapshot is ready", func() bool {
		if s.Status.State == "Creating" {
			_, _, out := e.do(http.MethodGet, "/v1/snapshots/"+s.ID, nil)
			_ = json.Unmarshal([]byte(out), &s)
		}
		return s.Status.State != "Creating"
	})
	if s.Status.State != "Ready" {
		e.t.Fatalf("snapshot: %s %s", s.Status.State, s.Status.Message)
	}
	return s.ID
}

// assertGone checks that a sandbox has left nothing: no answer, no process,
// no mount, no directory, no control group.
func assertGone(t *testing.T, e *testEngine, id string) {
	t.Helper()
	if code, _, out := e.do(http.MethodGet, "/sandboxes/"+id, nil); code != http.StatusNotFound || !strings.Contains(out, "DOCKER::SANDBOX_NOT_FOUND") {
		t.Errorf("a deleted sandbox answers: %d %s", code, out)
	}
	if code, _, _ := e.do(http.MethodDelete, "/sandboxes/"+id, nil); code != http.StatusNotFound {
		t.Errorf("deleting it again: %d", code)
	}
	eventually(t, "the end of the shim", func() bool { return len(processesOf(t, id)) == 0 })
	for _, pattern := range []string{
		filepath.Join(e.dir, "sandboxes", "*"+id+"*"), "/sys/fs/cgroup/alineo-host-" + id, "/sys/fs/cgroup/*/alineo-host-" + id,
		"/sys/fs/cgroup/*/*/alineo-host-" + id, "/sys/fs/cgroup/*/*/*/alineo-host-" + id,
	} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	if b, err := os.ReadFile("/proc/self/mountinfo"); err == nil && strings.Contains(string(b), id) {
		t.Error("a mount was left behind")
	}
}
