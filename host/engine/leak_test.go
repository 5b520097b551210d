package engine_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/engine"
)

// TestNothingLeaks takes an engine in a process of its own through everything
// that opens something, and then looks at what it has.
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	requireNamespaces(t)
	dir, shared := t.TempDir(), t.TempDir()
	p := startProcess(t, dir)
	e := openEngine(t, engine.Options{DataDir: dir})
	proc := filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid))
	has := func() (descriptors, mounts int) {
		fds, err := os.ReadDir(filepath.Join(proc, "fd"))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(proc, "mountinfo"))
		if err != nil {
			t.Fatal(err)
		}
		return len(fds), strings.Count(string(b), dir)
	}
	life := func() {
		box := e.create(nil)
		path := "/sandboxes/" + box.ID
		box.must("echo x > x")
		e.want(http.MethodPost, path+"/pause", 202, "")
		e.want(http.MethodPost, path+"/resume", 202, "")
		e.want(http.MethodGet, path+"/diagnostics/summary", 200, "")
		e.want(http.MethodGet, box.execd("/metrics"), 200, "")
		e.want(http.MethodGet, path+"/proxy/81/", 502, "")
		snap := e.snapshot(box, "")
		body := hostImage()
		body["volumes"] = []any{volume("v", shared, "/v")}
		if code, _, out := e.do(http.MethodPost, "/sandboxes", body); code != 400 {
			t.Errorf("a volume that is not allowed: %d %s", code, out)
		}
		body = hostImage()
		body["entrypoint"] = []string{"/no/such/program"}
		if code, _, out := e.do(http.MethodPost, "/sandboxes", body); code != 500 || !strings.Contains(out, "DOCKER::SANDBOX_START_FAILED") {
			t.Errorf("an entry point that isn't there: %d %s", code, out)
		}
		again := e.create(map[string]any{"image": nil, "snapshotId": snap})
		box.delete()
		again.delete()
		e.want(http.MethodDelete, "/snapshots/"+snap, 204, "")
	}
	life() // opens what is opened once
	e.awaitSpare()
	before, _ := has()
	for range 3 {
		life()
	}
	eventually(t, "its descriptors to be as few as before", func() bool {
		now, mounts := has()
		return now <= before && mounts == 0
	})
	for _, kind := range []string{"sandboxes", "snapshots"} {
		if left, err := os.ReadDir(filepath.Join(dir, kind)); err != nil || len(left) > 0 {
			t.Errorf("%s: %v %v", kind, left, err)
		}
	}
}
