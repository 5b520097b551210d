package engine_test

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/engine"
)

// TestKillAndAdopt kills an engine in mid-work and opens another.
func TestKillAndAdopt(t *testing.T) {
	t.Parallel()
	requireNamespaces(t) // leaves the test out where it can't be
	dir := t.TempDir()
	first := startProcess(t, dir)
	e := openEngine(t, engine.Options{DataDir: dir}) // attached to it
	live, dead := e.create(map[string]any{"metadata": map[string]string{"k": "v"}}), e.create(nil)
	live.must("echo kept > file")
	id, _, stop := live.start(t.Context(), "until [ -e go ]; do sleep 0.01; done; exit 5")
	defer stop()

	// One sandbox loses its shim while no engine is there to see it.
	shim := shimPid(t, dead.ID)
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.cmd.Wait()
	if err := syscall.Kill(shim, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the dead sandbox's processes to end", func() bool { return len(processesOf(t, dead.ID)) == 0 })
	stray := filepath.Join(dir, "spares", "stray")
	if err := os.Mkdir(stray, 0o700); err != nil {
		t.Fatal(err)
	}

	// The next request makes the attached engine the one that serves.
	if got := live.must("cat file; touch go"); got != "kept\n" {
		t.Errorf("after the kill: %q", got)
	}
	eventually(t, "the command that went on meanwhile", func() bool { return !status(t, live, id).Running })
	if st := status(t, live, id); st.ExitCode == nil || *st.ExitCode != 5 {
		t.Errorf("its status: %+v", st)
	}
	code, _, out := e.do(http.MethodGet, "/sandboxes/"+live.ID, nil)
	if code != http.StatusOK || !strings.Contains(out, `"metadata":{"k":"v"}`) || !strings.Contains(out, `"expiresAt"`) {
		t.Errorf("adopted: %d %s", code, out)
	}
	assertGone(t, e, dead.ID)
	if _, err := os.Stat(stray); err == nil {
		t.Error("a half-made sandbox was left")
	}
	live.delete()
	assertGone(t, e, live.ID)
}

// shimPid finds a sandbox's shim by its command line.
func shimPid(t *testing.T, id string) int {
	t.Helper()
	for _, p := range processesOf(t, id) {
		b, err := os.ReadFile(p)
		if err == nil && strings.HasPrefix(string(b), "alineo-host-shim\x00") {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(p)))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("no shim of %s", id)
	return 0
}

// TestShimKilled checks that a running engine notices.
func TestShimKilled(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	if err := syscall.Kill(shimPid(t, box.ID), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the sandbox to be gone", func() bool {
		code, _, _ := e.do(http.MethodGet, "/sandboxes/"+box.ID, nil)
		return code == http.StatusNotFound
	})
	eventually(t, "its directory to be gone", func() bool {
		left, _ := filepath.Glob(filepath.Join(e.dir, "sandboxes", "*"+box.ID))
		return len(left) == 0
	})
	assertGone(t, e, box.ID)
}

// TestDirectoryRemoved checks that a sandbox whose directory somebody has
// removed ends by itself.
func TestDirectoryRemoved(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(map[string]any{"timeout": nil})
	dir := filepath.Join(e.dir, "sandboxes", box.ID)
	if out, err := exec.Command("chmod", "-R", "u+rwx", dir).CombinedOutput(); err != nil { // overlay's own are closed
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its processes to end", func() bool { return len(processesOf(t, box.ID)) == 0 })
	eventually(t, "the engine to notice", func() bool {
		status, _, _ := e.do(http.MethodGet, "/sandboxes/"+box.ID, nil)
		return status == http.StatusNotFound
	})
	assertGone(t, e, box.ID)
}

// TestAttach has two engines on one directory, and the second outlive the
// first.
func TestAttach(t *testing.T) {
	t.Parallel()
	a := requireNamespaces(t)
	b := openEngine(t, engine.Options{DataDir: a.dir})
	box := a.create(nil)
	viaB := &testBox{e: b, ID: box.ID}
	if got := viaB.must("echo through b"); got != "through b\n" {
		t.Errorf("through the second engine: %q", got)
	}
	if a.Isolation() != b.Isolation() {
		t.Errorf("isolation %q and %q", a.Isolation(), b.Isolation())
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := viaB.must("echo b alone"); got != "b alone\n" {
		t.Errorf("after the first closed: %q", got)
	}
	c := openEngine(t, engine.Options{DataDir: a.dir})
	if got := (&testBox{e: c, ID: box.ID}).must("echo c"); got != "c\n" {
		t.Errorf("through the third engine: %q", got)
	}
	viaB.delete()
	req, _ := http.NewRequest(http.MethodGet, a.BaseURL()+"/health", nil)
	if resp, err := a.Transport().RoundTrip(req); err == nil {
		_ = resp.Body.Close()
		t.Error("a closed engine answers")
	}
	if err := a.Close(t.Context()); err != nil {
		t.Errorf("closing again: %v", err)
	}
	a.Engine = b.Engine // for its clean-up
}

// TestAttachedStreams has a command of one process go on when the process that serves ends.
func TestAttachedStreams(t *testing.T) {
	t.Parallel()
	a := requireNamespaces(t)
	b := openEngine(t, engine.Options{DataDir: a.dir})
	box := a.create(nil)
	viaB := &testBox{e: b, ID: box.ID}
	_, events, stop := viaB.start(t.Context(), "echo begun; until [ -e go ]; do sleep 0.01; done; echo finished")
	defer stop()
	if !strings.Contains(readUntil(t, events, "begun"), "begun") {
		t.Fatal("it didn't begin")
	}
	closing, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := a.Close(closing); err != nil {
		t.Fatal(err)
	}
	if got := viaB.must("touch go; echo b alone"); got != "b alone\n" {
		t.Errorf("after the first closed: %q", got)
	}
	if got := readUntil(t, events, "execution_complete"); !strings.Contains(got, "finished") {
		t.Errorf("of the stream came %q", got)
	}
	a.Engine = b.Engine // for its clean-up
}

// readUntil reads lines until one contains what is looked for.
func readUntil(t *testing.T, from *bufio.Reader, what string) string {
	t.Helper()
	var all strings.Builder
	for {
		line, err := from.ReadString('\n')
		all.WriteString(line)
		if strings.Contains(line, what) {
			return all.String()
		}
		if err != nil {
			t.Fatalf("%q didn't come: %v, after %q", what, err, all.String())
		}
	}
}

// TestCloseWaits checks that closing waits for what is under way as long as
// it may, and leaves sandboxes alone.
func TestCloseWaits(t *testing.T) {
	t.Parallel()
	a := requireNamespaces(t)
	box := a.create(nil)
	_, events, stop := box.start(t.Context(), "until [ -e go ]; do sleep 0.01; done; echo finished")
	defer stop()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := a.Close(ctx)
	if err == nil || !strings.Contains(err.Error(), "still under way") {
		t.Errorf("closing with a command under way: %v", err)
	}
	if _, err := events.ReadString('!'); err == nil {
		t.Error("the stream didn't break")
	}
	b := openEngine(t, engine.Options{DataDir: a.dir})
	if got := (&testBox{e: b, ID: box.ID}).must("touch go; echo alive"); got != "alive\n" {
		t.Errorf("after the close: %q", got)
	}
	a.Engine = b.Engine
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box, forever := e.create(map[string]any{"timeout": 60}), e.create(map[string]any{"timeout": nil})
	renew := func(b *testBox, at string) (int, string) {
		code, _, out := e.do(http.MethodPost, "/v1/sandboxes/"+b.ID+"/renew-expiration", map[string]string{"expiresAt": at})
		return code, out
	}
	if code, out := renew(box, time.Now().Add(-time.Hour).Format(time.RFC3339)); code != http.StatusBadRequest || !strings.Contains(out, "DOCKER::INVALID_EXPIRATION") {
		t.Errorf("renewing into the past: %d %s", code, out)
	}
	if code, out := renew(forever, time.Now().Add(time.Hour).Format(time.RFC3339)); code != http.StatusConflict || !strings.Contains(out, "DOCKER::INVALID_EXPIRATION") {
		t.Errorf("renewing what has no end: %d %s", code, out)
	}
	if code, out := renew(box, "2999-01-02T03:04:05"); code != http.StatusOK || out != `{"expiresAt":"2999-01-02T03:04:05Z"}` {
		t.Errorf("renewing without a zone: %d %s", code, out)
	}
	if code, out := renew(box, time.Now().Add(3*time.Second).Format(time.RFC3339Nano)); code != http.StatusOK {
		t.Fatalf("shortening: %d %s", code, out)
	}
	eventually(t, "the sandbox to expire", func() bool {
		code, _, _ := e.do(http.MethodGet, "/sandboxes/"+box.ID, nil)
		return code == http.StatusNotFound
	})
	assertGone(t, e, box.ID)
	if got := forever.must("echo still here"); got != "still here\n" {
		t.Errorf("the other: %q", got)
	}
}

// TestEntrypointEnds checks what becomes of a sandbox whose entry point does.
func TestEntrypointEnds(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	for _, c := range []struct{ script, state, reason string }{
		{"exit 0", "Terminated", "CONTAINER_EXITED"},
		{"exit 3", "Failed", "CONTAINER_EXITED_ERROR"},
		{"kill -9 $$", "Failed", "CONTAINER_EXITED_ERROR"},
	} {
		box := e.create(map[string]any{"entrypoint": []string{"sh", "-c", "until [ -e /workspace/go ]; do sleep 0.01; done; " + c.script}})
		box.must("(sleep 1; touch go) &") // its own answer comes first
		want := `"state":"` + c.state + `","reason":"` + c.reason + `"`
		eventually(t, c.script+": "+want, func() bool {
			_, _, out := e.do(http.MethodGet, "/sandboxes/"+box.ID, nil)
			return strings.Contains(out, want)
		})
		if code, _, _ := e.do(http.MethodGet, box.execd("/ping"), nil); code != http.StatusBadGateway {
			t.Errorf("%s: ping: %d", c.script, code)
		}
		if code, _, out := e.do(http.MethodPost, "/sandboxes/"+box.ID+"/snapshots", nil); code != http.StatusConflict || !strings.Contains(out, "SNAPSHOT::INVALID_SOURCE_STATE") {
			t.Errorf("%s: snapshot: %d %s", c.script, code, out)
		}
		box.delete()
		assertGone(t, e, box.ID)
	}
	code, _, out := e.do(http.MethodPost, "/sandboxes", map[string]any{
		"image": map[string]string{"uri": "host"}, "entrypoint": []string{"/no/such/program"}, "resourceLimits": map[string]string{},
	})
	if code != http.StatusInternalServerError || !strings.Contains(out, "DOCKER::SANDBOX_START_FAILED") || !strings.Contains(out, "/no/such/program") {
		t.Errorf("a missing entry point: %d %s", code, out)
	}
	eventually(t, "nothing of it is left", func() bool {
		left, _ := filepath.Glob(filepath.Join(e.dir, "sandboxes", "*"))
		return len(left) == 0
	})
}
