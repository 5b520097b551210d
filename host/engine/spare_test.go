package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/engine"
)

// awaitSpare returns the id of the next sandbox once that has been begun.
func (e *testEngine) awaitSpare() (id string) {
	e.t.Helper()
	eventually(e.t, "the next sandbox to be begun", func() bool {
		found, err := filepath.Glob(filepath.Join(e.dir, "spares", "*", "work", "usr"))
		if err == nil && len(found) == 1 {
			id = filepath.Base(filepath.Dir(filepath.Dir(found[0])))
		}
		return id != ""
	})
	return id
}

// assertNoSpare waits until nothing is left of what had begun.
func assertNoSpare(t *testing.T, dir, id string) {
	t.Helper()
	eventually(t, "nothing of "+id+" to be left", func() bool {
		left, err := os.ReadDir(filepath.Join(dir, "spares"))
		groups, _ := filepath.Glob("/sys/fs/cgroup/*/alineo-host-" + id)
		nested, _ := filepath.Glob("/sys/fs/cgroup/*/*/alineo-host-" + id)
		return err == nil && len(left) == 0 && len(processesOf(t, id)) == 0 && len(groups)+len(nested) == 0
	})
}

// TestSpare follows the sandbox that is begun before anybody asks for it.
func TestSpare(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	e.create(nil)
	if left, err := os.ReadDir(filepath.Join(e.dir, "spares")); err != nil || len(left) > 0 {
		t.Errorf("begun after the first sandbox: %v %v", left, err)
	}
	e.create(nil)
	var id string
	var box *testBox
	eventually(t, "what had been begun to be used", func() bool { // not if anything was mounted since, as by another test
		id = e.awaitSpare()
		box = e.create(map[string]any{"resourceLimits": map[string]string{"memory": "300Mi"}})
		return box.ID == id
	})
	if got := box.must("echo hi; cat /etc/hostname"); got != "hi\nsandbox\n" {
		t.Errorf("what had been begun says %q", got)
	}

	t.Log("one that was killed is not missed, just then or before")
	for _, before := range []bool{false, true} {
		id = e.awaitSpare()
		if err := syscall.Kill(shimPid(t, id), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if before {
			eventually(t, "its processes to end", func() bool { return len(processesOf(t, id)) == 0 })
		}
		if box := e.create(nil); box.ID == id || box.must("echo hi") != "hi\n" {
			t.Errorf("sandbox %s after %s was killed", box.ID, id)
		}
	}

	t.Log("nor is anything left of the last one")
	id = e.awaitSpare()
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	assertNoSpare(t, e.dir, id)
	e.Engine = openEngine(t, engine.Options{DataDir: e.dir}).Engine // for its clean-up
}

// TestSpareOfADeadEngine kills an engine that has begun a sandbox.
func TestSpareOfADeadEngine(t *testing.T) {
	t.Parallel()
	requireNamespaces(t)
	dir := t.TempDir()
	p := startProcess(t, dir)
	e := openEngine(t, engine.Options{DataDir: dir})
	e.create(nil)
	e.create(nil)
	id := e.awaitSpare()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait()
	assertNoSpare(t, dir, id) // without any engine
	if left := e.create(nil).must("echo hi"); left != "hi\n" {
		t.Errorf("after the kill: %q", left)
	}
}

// reopen gives the data directory back and takes it again.
func (e *testEngine) reopen() {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := e.Close(ctx); err != nil {
		e.t.Fatal(err)
	}
	again, err := engine.Open(ctx, engine.Options{DataDir: e.dir})
	if err != nil {
		e.t.Fatal(err)
	}
	e.Engine = again
	e.t.Cleanup(func() { _ = again.Close(context.Background()) })
}
