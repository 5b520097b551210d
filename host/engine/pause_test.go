package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/engine"
)

// state asks for a sandbox's state and its reason.
func (b *testBox) state() string {
	b.e.t.Helper()
	code, _, out := b.e.do(http.MethodGet, "/v1/sandboxes/"+b.ID, nil)
	var got testBox
	if err := json.Unmarshal([]byte(out), &got); code != http.StatusOK || err != nil {
		b.e.t.Fatalf("get: %d %s", code, out)
	}
	return got.Status.State + " " + got.Status.Reason
}

// want sends a request without a body and checks the answer.
func (e *testEngine) want(method, path string, code int, part string) {
	e.t.Helper()
	if got, _, out := e.do(method, path, nil); got != code || !strings.Contains(out, part) {
		e.t.Errorf("%s %s: %d %s, want %d …%s…", method, path, got, out, code, part)
	}
}

// TestPause stops a sandbox in every way that there is, and lets it go on.
func TestPause(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]engine.Options{
		"namespaces": {},
		"reduced":    {Isolation: engine.IsolationReduced, AllowReduced: true},
		"none":       {Isolation: engine.IsolationNone, AllowReduced: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts.DataDir = t.TempDir()
			e := openEngine(t, opts)
			box := e.create(nil)
			path := "/v1/sandboxes/" + box.ID
			box.must("(while :; do echo x >> ticks; sleep 0.01; done) >/dev/null 2>&1 & while [ ! -s ticks ]; do sleep 0.01; done")
			e.want(http.MethodPost, path+"/resume", 409, `"code":"DOCKER::SANDBOX_NOT_PAUSED"`)
			if code, _, out := e.do(http.MethodPost, path+"/pause", nil); code != http.StatusAccepted || out != "" {
				t.Fatalf("pause: %d %q", code, out)
			}
			if got := box.state(); got != "Paused CONTAINER_PAUSED" {
				t.Errorf("state %s", got)
			}
			e.want(http.MethodPost, path+"/pause", 409, `"code":"DOCKER::SANDBOX_NOT_RUNNING"`)
			e.want(http.MethodPost, path+"/snapshots", 409, `"code":"SNAPSHOT::INVALID_SOURCE_STATE"`)
			e.want(http.MethodGet, "/sandboxes?state=paused", 200, box.ID)
			e.want(http.MethodGet, path+"/diagnostics/inspect", 200, "Paused:         true")

			// A request that comes now is answered when the sandbox goes on.
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.BaseURL()+box.execd("/ping"), nil)
			if err != nil {
				t.Fatal(err)
			}
			if resp, err := e.Transport().RoundTrip(req); !errors.Is(err, context.DeadlineExceeded) {
				if err == nil {
					_ = resp.Body.Close()
				}
				t.Errorf("a paused sandbox answers: %v", err)
			}
			counted := make(chan string, 1)
			go func() { counted <- box.run("wc -l < ticks").Stdout }()
			if code, _, out := e.do(http.MethodPost, path+"/resume", nil); code != http.StatusAccepted || out != "" {
				t.Fatalf("resume: %d %q", code, out)
			}
			before := <-counted
			if got := box.state(); got != "Running CONTAINER_RUNNING" {
				t.Errorf("state %s", got)
			}
			eventually(t, "its processes to go on", func() bool { return box.must("wc -l < ticks") != before })

			// What is paused can be deleted.
			e.want(http.MethodPost, path+"/pause", 202, "")
			box.delete()
			assertGone(t, e, box.ID)
			e.want(http.MethodPost, path+"/pause", 404, "DOCKER::SANDBOX_NOT_FOUND")
			e.want(http.MethodPost, path+"/resume", 404, "DOCKER::SANDBOX_NOT_FOUND")
		})
	}
}

// TestPauseStopsProcesses checks that nothing runs while a sandbox is paused.
func TestPauseStopsProcesses(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	box.run("exec -a spin-"+box.ID+" sh -c 'while :; do :; done'", "background", true)
	eventually(t, "the process", func() bool {
		_, there := computedBy(t, "spin-"+box.ID) // under its own name, and not bash that becomes it
		return there
	})
	e.want(http.MethodPost, "/sandboxes/"+box.ID+"/pause", 202, "")
	first := computed(t, "spin-"+box.ID)
	for range 20 {
		time.Sleep(10 * time.Millisecond) // long enough for a process that runs
	}
	if now := computed(t, "spin-"+box.ID); now != first {
		t.Errorf("a paused process went on: %s, then %s", first, now)
	}
	e.want(http.MethodPost, "/sandboxes/"+box.ID+"/resume", 202, "")
	eventually(t, "it to go on", func() bool { return computed(t, "spin-"+box.ID) != first })
}

// TestPausedOutlivesEngine leaves a paused sandbox to the next engine.
func TestPausedOutlivesEngine(t *testing.T) {
	t.Parallel()
	requireNamespaces(t)
	dir := t.TempDir()
	p := startProcess(t, dir)
	e := openEngine(t, engine.Options{DataDir: dir})
	box := e.create(nil)
	box.must("(while :; do echo x >> ticks; sleep 0.01; done) >/dev/null 2>&1 &")
	e.want(http.MethodPost, "/sandboxes/"+box.ID+"/pause", 202, "")
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait()
	if got := box.state(); got != "Paused CONTAINER_PAUSED" {
		t.Errorf("after the engine's end: %s", got)
	}
	e.want(http.MethodPost, "/sandboxes/"+box.ID+"/resume", 202, "")
	before := box.must("wc -l < ticks")
	eventually(t, "its processes to go on", func() bool { return box.must("wc -l < ticks") != before })
}

// TestTimeGoesOnWhilePaused lets a paused sandbox expire, with somebody
// waiting for it.
func TestTimeGoesOnWhilePaused(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	e.want(http.MethodPost, "/sandboxes/"+box.ID+"/pause", 202, "")
	answered := make(chan int, 1)
	go func() {
		code, _, _ := e.do(http.MethodGet, box.execd("/ping"), nil)
		answered <- code
	}()
	body := map[string]string{"expiresAt": time.Now().Add(3 * time.Second).Format(time.RFC3339Nano)}
	if code, _, out := e.do(http.MethodPost, "/sandboxes/"+box.ID+"/renew-expiration", body); code != http.StatusOK {
		t.Fatalf("renew: %d %s", code, out)
	}
	if code := <-answered; code != http.StatusNotFound {
		t.Errorf("who waited got %d", code)
	}
	eventually(t, "its end", func() bool {
		code, _, _ := e.do(http.MethodGet, "/sandboxes/"+box.ID, nil)
		return code == http.StatusNotFound
	})
	assertGone(t, e, box.ID)
}

// TestCloseWhilePaused closes an engine that somebody waits at.
func TestCloseWhilePaused(t *testing.T) {
	t.Parallel()
	a := requireNamespaces(t)
	box := a.create(nil)
	a.want(http.MethodPost, "/sandboxes/"+box.ID+"/pause", 202, "")
	wrote, answered := make(chan struct{}), make(chan int, 1)
	trace := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { close(wrote) }})
	req, err := http.NewRequestWithContext(trace, http.MethodGet, a.BaseURL()+box.execd("/ping"), nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		resp, err := a.Transport().RoundTrip(req)
		if err != nil {
			answered <- 0 // the engine hadn't taken the connection yet
			return
		}
		_ = resp.Body.Close()
		answered <- resp.StatusCode
	}()
	<-wrote
	b := openEngine(t, engine.Options{DataDir: a.dir})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := a.Close(ctx); err != nil {
		t.Errorf("closing: %v", err)
	}
	if code := <-answered; code != http.StatusServiceUnavailable && code != 0 {
		t.Errorf("who waited got %d", code)
	}
	(&testBox{e: b, ID: box.ID}).delete()
}
