package lifecycle

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/engine/shim"
)

func openManager(t *testing.T, dir string) *Manager {
	t.Helper()
	m, err := Open(t.Context(), Options{DataDir: dir, AdoptWithin: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// pretend lists a sandbox that has a directory and a lock, as if its shim lived: the returned function ends
// it as the shim would.
func pretend(t *testing.T, m *Manager, rec record) (s *sandbox, end func()) {
	t.Helper()
	s = m.newSandbox(rec)
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := newLock(filepath.Join(s.dir, shim.LockFile))
	if err == nil {
		err = writeRecord(filepath.Join(s.dir, sandboxRecord), rec)
	}
	if err != nil {
		t.Fatal(err)
	}
	m.mu.Lock()
	m.sandboxes[rec.ID] = s
	m.mu.Unlock()
	end = sync.OnceFunc(func() {
		if err := os.RemoveAll(s.dir); err != nil {
			t.Error(err)
		}
		_ = lock.Close()
	})
	t.Cleanup(end)
	return s, end
}

// TestSettledEngineCleansUpNothing has a sandbox end when its engine has stopped and the next one has given
// its volume to another sandbox.
func TestSettledEngineCleansUpNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := openManager(t, dir)
	h, err := m.claims.hold([]volumeRequest{{name: "v", kind: "pvc", claim: "data", create: true, endsWith: true}})
	if err == nil {
		err = m.claims.own(h, "one")
	}
	if err != nil {
		t.Fatal(err)
	}
	s, end := pretend(t, m, record{ID: "one", Claims: h.names})
	m.claims.release(h, true)
	m.watch(s)
	if err := m.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := openManager(t, dir)
	if _, err := next.claims.hold([]volumeRequest{{name: "v", kind: "pvc", claim: "data"}}); err != nil {
		t.Fatal(err)
	}
	end()
	m.jobs.Wait()
	if _, err := os.Stat(m.path(volumesDir, "data", claimData)); err != nil {
		t.Errorf("the volume that the next engine uses: %v", err)
	}
}

// TestSettledEngineChangesNothing asks an engine that has stopped for what only the next one may do.
func TestSettledEngineChangesNothing(t *testing.T) {
	t.Parallel()
	m := openManager(t, t.TempDir())
	s, _ := pretend(t, m, record{ID: "one"})
	server := NewServer(m)
	ask := func(method, path, body string) int {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		return w.Code
	}
	if err := m.gate.enter(); err != nil {
		t.Fatal(err)
	}
	settled := make(chan error, 1)
	go func() { settled <- m.Settle(t.Context()) }()
	<-m.leaving
	if code := ask("PATCH", "/sandboxes/one/metadata", `{"a":"1"}`); code != http.StatusOK {
		t.Errorf("while another request is under way: %d", code)
	}
	m.gate.leave()
	if err := <-settled; err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/sandboxes", `{"image":{"uri":"host"},"entrypoint":["true"],"resourceLimits":{}}`},
		{"DELETE", "/sandboxes/one", ""},
		{"PATCH", "/sandboxes/one/metadata", `{"a":"2"}`},
		{"POST", "/sandboxes/one/pause", ""},
		{"POST", "/v1/sandboxes/one/snapshots", ""},
	} {
		if code := ask(c.method, c.path, c.body); code != http.StatusServiceUnavailable {
			t.Errorf("%s %s: %d, want 503", c.method, c.path, code)
		}
	}
	if code := ask("GET", "/sandboxes/one", ""); code != http.StatusOK {
		t.Errorf("looking: %d", code)
	}
	if got := s.record().Metadata["a"]; got != "1" {
		t.Errorf("it was changed to %q", got)
	}

	t.Log("one that was waited for in vain is shut as well")
	m = openManager(t, t.TempDir())
	if err := m.gate.enter(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Settle(ctx); err == nil {
		t.Error("it didn't wait for the request")
	}
	if err := m.gate.enter(); err == nil {
		t.Error("another request came in")
	}
	m.gate.leave()
}

// TestRequestsOfWhatEndsJustNow has a sandbox without a shim: each is told that it isn't there.
func TestRequestsOfWhatEndsJustNow(t *testing.T) {
	t.Parallel()
	m := openManager(t, t.TempDir())
	s, end := pretend(t, m, record{ID: "one", ExpiresAt: time.Now().Add(time.Hour)})
	end()
	server := NewServer(m)
	for _, c := range []struct{ path, body string }{
		{"/sandboxes/one/pause", ""}, {"/sandboxes/one/renew-expiration", `{"expiresAt":"2099-01-01T00:00:00Z"}`},
	} {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(c.body)))
		if w.Code != http.StatusNotFound {
			t.Errorf("%s: %d %s", c.path, w.Code, w.Body)
		}
	}
	s.mu.Lock()
	s.rec.Paused = true
	s.noteResumed()
	s.mu.Unlock()
	w := httptest.NewRecorder()
	server.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/sandboxes/one/resume", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("resume: %d %s", w.Code, w.Body)
	}
}

// TestRequestsIntoWhatHasExited has a paused sandbox's processes end: who waited for it to go on waits no more.
func TestRequestsIntoWhatHasExited(t *testing.T) {
	t.Parallel()
	m := openManager(t, t.TempDir())
	s, _ := pretend(t, m, record{ID: "one", Paused: true})
	waited := make(chan error, 1)
	go func() { waited <- s.awaitResumed(t.Context(), m) }()
	s.exited(shim.State{Exited: true, ExitCode: 137})
	if err := <-waited; err != nil {
		t.Error(err)
	}
	if err := s.awaitResumed(t.Context(), m); err != nil {
		t.Error(err)
	}
	if st := s.status().State; st != "Failed" {
		t.Error(st)
	}
}

// TestFailedSnapshotStandsOnNothing deletes what one that failed was to stand on.
func TestFailedSnapshotStandsOnNothing(t *testing.T) {
	t.Parallel()
	m := openManager(t, t.TempDir())
	for _, rec := range []snapshotRecord{{ID: "below", State: snapReady}, {ID: "failed", State: snapFailed, Below: []string{"below"}}} {
		if err := os.Mkdir(m.path(snapshotsDir, rec.ID), 0o700); err != nil {
			t.Fatal(err)
		}
		m.snapshots[rec.ID] = &snapshot{rec: rec}
	}
	if err := m.deleteSnapshot("below"); err != nil {
		t.Error(err)
	}
}

// TestAdoptsWhatDoesNotAnswer has a sandbox whose shim lives and says nothing: what it stands on stays.
func TestAdoptsWhatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before := openManager(t, dir)
	pretend(t, before, record{ID: "one", ExpiresAt: time.Now().Add(time.Hour)})
	before.Close()
	m := openManager(t, dir)
	if s, err := m.sandbox("one"); err != nil || s.status().State != stateRunning {
		t.Errorf("%v, %v", s, err)
	}
}

// TestListWhileTheyChange is for the race detector.
func TestListWhileTheyChange(t *testing.T) {
	t.Parallel()
	m := openManager(t, t.TempDir())
	s, _ := pretend(t, m, record{ID: "one"})
	pretend(t, m, record{ID: "two"})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { _ = s.setExpiry(m, time.Now()) })
		wg.Go(func() { m.list(nil, nil) })
	}
	wg.Wait()
}

// TestForwarded names who asked, also by IPv6.
func TestForwarded(t *testing.T) {
	t.Parallel()
	for remote, want := range map[string]string{"[::1]:1": "::1", "192.0.2.1:80": "192.0.2.1", "@": ""} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = remote
		h := http.Header{}
		forwarded(h, r)
		if got := h.Get("X-Forwarded-For"); got != want {
			t.Errorf("%s: %q, want %q", remote, got, want)
		}
	}
}
